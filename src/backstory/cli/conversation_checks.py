"""What `doctor` looks at of live conversations while no process runs: where they are, and their files."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from backstory.cli.check import Check
from backstory.settings import Settings
from backstory.settings.choices import SqliteRecords

_MOVED_TO: Final = "SELECT value FROM store WHERE key = 'conversation_storage'"


def conversation_checks(settings: Settings) -> Iterator[Check]:
    """Where live conversations are kept, and, if there are any, that their files are whole."""
    records = settings.records
    files = sorted(settings.context.storage_path.glob("[0-9]*.jsonl"))
    moved = moved_to(records.path) if isinstance(records, SqliteRecords) else None
    # Nobody moved them away from where they were written.
    written_in = "jsonl" if any(file.stat().st_size for file in files) else None
    yield storage(settings, moved, moved or written_in)
    if files:
        yield conversation_files(files)


def moved_to(records: Path) -> str | None:
    """The place that live conversations were moved to last, as the records know it."""
    if not records.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{records.as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute(_MOVED_TO).fetchone()
    except sqlite3.Error:  # the check of the records file tells of it
        return None
    return str(row[0]) if row else None


def storage(settings: Settings, moved: str | None, held: str | None) -> Check:
    """Live conversations are kept where they were moved to, and where some are."""
    was_set = settings.chosen("BACKSTORY_CONVERSATION_STORAGE")
    name = settings.context.storage if was_set or moved is None else moved
    if held in (None, name):
        return Check("conversations", ok=True, finding=f"kept in {name}")
    return Check(
        "conversations",
        ok=False,
        finding=f"kept in {name}; others were left in {held}",
        remedy=f"set BACKSTORY_CONVERSATION_STORAGE to {held}; `backstory conversations migrate` moves them",
    )


def conversation_files(files: list[Path]) -> Check:
    """Every line can be read; the very last one may have broken off in a crash."""
    name = "conversation files"
    for file in files:
        try:
            number, is_torn = _first_damage(file)
        except OSError as error:
            finding = f"{file} cannot be read: {error.strerror}"
            return Check(name, ok=False, finding=finding, remedy="make it readable for this user")
        if is_torn and file == files[-1]:
            finding = f"the last line of {file} broke off"
            return Check(name, ok=True, finding=finding, remedy="nothing to do: the next start cuts it off")
        if number:
            remedy = "keep a copy of it, then restore your newest backup"
            return Check(name, ok=False, finding=f"line {number} of {file} is damaged", remedy=remedy)
    return Check(name, ok=True, finding=f"{len(files)} in {files[0].parent}, whole")


def _first_damage(file: Path) -> tuple[int, bool]:
    """The number of the first line that is none, or 0; and whether that one was not written to its end."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return number, True
            if not _is_object(line):
                return number, False
    return 0, False


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
