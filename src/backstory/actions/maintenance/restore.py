"""Putting a backup in the place of the present store, while no process has it open."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from backstory.errors import StoreCorrupt, StoreTooNew
from backstory.records.backup import conversation_files, read_backup
from backstory.records.faults import translated
from backstory.records.owner import owning
from backstory.records.records import Records


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: records, folder of live conversations, lock, folders of what is derived."""

    records: Path
    conversations: Path
    lock: Path
    derived: Sequence[Path]


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there now, and where the store that was there before is kept."""

    memories: int
    conversation_files: int
    replaced: Path | None


def restore(source: Path, place: Place) -> Restored:
    """Put a backup in place. The store that was there is kept beside it; vectors and graph are made anew."""
    home = place.records.parent
    with (
        owning(place.lock),
        translated(home),
        tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as folder,
    ):
        unpacked = read_backup(source, Path(folder))
        _forget_projections(unpacked.records)
        replaced = _set_aside(place)
        # Derived data goes first: a crash from here on leaves either store without it, and it is made anew.
        for derived in place.derived:
            shutil.rmtree(derived, ignore_errors=True)
        _put_files(unpacked.files, place.conversations)
        unpacked.records.replace(place.records)
    return Restored(unpacked.manifest.memories, len(unpacked.manifest.files_sha256), replaced)


def _forget_projections(unpacked: Path) -> None:
    with Records.open(unpacked) as records, records.writing() as transaction:
        transaction.generations.forget(transaction.generations.all())


def _set_aside(place: Place) -> Path | None:
    """Keep a copy of what is there now."""
    present, files = place.records, conversation_files(place.conversations)
    if not present.exists() and not files:
        return None
    kept = present.with_name(f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
    kept.mkdir()
    if files:
        (kept / place.conversations.name).mkdir()
        for file in files:
            shutil.copy2(file, kept / place.conversations.name)
    if present.exists():
        _set_aside_records(present, kept)
    return kept


def _set_aside_records(present: Path, kept: Path) -> None:
    try:
        Records.open(present).close()  # the last one to close it leaves one whole file
        shutil.copy2(present, kept / present.name)
    except (StoreCorrupt, StoreTooNew):
        for part in present.parent.glob(f"{present.name}*"):
            part.rename(kept / part.name)


def _put_files(files: Path, folder: Path) -> None:
    """Have the backup's files of conversations in their folder, and no others of their kind."""
    for old in conversation_files(folder):
        old.unlink()
    for new in conversation_files(files):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(new, folder / new.name)
        (folder / new.name).chmod(0o600)
