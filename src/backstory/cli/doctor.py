"""`backstory doctor`: is everything there that Backstory needs, and if not, what to do.

A check is a function that looks at one thing and changes nothing; `examine` lists them all. Those
of the process are in `process_checks`, those of live conversations in `conversation_checks`.
"""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click

from backstory.cli.asking import as_json, tell
from backstory.cli.check import Check
from backstory.cli.conversation_checks import conversation_checks
from backstory.cli.process_checks import no_process, port, process_checks, token
from backstory.errors import SettingsError
from backstory.settings import Settings, read_settings, unknown_variables
from backstory.settings.choices import EngineChoice, SqliteRecords, unsupported
from backstory.settings.reading import DEFAULT

MIN_PYTHON: Final = (3, 11)

#: What the records ask of SQLite beyond plain SQL, each with a statement that needs it.
SQLITE_FEATURES: Final = {
    "FTS5": """CREATE VIRTUAL TABLE probe USING fts5(terms, tokenize="unicode61 categories 'L* N*'")""",
    "JSON": "SELECT value FROM json_each('[1]')",
}

#: Every library, and the module of those with compiled parts: they can be installed and still not load.
LIBRARIES: Final[Mapping[str, str | None]] = {
    "anyio": None,
    "click": None,
    "httptools": "httptools",
    "ladybug": "ladybug",
    "mcp": None,
    "numpy": "numpy",
    "opentelemetry-api": None,
    "orjson": "orjson",
    "prometheus-client": None,
    "pydantic": "pydantic",
    "pystemmer": "Stemmer",
    "qdrant-edge-py": "qdrant_edge",
    "sqlalchemy": "sqlalchemy",
    "starlette": None,
    "structlog": None,
    "tokenizers": "tokenizers",
    "uvicorn": None,
    "watchdog": None,
}

REINSTALL: Final = "install Backstory again, for example by: pip install --force-reinstall backstory"
MEGABYTE: Final = 1024 * 1024


@click.command()
@as_json
def doctor() -> None:
    """Check that everything Backstory needs is there, and say what to do if not."""
    checks = list(examine())
    ok = all(check.ok for check in checks)
    tell({"ok": ok, "checks": [asdict(check) for check in checks]}, "\n".join(map(str, checks)))
    raise click.exceptions.Exit(0 if ok else 1)


def examine() -> Iterator[Check]:
    """Make every check. Those that need valid settings or a data folder are left out without them."""
    yield python()
    yield sqlite()
    for name, module in LIBRARIES.items():
        yield library(name, module)
    yield variables()
    try:
        settings = read_settings()
    except SettingsError as error:
        yield Check("settings", ok=False, finding=str(error), remedy=error.hint)
        return
    yield Check("settings", ok=True, finding=_sources(settings))
    for use, choice in settings.engines.items():
        yield engine(use, choice)
    yield token(settings.whereabouts.token)
    # A process that runs owns the files: it is asked, and they are left alone.
    told = list(process_checks(settings.whereabouts))
    yield from told or without_process(settings)


def without_process(settings: Settings) -> Iterator[Check]:
    """What can be seen while no process runs: the files, and the port that it would take."""
    home = settings.whereabouts.home
    yield no_process(settings.whereabouts)
    yield port(settings)
    folder = data_folder(home)
    yield folder
    if folder.ok:
        yield free_space(home, settings.limits.min_free_bytes)
    if folder.ok and isinstance(settings.records, SqliteRecords):
        yield records_file(settings.records.path)
    if folder.ok:
        yield from conversation_checks(settings)


def python(found: tuple[int, ...] = tuple(sys.version_info[:3])) -> Check:
    """Python is new enough."""
    return Check(
        "python",
        ok=found >= MIN_PYTHON,
        finding=".".join(map(str, found)),
        remedy=None if found >= MIN_PYTHON else f"install Python {'.'.join(map(str, MIN_PYTHON))} or newer",
    )


def sqlite(features: Mapping[str, str] = SQLITE_FEATURES) -> Check:
    """SQLite was built with what the records need."""
    missing = [name for name, statement in features.items() if not _works(statement)]
    if missing:
        finding = f"{sqlite3.sqlite_version}, built without {' and '.join(missing)}"
        return Check("sqlite", ok=False, finding=finding, remedy="use a Python from python.org or from uv")
    return Check("sqlite", ok=True, finding=f"{sqlite3.sqlite_version} with {' and '.join(features)}")


def _works(statement: str) -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(statement)
        except sqlite3.Error:
            return False
        return True


def library(name: str, module: str | None = None) -> Check:
    """A library is installed, and its module, if one is named, loads."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, ok=False, finding="not installed", remedy=REINSTALL)
    if module is None:
        return Check(name, ok=True, finding=version)
    # In a process of its own, because a library built for another processor can end the process.
    loading = subprocess.run(  # noqa: S603  our own interpreter and a name from the list above
        [sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False
    )
    if loading.returncode:
        said = loading.stderr.strip().splitlines() or [f"ended with code {loading.returncode}"]
        return Check(name, ok=False, finding=f"{version} does not load: {said[-1]}", remedy=REINSTALL)
    return Check(name, ok=True, finding=version)


def variables() -> Check:
    """No variable looks like a setting without being one."""
    unknown = unknown_variables()
    if not unknown:
        return Check("variables", ok=True, finding="none that is misspelt")
    meant = [f"use {other} in place of {name}" for name, other in unknown.items() if other]
    return Check(
        "variables",
        ok=True,
        finding=f"not a setting, probably misspelt: {', '.join(unknown)}",
        remedy="; ".join(meant) or "unset them; `backstory config` shows all that can be set",
    )


def engine(use: str, choice: EngineChoice) -> Check:
    """This version can use the engine that was chosen."""
    problem = unsupported(choice)
    if problem:
        return Check(use, ok=False, finding=str(problem), remedy=problem.hint)
    return Check(use, ok=True, finding=str(choice))


def data_folder(home: Path) -> Check:
    """The data folder can be written, and SQLite can keep its write-ahead log there."""
    try:
        with TemporaryDirectory(prefix="backstory-doctor-", dir=_existing(home)) as folder:
            journal = _journal_mode(Path(folder) / "probe.db")
    except OSError as error:
        return Check(
            "data folder",
            ok=False,
            finding=f"{home} cannot be written: {error.strerror}",
            remedy="make it writable, or set BACKSTORY_HOME to a folder that is",
        )
    if journal != "wal":
        return Check(
            "data folder",
            ok=False,
            finding=f"SQLite cannot keep its write-ahead log in {home}: {journal}",
            remedy="set BACKSTORY_HOME to a folder on a local disk with free space",
        )
    return Check("data folder", ok=True, finding=f"{home}" if home.exists() else f"{home}, made at first use")


def _existing(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if _exists(each)), folder)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:  # a folder above it may not be searched
        return False


def _journal_mode(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        try:
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            return str(error)


def free_space(home: Path, needed_bytes: int) -> Check:
    """There is more free space than Backstory leaves to others."""
    free = shutil.disk_usage(_existing(home)).free
    finding = f"{free // MEGABYTE:,} MB free, {needed_bytes // MEGABYTE:,} MB needed"
    if free < needed_bytes:
        remedy = "free some space, or set BACKSTORY_HOME to a folder on a larger disk"
        return Check("disk", ok=False, finding=finding, remedy=remedy)
    return Check("disk", ok=True, finding=finding)


def records_file(path: Path) -> Check:
    """The records file, if there is one, is not damaged."""
    if not path.exists():
        return Check("records file", ok=True, finding="none yet; made at first use")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
    except sqlite3.OperationalError as error:
        remedy = "make it readable for this user, or stop the program that holds it"
        return Check("records file", ok=False, finding=f"{path} cannot be read: {error}", remedy=remedy)
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found != ["ok"]:
        remedy = "keep a copy of it, then restore your newest backup"
        return Check(
            "records file", ok=False, finding=f"{path} is damaged: {'; '.join(found)}", remedy=remedy
        )
    return Check("records file", ok=True, finding=f"{path} is sound")


def _sources(settings: Settings) -> str:
    chosen = sum(reading.origin != DEFAULT for reading in settings.readings)
    return f"valid; {chosen} set, {len(settings.readings) - chosen} by default"
