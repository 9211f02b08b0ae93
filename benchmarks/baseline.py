"""What one would build in an afternoon, to compare with: SQLite FTS5 for words, a matrix for meaning.

It gets the same texts, terms, chunks, vectors and fusion, so a difference in time is a difference
between engines. It has no crash safety, no graph, no versions and no audit; those are not compared.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backstory.model.project import Project, Scope
from backstory.model.search import MemoryQuery, Scored
from backstory.ports import Embedder, Matrix
from backstory.ranking.chunks import chunks
from backstory.ranking.fusion import fuse
from backstory.ranking.memories import CANDIDATES, WEIGHTS
from backstory.ranking.words import terms
from benchmarks.console import reporting
from benchmarks.corpus import Draft
from benchmarks.stores import batches

_SCHEMA: Final = """
CREATE TABLE notes (number INTEGER PRIMARY KEY, id, project, type, created_at REAL, text);
CREATE VIRTUAL TABLE words USING fts5(terms, content='', tokenize='unicode61 remove_diacritics 0');
"""
_BATCH: Final = 2_000


class Baseline:
    """Notes in SQLite, their vectors in one mapped file."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._file = folder / "vectors.f32"
        self._embedder = embedder
        self._sqlite = sqlite3.connect(folder / "notes.db")
        self._sqlite.executescript(_SCHEMA)
        self._owners = np.zeros(0, np.int64)  # the note that each row of the matrix is of
        self._matrix: Matrix = np.zeros((0, embedder.dimension), np.float32)

    def load(self, drafts: Iterable[Draft]) -> None:
        """Keep many notes at once."""
        work, number, counts = reporting(), 0, []
        with self._file.open("wb") as file:
            for batch in batches(drafts, _BATCH):
                pieces = [chunks(draft.memory.content) for draft in batch]
                self._embedder.embed_documents([one for each in pieces for one in each]).tofile(file)
                counts += [len(each) for each in pieces]
                self._insert(number, batch)
                number += len(batch)
                work.step(number, None, "loading the baseline")
        self._owners = np.repeat(np.arange(number), counts)
        self._matrix = np.memmap(self._file, np.float32, "r").reshape(-1, self._embedder.dimension)

    def search(self, scope: Scope, query: MemoryQuery) -> list[str]:
        """The texts that answer best, best first."""
        condition, values = _condition(scope, query)
        lists = {
            "words": self._by_words(query.text, condition, values),
            "meaning": self._by_meaning(query.text, condition, values),
        }
        numbers = [int(each.id) for each in islice(fuse(lists, WEIGHTS), query.limit)]
        return [
            self._sqlite.execute("SELECT text FROM notes WHERE number = ?", [number]).fetchone()[0]
            for number in numbers
        ]

    def close(self) -> None:
        """Let go of the files."""
        self._sqlite.close()

    def _insert(self, first: int, batch: Sequence[Draft]) -> None:
        memories = [draft.memory for draft in batch]
        with self._sqlite:
            self._sqlite.executemany(
                "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (number, each.id, each.project.name, each.type, each.created_at.timestamp(), each.content)
                    for number, each in enumerate(memories, first)
                ],
            )
            self._sqlite.executemany(
                "INSERT INTO words(rowid, terms) VALUES (?, ?)",
                [(number, terms(each.content)) for number, each in enumerate(memories, first)],
            )

    def _by_words(self, text: str, condition: str, values: Sequence[object]) -> list[Scored]:
        wanted = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms(text).split()))
        rows = self._sqlite.execute(
            "SELECT number, -bm25(words) AS score FROM words JOIN notes ON number = words.rowid"
            f" WHERE words MATCH ? AND {condition} ORDER BY score DESC LIMIT ?",
            [wanted, *values, CANDIDATES],
        )
        return [Scored(str(number), score) for number, score in rows]

    def _by_meaning(self, text: str, condition: str, values: Sequence[object]) -> list[Scored]:
        owners, matrix = self._owners, self._matrix
        if values:
            inside = self._sqlite.execute(f"SELECT number FROM notes WHERE {condition}", values)
            allowed = np.zeros(int(owners[-1]) + 1, np.bool_)
            allowed[np.fromiter((number for (number,) in inside), np.int64)] = True
            rows = np.flatnonzero(allowed[owners])
            owners, matrix = owners[rows], matrix[rows]
        return _best(owners, matrix @ self._embedder.embed_query(text))


def _best(owners: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Scored]:
    """The notes with the highest scores; a note's score is that of its best chunk."""
    if not len(owners):
        return []
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    of_note = np.maximum.reduceat(scores, starts)
    top = np.argpartition(-of_note, min(CANDIDATES, len(of_note)) - 1)[:CANDIDATES]
    return [Scored(str(owners[starts[each]]), float(of_note[each])) for each in top]


def _condition(scope: Scope, query: MemoryQuery) -> tuple[str, list[object]]:
    clauses: list[str] = ["1"]
    values: list[object] = []
    if isinstance(scope, Project):
        clauses.append("project = ?")
        values.append(scope.name)
    if query.types:
        clauses.append(f"type IN ({', '.join('?' * len(query.types))})")
        values += query.types
    if query.since:
        clauses.append("created_at >= ?")
        values.append(query.since.timestamp())
    return " AND ".join(clauses), values
