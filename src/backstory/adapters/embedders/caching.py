"""A persistent cache in front of any embedder.

Vectors live in a SQLite file of their own, outside the records, because losing it loses nothing: a
damaged file is set aside and begun anew, and where nothing can be written the embedder is simply
asked every time. What a vector means is left to the embedder; its fingerprint is part of the key.
"""

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from backstory.model.upkeep import CacheUse
from backstory.ports import Embedder, Matrix, Vector

_log = logging.getLogger(__name__)

# NORMAL, not OFF: a power cut must not leave pages half written, since a wrong vector inside a
# sound file would never be noticed. In WAL mode that costs one sync for each checkpoint.
_OPENING = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
"""

_SELECT = "SELECT key, vector FROM vectors WHERE key IN ({})"
_INSERT = "INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)"
# Ids grow by one and go from the low end, so nothing has to be counted.
_EVICT = "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?"

_KEYS_A_QUERY = 500  # SQLite before 3.32 takes 999 parameters; beyond 500 nothing is gained

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class CachingEmbedder:
    """Embeds each text once. The `max_entries` newest vectors are kept, over restarts too."""

    def __init__(self, embedder: Embedder, path: Path, max_entries: int) -> None:
        self._embedder = embedder
        self._file = _VectorFile(path, max_entries)
        self._counting = threading.Lock()
        self._hits = 0
        self._misses = 0

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def use(self) -> CacheUse:
        """How many texts were answered without embedding them, and how many were not."""
        with self._counting:
            return CacheUse(self._hits, self._misses)

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """The embedder's vectors; texts seen before, or twice in `texts`, are not embedded again."""
        return self._embed("document", texts, self._embedder.embed_documents)

    def embed_query(self, text: str) -> Vector:
        """The embedder's vector of a query, remembered apart from that of an equal document."""
        matrix = self._embed("query", [text], lambda _: self._embedder.embed_query(text)[np.newaxis])
        vector: Vector = matrix[0]
        return vector

    def close(self) -> None:
        """Close the file. Embedding goes on without it."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _embed(self, role: str, texts: Sequence[str], embed: Callable[[list[str]], Matrix]) -> Matrix:
        keys = self._keys(role, texts)
        known = self._file.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            rows = embed(list(missing.values()))
            fresh = {key: row.tobytes() for key, row in zip(missing, rows, strict=True)}
            self._file.put(fresh)
            known |= fresh
        with self._counting:
            self._hits += len(keys) - len(missing)
            self._misses += len(missing)
        # A bytearray, because an array over plain bytes could not be written to.
        values = np.frombuffer(bytearray().join(known[key] for key in keys), np.float32)
        return values.reshape(len(keys), self.dimension)

    def _keys(self, role: str, texts: Sequence[str]) -> list[bytes]:
        prefix = f"{self.fingerprint}\0{role}\0".encode()
        # Lone surrogates pass, so that two texts that differ only there have two keys.
        return [hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest() for text in texts]


class _VectorFile:
    """Vectors as bytes by key. Trouble with the file is logged and never raised."""

    def __init__(self, path: Path, max_entries: int) -> None:
        self._path = path
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        with self._mending():
            self._db = _connect(path)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors there are among `keys`."""
        found: dict[bytes, bytes] = {}
        with self._mending() as db:
            if db:
                for start in range(0, len(keys), _KEYS_A_QUERY):
                    some = keys[start : start + _KEYS_A_QUERY]
                    found.update(db.execute(_SELECT.format(",".join("?" * len(some))), some))
        return found

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep these, and let the oldest go."""
        with self._mending() as db:
            if db:
                with db:
                    db.executemany(_INSERT, vectors.items())
                    db.execute(_EVICT, [self._max_entries])

    def close(self) -> None:
        with self._lock:
            self._disconnect()

    @contextmanager
    def _mending(self) -> Iterator[sqlite3.Connection | None]:
        """Hold the file; if it fails, begin a new one when it was damaged, do without otherwise."""
        with self._lock:
            try:
                yield self._db
            except (sqlite3.Error, OSError) as error:
                self._disconnect()
                if _is_damage(error):
                    self._renew(error)
                else:
                    self._give_up(error)

    def _renew(self, error: Exception) -> None:
        aside = self._path.with_name(self._path.name + ".damaged")
        try:
            self._path.replace(aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._db = _connect(self._path)
        except (sqlite3.Error, OSError) as second:
            self._give_up(second)
        else:
            _log.warning(
                "the embedding cache was damaged (%s) and begins anew; it was moved to %s", error, aside
            )

    def _give_up(self, error: Exception) -> None:
        _log.warning("embeddings are no longer cached in %s: %s", self._path, error)

    def _disconnect(self) -> None:
        if self._db:
            self._db.close()
            self._db = None


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, check_same_thread=False)
    try:
        db.executescript(_OPENING)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _is_damage(error: Exception) -> bool:
    # The low byte is the error; the bytes above it say which kind of it.
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
