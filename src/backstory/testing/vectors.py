"""The `VectorStore` port in memory: every score is computed from scratch, as the definition says.

For tests, ours and yours. It refuses what the embedded engine refuses, and finds what it finds.
"""

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final, assert_never

import numpy as np

from backstory.errors import ContentRefused, StoreError
from backstory.model.project import Project, Scope
from backstory.model.search import Scored, Where
from backstory.ports import (
    Entry,
    Every,
    IndexSpec,
    IndexState,
    Leg,
    Matrix,
    Meaning,
    Vector,
    WordField,
    Words,
)

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class InMemoryVectorStore:
    """Indexes that are gone with the process. Safe in many threads."""

    def __init__(self) -> None:
        self._indexes: dict[str, _Index] = {}
        self._lock = threading.RLock()

    def ensure(self, index: IndexSpec) -> None:
        """Make the index unless it is there. One with other fields under the same name is an error."""
        with self._lock:
            known = self._indexes.setdefault(index.name, _Index(index))
            if _plain(known.spec) != _plain(index):
                raise StoreError(f"the index {index.name} was made with other fields")

    def upsert(self, index: str, entries: Sequence[Entry]) -> None:
        """Store the entries, replacing those with the same ids; all of them are checked first."""
        with self._lock:
            known = self._index(index)
            known.entries |= {entry.id: known.checked(entry) for entry in entries}

    def remove(self, index: str, where: Where) -> None:
        """Remove what the conditions let through; that may be nothing."""
        with self._lock:
            known = self._index(index)
            known.entries = {id: each for id, each in known.entries.items() if not _allows(where, each)}

    def query(self, index: str, legs: Sequence[Leg], where: Where) -> list[list[Scored]]:
        """An answer to each leg, best first, equals in the order of their ids."""
        with self._lock:
            return [self._index(index).answer(leg, where) for leg in legs]

    def describe(self) -> Mapping[str, IndexState]:
        """Every index there is."""
        with self._lock:
            return {name: IndexState(len(index.entries)) for name, index in self._indexes.items()}

    def settle(self, index: str) -> bool:
        """There is never anything to do."""
        self._index(index)
        return False

    def drop(self, index: str) -> None:
        """Delete the index with everything in it; an unknown one is no error."""
        with self._lock:
            self._indexes.pop(index, None)

    def _index(self, name: str) -> "_Index":
        if found := self._indexes.get(name):
            return found
        raise StoreError(f"there is no index {name}", hint="make it with `ensure`")


class _Index:
    def __init__(self, spec: IndexSpec) -> None:
        self.spec = spec
        self.fields = {field.name: field for field in spec.fields}
        self.entries: dict[str, Entry] = {}

    def checked(self, entry: Entry) -> Entry:
        """The entry with unit vectors and without empty ones; refused if it cannot be stored."""
        if not _ID.fullmatch(entry.id):
            raise ContentRefused(f"{entry.id!r} is no UUID in its usual form")
        _check_names(entry.vectors, self.spec.spaces)
        _check_names(entry.words, self.fields)
        _check_names(entry.labels, self.spec.labels)
        _check_names(entry.numbers, self.spec.numbers)
        if not all(map(math.isfinite, entry.numbers.values())):
            raise ContentRefused("a number is not finite")
        for text in (*entry.words.values(), *(value for values in entry.labels.values() for value in values)):
            _check_text(text)
        if any(len(rows) > 1 for space, rows in entry.vectors.items() if space in self.spec.single):
            raise ContentRefused("there are several vectors for a space that takes one")
        return replace(entry, vectors={space: self._unit(rows) for space, rows in entry.vectors.items()})

    def answer(self, leg: Leg, where: Where) -> list[Scored]:
        match leg:
            case Meaning():
                _check_names([leg.space], self.spec.spaces)
                scores = self._cosines(leg.space, self._unit(leg.vector[np.newaxis]))
            case Words():
                _check_names([leg.field], self.fields)
                _check_text(leg.terms)
                scores = self._bm25(self.fields[leg.field], sorted(set(leg.terms.split())), where.scope)
            case Every(after=after):
                scores = {id: 0.0 for id in self.entries if after is None or id > after}
            case _:
                assert_never(leg)
        found = [Scored(id, score) for id, score in scores.items() if _allows(where, self.entries[id])]
        return sorted(found, key=lambda each: (-each.score, each.id))[: leg.limit]

    def _cosines(self, space: str, query: Matrix) -> dict[str, float]:
        rows = {id: entry.vectors.get(space, ()) for id, entry in self.entries.items()}
        return {id: float((each @ query.T).max()) for id, each in rows.items() if len(each) and len(query)}

    def _bm25(self, field: WordField, query: Collection[str], scope: Scope) -> dict[str, float]:
        texts = {
            id: each.words.get(field.name, "") for id, each in self.entries.items() if _in_scope(scope, each)
        }
        corpus = {id: Counter(text.split()) for id, text in texts.items() if text.split()}
        rarity = {term: _rarity(sum(term in each for each in corpus.values()), len(corpus)) for term in query}
        scores = {
            id: sum(rarity[term] * _weight(field, terms[term], terms.total()) for term in query)
            for id, terms in corpus.items()
        }
        return {id: score for id, score in scores.items() if score > 0}

    def _unit(self, rows: Matrix | Vector) -> Matrix:
        if rows.ndim != 2 or rows.shape[1] != self.spec.dimension:
            raise ContentRefused(f"vectors of shape {rows.shape} do not fit {self.spec.dimension} dimensions")
        if not np.isfinite(rows).all():
            raise ContentRefused("a vector holds numbers that are not finite")
        rows = rows[rows.any(axis=1)]  # a cosine with zeros means nothing
        unit: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def _plain(spec: IndexSpec) -> object:
    """The specification as JSON has it, where lists and tuples are one."""
    return json.loads(json.dumps(asdict(spec)))


def _weight(field: WordField, count: int, length: int) -> float:
    """How much a term counts that occurs so often among so many."""
    norm = 1 - field.b + field.b * length / field.average_words
    return count * (field.k1 + 1) / (count + field.k1 * norm)


def _rarity(having: int, texts: int) -> float:
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


def _in_scope(scope: Scope, entry: Entry) -> bool:
    return not isinstance(scope, Project) or entry.project == scope


def _allows(where: Where, entry: Entry) -> bool:
    labels = all(set(each.values) & set(entry.labels.get(each.label, ())) for each in where.labels)
    numbers = all(
        name in entry.numbers
        and (bounds.at_least is None or entry.numbers[name] >= bounds.at_least)
        and (bounds.at_most is None or entry.numbers[name] <= bounds.at_most)
        for name, bounds in where.numbers.items()
    )
    ids = where.ids is None or entry.id in where.ids
    return labels and numbers and ids and _in_scope(where.scope, entry)


def _check_names(given: Collection[str], known: Collection[str]) -> None:
    if unknown := set(given) - set(known):
        raise ContentRefused(f"the index has no {sorted(unknown)}", hint=f"it has: {', '.join(known)}")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContentRefused(f"a text is no Unicode ({error.reason})") from error
