"""One graph's database: opening it, lending connections to it, closing it.

Statements are made elsewhere, and who may come when is the gate's affair: whoever calls here holds it.
Readers share it. A writer holds it alone, because in this engine a statement that reads beside one
that writes misses rows, or ends the process with a segmentation fault.
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
from backstory.adapters.ladybug.schema import CREATE_TABLES, NO_HASH_INDEX, Pair, add_pair
from backstory.errors import BackstoryError, StoreCorrupt
from backstory.model.graph import NodeType, RelationshipType

_LOG: Final = logging.getLogger(__name__)

# Addresses reserved, not memory: 8 TB by default, of which only 16 databases have room beside each other.
_MAX_BYTES: Final = 16 << 30
# A limit, not an allotment: by default it is 80 % of the machine's memory.
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
            connection.execute(NO_HASH_INDEX)
            connection.execute(";".join(("BEGIN TRANSACTION", *CREATE_TABLES, "COMMIT")))
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
    """A graph's database, open or not. It is made by the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.gate: Final = Gate()
        self.changing: Final = threading.Lock()  # held over a whole load, which needs the gate only to end
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
        return files.newest(self.folder) is not None

    @property
    def is_open(self) -> bool:
        """Whether it takes up memory now."""
        return self._database is not None

    @property
    def is_settled(self) -> bool:
        """Whether its log is empty."""
        path = files.newest(self.folder)
        return path is None or not files.has_log(path)

    def open(self) -> None:
        """Open it unless it is open."""
        with self._opening, translated():
            if self._database is None:
                self._database = open_database(files.newest(self.folder) or files.first(self.folder))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection for reading."""
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
    def foreign(self) -> Iterator[Connection]:
        """Lend a connection that is used once, for a statement somebody else wrote.

        Such a statement can take all of the buffer pool, and gives it back when its connection closes.
        """
        with self.asking, translated(), self._connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend the connection for writing; what it began and did not commit is undone on failure."""
        if self._spoiled:
            self.close()
            self.open()
        writer = self._writer = self._writer or self._connect()
        try:
            with translated():
                yield writer
        except BaseException as error:
            self._spoiled = isinstance(error, LogTorn | LogRefused)
            self._writer = None
            # The first failure is the one to tell of.
            with suppress(BackstoryError), translated():
                writer.close()
            raise

    @contextmanager
    def transaction(self, pairs: Iterable[Pair]) -> Iterator[Connection]:
        """Lend the connection for one change, all or nothing, that touches the edges of these pairs."""
        with self.writing() as connection:
            for pair in sorted(set(pairs) - self._known_pairs(connection)):
                connection.execute(add_pair(pair))
                self._known_pairs(connection).add(pair)
            connection.execute("BEGIN TRANSACTION")
            yield connection
            connection.execute("COMMIT")
        self._changed.update(pairs)
        if len(self._changed) > _TABLES_WITH_CHANGES:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Bring the log into the database's own file."""
        with self.writing() as connection:
            connection.execute("CHECKPOINT")
        self._changed.clear()

    def close(self) -> None:
        """Close it, if it is open."""
        if self._database is None:
            return
        database, self._database = self._database, None
        # A connection left open keeps the files in use, and writes to them when it ends.
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

    def _known_pairs(self, connection: Connection) -> set[Pair]:
        if self._pairs is None:
            self._pairs = {
                Pair(type_, NodeType(start), NodeType(end))
                for type_ in RelationshipType
                for start, end, *_ in ask(connection, f"CALL show_connection('{type_}') RETURN *")
            }
        return self._pairs

    def _idle_connection(self) -> Connection | None:
        with suppress(IndexError):
            return self._idle.pop()
        return None

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
