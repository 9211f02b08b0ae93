"""One graph's database: opening it, lending connections to it, and who may do what at the same time.

Statements are made elsewhere. Three rules of the engine shape this module. One transaction writes at a
time, so `writing` is held by whoever changes the graph. New pairs of types must not come while
somebody reads, so that and closing are done alone. A foreign statement can take all of the buffer
pool, and gives it back only when its connection is closed, so it gets one of its own.
"""

import ctypes
import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

from ladybug import Connection, Database, QueryResult

from backstory.adapters.ladybug import files
from backstory.adapters.ladybug.faults import LogRefused, LogTorn, translated
from backstory.adapters.ladybug.gate import Gate
from backstory.adapters.ladybug.schema import CREATE_TABLES, Pair, add_pair
from backstory.errors import BackstoryError, StoreCorrupt
from backstory.model.graph import NodeType, RelationshipType

_LOG: Final = logging.getLogger(__name__)

# Addresses reserved, not memory: 8 TB by default, of which few databases fit beside each other.
_MAX_BYTES: Final = 16 << 30
# A limit, not an allotment: 80 % of the machine's memory by default. The tables alone take 15 MB.
_POOL_BYTES: Final = 128 << 20
_THREADS: Final = 2
_IDLE_CONNECTIONS: Final = 4
# Each table with changes in it holds 8 MB until a checkpoint: 24 of them are 200 MB.
_TABLES_WITH_CHANGES: Final = 24


def ask(connection: Connection, statement: str, **parameters: object) -> list[list[Any]]:
    """Run one statement of ours and give all its rows; its plan is kept with the connection."""
    with cast("QueryResult", connection.execute(statement, parameters)) as result:
        return cast("list[list[Any]]", result.get_all())


def open_database(path: Path, *, pool_bytes: int = _POOL_BYTES, threads: int = _THREADS) -> Database:
    """Open a database and make its tables if it has none.

    A log that breaks off is read up to there: a process was killed, or the disk full, in the middle
    of a write, which nobody was told had succeeded.
    """
    try:
        database = _opened(path, pool_bytes, threads, strict=True)
    except StoreCorrupt:
        if not files.has_log(path):
            raise
        _LOG.warning("the graph %s has a torn log; opening it without the torn end", path)
        database = _opened(path, pool_bytes, threads, strict=False)
    with translated(), Connection(database, num_threads=1) as connection:
        if not ask(connection, "CALL show_tables() RETURN name"):
            transaction = ("BEGIN TRANSACTION", *CREATE_TABLES, "COMMIT")
            connection.execute(";".join(transaction))
    return database


def _opened(path: Path, pool_bytes: int, threads: int, *, strict: bool) -> Database:
    with translated(otherwise=StoreCorrupt):
        return Database(
            path,
            max_db_size=_MAX_BYTES,
            buffer_pool_size=pool_bytes,
            max_num_threads=threads,
            throw_on_wal_replay_failure=strict,
        )


@contextmanager
def open_alone(path: Path, *, pool_bytes: int, threads: int) -> Iterator[Connection]:
    """Lend the one connection to a database that nobody else knows of, and close both."""
    database = open_database(path, pool_bytes=pool_bytes, threads=threads)
    try:
        with translated(), Connection(database) as connection:
            yield connection
    except (LogTorn, LogRefused):
        _never_destroy(database)
        raise
    except BaseException:
        database.close()
        raise
    database.close()


class GraphDatabase:
    """A graph's database, open or not, for many threads. It is made by the first write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.gate: Final = Gate()  # shared by users, alone to change the tables or to close
        self.writing: Final = threading.Lock()
        self.asking: Final = threading.Lock()  # one foreign statement at a time
        self._opening = threading.Lock()
        self._database: Database | None = None
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        self._pairs: set[Pair] | None = None
        self._changed: set[Pair] = set()
        self._spoiled = False

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return files.newest(self._folder) is not None

    @property
    def is_open(self) -> bool:
        """Whether it takes up memory now."""
        return self._database is not None

    @property
    def is_settled(self) -> bool:
        """Whether its log is empty."""
        path = files.newest(self._folder)
        return path is None or not files.has_log(path)

    def open(self) -> None:
        """Open it unless it is open; hold the gate."""
        with self._opening, translated():
            if self._database is None:
                self._database = open_database(files.newest(self._folder) or files.first(self._folder))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection for reading; hold the gate."""
        with translated():
            connection = self._idle_connection() or self._connect()
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            if len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
            else:
                connection.close()

    @contextmanager
    def foreign(self, timeout_s: float) -> Iterator[Connection]:
        """Lend a connection that is used once, for a statement somebody else wrote; hold the gate."""
        with self.asking, translated(), self._connect() as connection:
            connection.set_query_timeout(max(1, round(timeout_s * 1000)))
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Lend the writing connection for one change, all or nothing; hold the gate and `writing`."""
        with self._writing_connection() as connection:
            connection.execute("BEGIN TRANSACTION")
            yield connection
            connection.execute("COMMIT")

    def checkpoint(self) -> None:
        """Bring the log into the database's own file; hold the gate and `writing`."""
        with self._writing_connection() as connection:
            connection.execute("CHECKPOINT")
        self._changed.clear()

    def changed(self, pairs: Iterable[Pair]) -> None:
        """Note which tables have changes in memory, and write them out if they are many."""
        self._changed.update(pairs)
        if len(self._changed) > _TABLES_WITH_CHANGES:
            self.checkpoint()

    def allow(self, pairs: Iterable[Pair]) -> None:
        """See to it that edges of these pairs can be written; hold `writing`, and the gate not."""
        with self.gate.shared():
            self.open()
            missing = sorted(set(pairs) - self._known_pairs())
        if missing:
            with self.gate.alone(), translated():
                self.open()
                with self._connect() as connection:
                    for pair in missing:
                        connection.execute(add_pair(pair))
                self._known_pairs().update(missing)

    def mend(self) -> None:
        """Leave a spoiled database behind, so that it is opened anew; hold `writing`, and the gate not."""
        if self._spoiled:
            with self.gate.alone():
                self.close()

    def close(self) -> None:
        """Close it, if it is open; hold the gate alone."""
        if self._database is None:
            return
        database, self._database = self._database, None
        # A connection left open keeps the files in use, and its end writes to them.
        for connection in (*self._idle, self._writer):
            if connection:
                connection.close()
        self._idle, self._writer, self._pairs = [], None, None
        self._changed.clear()
        if self._spoiled:
            _never_destroy(database)
            self._spoiled = False
        else:
            with translated():
                database.close()

    def replace(self, built: Path) -> None:
        """Put a finished database in the place of this one; hold the gate alone."""
        self.close()
        with translated():
            files.take_over(self._folder, built)

    def discard(self) -> None:
        """Close it and remove its files; hold the gate alone."""
        self.close()
        with translated():
            files.discard(self._folder)

    def place_to_build(self) -> Path:
        """Give an empty folder where its successor can be made."""
        with translated():
            return files.place_to_build(self._folder)

    @contextmanager
    def _writing_connection(self) -> Iterator[Connection]:
        writer = self._writer = self._writer or self._connect()
        try:
            with translated():
                yield writer
        except BaseException as error:
            self._spoiled = self._spoiled or isinstance(error, LogTorn | LogRefused)
            self._writer = None
            # Closing it undoes what it began. The first failure is the one to tell of.
            with suppress(BackstoryError), translated():
                writer.close()
            raise

    def _idle_connection(self) -> Connection | None:
        with suppress(IndexError):
            return self._idle.pop()
        return None

    def _known_pairs(self) -> set[Pair]:
        if self._pairs is None:
            with self.reading() as connection:
                self._pairs = {
                    Pair(type_, NodeType(start), NodeType(end))
                    for type_ in RelationshipType
                    for start, end, *_ in ask(connection, f"CALL show_connection('{type_}') RETURN *")
                }
        return self._pairs

    def _connect(self) -> Connection:
        # More threads make a statement of ours slower: 0.13 ms a step with one, 0.26 with two.
        with translated():
            return Connection(cast("Database", self._database), num_threads=1)


def _never_destroy(database: Database) -> None:
    """Keep a database with a torn log from being closed, now and when the process ends.

    Closing flushes the log. The flush ends the whole process while the disk is full, and writes
    behind the tear when it is not, after which the log cannot be read any more.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(database))
