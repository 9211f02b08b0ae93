"""Which graphs are open: a few at a time, the one unused for longest put away first."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backstory.adapters.ladybug.database import GraphDatabase
from backstory.adapters.ladybug.files import folder_of
from backstory.errors import StoreUnavailable
from backstory.model.graph import GraphKey


class Shelf:
    """The databases of all graphs under one folder."""

    def __init__(self, root: Path, max_open: int) -> None:
        self._root = root
        self._max_open = max_open
        self._databases: OrderedDict[GraphKey, GraphDatabase] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def take(self, key: GraphKey) -> GraphDatabase:
        """Give a graph's database, open or not, and count it as used."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the graphs are closed", hint="open the store again")
            if key not in self._databases:
                self._databases[key] = GraphDatabase(folder_of(self._root, key))
            self._databases.move_to_end(key)
            return self._databases[key]

    @contextmanager
    def open(self, database: GraphDatabase) -> Iterator[None]:
        """Have the database open for reading while the block runs; others may be closed for it."""
        with database.gate.shared():
            database.open()
            self._put_away()
            yield

    @contextmanager
    def open_alone(self, database: GraphDatabase) -> Iterator[None]:
        """Have the database open, and nobody else in it, while the block runs."""
        with database.gate.alone():
            database.open()
            self._put_away()
            yield

    def close(self) -> None:
        """Close everything, waiting for whoever still works."""
        with self._lock:
            self._closed = True
        for database in self._databases.values():
            with database.changing, database.gate.alone():
                database.close()

    def _put_away(self) -> None:
        with self._lock:
            open_ones = [database for database in self._databases.values() if database.is_open]
        too_many = len(open_ones) - self._max_open
        for database in open_ones:
            if too_many <= 0:
                break
            with database.gate.alone_if_empty() as alone:
                if alone:
                    database.close()
                    too_many -= 1
