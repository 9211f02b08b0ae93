"""The records file: opened once, read by many threads, written by one at a time.

Reading takes a snapshot; writing takes the process-wide lock and `BEGIN IMMEDIATE`, and commits
all or nothing. What the nouns are is in the modules beside this one.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL

from backstory.errors import StoreCorrupt, StoreReadOnly
from backstory.records import keywords
from backstory.records.audit import Audit
from backstory.records.conversations import Conversations
from backstory.records.cues import Cues
from backstory.records.faults import CORRUPT_HINT, translated
from backstory.records.folds import Folds
from backstory.records.foremost import Foremost
from backstory.records.generations import Generations
from backstory.records.keywords import Keywords
from backstory.records.links import Links
from backstory.records.live import LiveRecords
from backstory.records.marks import Marks
from backstory.records.memories import Memories
from backstory.records.merges import Merges
from backstory.records.migrations import migrate
from backstory.records.names import Names
from backstory.records.passages import Passages
from backstory.records.portable import Portable
from backstory.records.references import References
from backstory.records.store import Store
from backstory.records.transcript_files import TranscriptFiles

#: Other programs (a backup tool, a shell) may hold the file for a moment; our own writers queue at the lock.
BUSY_TIMEOUT_S: Final = 10.0

#: A write of so many takes 8 ms, which is as long as others may have to wait for it.
USES_AT_ONCE: Final = 500

#: Writes after which the journal is brought into the file in the background. A turn of a conversation among
#: 100,000 is two writes of 60 pages together, so these are 12 MB.
JOURNALED_WRITES: Final = 100

#: Pages of 4 KB in the journal after which a writer does it itself. With SQLite's 1,000 every twentieth turn
#: waited 8 ms for it.
MAX_JOURNAL_PAGES: Final = 16_384

#: The check reads the file once: 0.12 s for 216 MB that lie in the system's cache, more from a slow disk.
#: Larger files are checked by `backstory doctor`.
MAX_CHECKED_BYTES: Final = 256 * 1024 * 1024


class Begin(Enum):
    """How a transaction begins.

    FULL: a commit survives a power cut too, for 0.14 ms against 0.014 ms with NORMAL on a fast disk, and
    for several ms on a slow one.
    """

    READING = ("BEGIN",)
    DURABLE = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
    LAZY = ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE")


class Transaction:
    """One snapshot or one write, with everything that can be read or written in it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def memories(self) -> Memories:
        return Memories(self._connection)

    @cached_property
    def cues(self) -> Cues:
        return Cues(self._connection)

    @cached_property
    def foremost(self) -> Foremost:
        return Foremost(self._connection)

    @cached_property
    def conversations(self) -> Conversations:
        return Conversations(self._connection)

    @cached_property
    def live(self) -> LiveRecords:
        return LiveRecords(self._connection)

    @cached_property
    def transcript_files(self) -> TranscriptFiles:
        return TranscriptFiles(self._connection)

    @cached_property
    def passages(self) -> Passages:
        return Passages(self._connection)

    @cached_property
    def links(self) -> Links:
        return Links(self._connection)

    @cached_property
    def names(self) -> Names:
        return Names(self._connection)

    @cached_property
    def references(self) -> References:
        return References(self._connection)

    @cached_property
    def marks(self) -> Marks:
        return Marks(self._connection)

    @cached_property
    def merges(self) -> Merges:
        return Merges(self._connection)

    @cached_property
    def folds(self) -> Folds:
        return Folds(self._connection)

    @cached_property
    def portable(self) -> Portable:
        return Portable(self._connection)

    @cached_property
    def generations(self) -> Generations:
        return Generations(self._connection)

    @cached_property
    def audit(self) -> Audit:
        return Audit(self._connection)

    @cached_property
    def keywords(self) -> Keywords:
        return Keywords(self._connection)

    @cached_property
    def store(self) -> Store:
        return Store(self._connection)


class Records:
    """The source of truth, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._write_lock = threading.Lock()
        self._held = threading.local()
        self._journaled = 0
        self._uses: Counter[str] = Counter()
        self._uses_lock = threading.Lock()
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
            hide_parameters=True,  # an error of the driver must not quote what a user wrote
            pool_size=8,
            pool_reset_on_return=None,  # every connection comes back from a transaction that has ended
            max_overflow=-1,
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)
        self._engines = {begin: self._engine.execution_options(backstory_begin=begin) for begin in Begin}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, making or migrating it; refuses a damaged or newer one and leaves it as it is."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreReadOnly(
                f"the data folder {path.parent} cannot be made: {error.strerror}",
                hint="check its permissions, or set BACKSTORY_HOME to a folder you can write",
            ) from error
        records = cls(path)
        try:
            records._check_before_use()
            with records._connected(Begin.DURABLE) as connection:
                migrate(connection, path)
        except BaseException:
            records.close()
            raise
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A snapshot: nothing written meanwhile is seen."""
        if held := getattr(self._held, "snapshot", None):
            with translated(self.path):
                yield held
            return
        with self._connected(Begin.READING) as connection:
            yield Transaction(connection)

    @contextmanager
    def one_snapshot(self) -> Iterator[None]:
        """Let all that this thread reads until the block ends be of one moment; it must not write.

        A short read takes 0.12 ms by itself and 0.04 inside of one, and a search has ten.
        """
        before = getattr(self._held, "snapshot", None)
        with self.reading() as snapshot:
            self._held.snapshot = snapshot
            try:
                yield
            finally:
                self._held.snapshot = before

    @contextmanager
    def writing(self, *, lazily: bool = False) -> Iterator[Transaction]:
        """One write: committed whole when the block ends, undone whole when it raises.

        A lazy one survives the death of the process, but a power cut only if a write that is not lazy came
        after it: for what is made again when it is missing.
        """
        with self._write_lock, self._connected(Begin.LAZY if lazily else Begin.DURABLE) as connection:
            yield Transaction(connection)
        self._journaled += 1

    def checkpoint(self) -> None:
        """Bring what was written lately from the journal into the file, if it is much; no writer waits."""
        if self._journaled < JOURNALED_WRITES:
            return
        self._journaled = 0
        with translated(self.path), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def note_use(self, ids: Iterable[str]) -> None:
        """Count that memories were read. Kept in memory until `flush_uses`, so that reading never writes."""
        with self._uses_lock:
            self._uses.update(ids)

    def flush_uses(self) -> None:
        """Write down the uses counted so far."""
        with self._uses_lock:
            uses, self._uses = self._uses, Counter()
        waiting = list(uses.items())
        for start in range(0, len(waiting), USES_AT_ONCE):
            with self.writing() as transaction:
                transaction.memories.note_uses(dict(waiting[start : start + USES_AT_ONCE]), datetime.now(UTC))

    def problems(self) -> list[str]:
        """What a whole check of the file finds wrong; nothing when it is sound."""
        with self._connected(Begin.READING) as connection:
            run = connection.exec_driver_sql
            found = [row[0] for row in run("PRAGMA integrity_check(20)") if row[0] != "ok"]
            found += [f"{row[0]} row {row[1]} points nowhere" for row in run("PRAGMA foreign_key_check")]
        if not found:
            with self._write_lock, self._connected(Begin.DURABLE) as connection:
                keywords.check(connection)
        return found

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy of the file, while others read and write."""
        with translated(self.path), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("VACUUM INTO ?", (str(target),))

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    @contextmanager
    def _connected(self, begin: Begin) -> Iterator[Connection]:
        with translated(self.path), self._engines[begin].connect() as connection, connection.begin():
            yield connection

    def _check_before_use(self) -> None:
        if not self.path.exists() or self.path.stat().st_size > MAX_CHECKED_BYTES:
            return
        with self._connected(Begin.READING) as connection:
            found = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise StoreCorrupt(
                f"{self.path} is damaged: {'; '.join(found)}",
                hint=CORRUPT_HINT,
            )


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we begin transactions ourselves
    for pragma in (
        "journal_mode=WAL",
        "foreign_keys=ON",
        "cache_size=-16384",
        f"wal_autocheckpoint={MAX_JOURNAL_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    # By the driver alone: as statements of SQLAlchemy's these would be a sixth of what a short read costs.
    cursor = connection.connection.cursor()
    for statement in connection.get_execution_options()["backstory_begin"].value:
        cursor.execute(statement)
