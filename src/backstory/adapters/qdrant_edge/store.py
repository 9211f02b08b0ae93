"""The `VectorStore` port on Qdrant Edge. It opens indexes when they are first used and keeps them open."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, Self, assert_never

from qdrant_edge import Filter, IdfParams, QueryRequest, ScoredPoint, ScrollRequest

from backstory.adapters.qdrant_edge import points, shards
from backstory.adapters.qdrant_edge.faults import translated
from backstory.adapters.qdrant_edge.shards import Shard
from backstory.errors import InputError, StoreCorrupt, StoreError, StoreUnavailable
from backstory.model.search import Scored, Where
from backstory.ports import Entry, Every, IndexSpec, IndexState, Leg, Meaning, Words

#: Entries in one call of the engine, which holds the interpreter lock for about 9 ms with so many; twice as
#: many are no faster.
BATCH: Final = 256


class QdrantEdgeVectorStore:
    """Indexes in the folders of one folder. Safe in many threads, not in two processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, Shard] = {}
        self._opening = threading.RLock()
        self._closed = False

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Self]:
        """A store on a folder, which is made if need be; closed at the end of the block."""
        store = cls(folder)
        with translated("folder"):
            folder.mkdir(parents=True, exist_ok=True)
            shards.clear_remains(folder)
        try:
            yield store
        finally:
            store.close()

    def ensure(self, index: IndexSpec) -> None:
        """Make the index unless it is there. One with other fields under the same name is an error."""
        home = self._home(index.name)
        with self._opening, translated(index.name):
            if not home.exists():
                self._shards[index.name] = Shard.create(home, index)
            elif not self._shard(index.name).is_made_for(index):
                raise StoreError(
                    f"the index {index.name} was made with other fields", hint="give the new one another name"
                )

    def upsert(self, index: str, entries: Sequence[Entry]) -> None:
        """Store the entries, replacing those with the same ids; all of them are checked first."""
        shard = self._shard(index)
        points.check(shard.spec, entries)
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            vectors = sum(max(1, sum(map(len, entry.vectors.values()))) for entry in batch)
            with translated(index):
                shard.upsert([points.point(shard.spec, entry, shard.weighing) for entry in batch], vectors)

    def remove(self, index: str, where: Where) -> None:
        """Remove what the conditions let through; that may be nothing."""
        shard = self._shard(index)
        with translated(index):
            shard.remove(points.conditions(where) or Filter(must=[]))

    def query(self, index: str, legs: Sequence[Leg], where: Where) -> list[list[Scored]]:
        """An answer to each leg, best first, equals in the order of their ids.

        Which of several equals make it into a list that is too short for all is the engine's choice.
        """
        shard = self._shard(index)
        with translated(index):
            allowed = points.conditions(where)
            rarity = points.corpus(where.scope, shard.entries)  # counting takes 0.15 ms: once for all legs
            asked = [_request(shard, leg, rarity, allowed) for leg in legs]
            found = iter(shard.query([request for request in asked if isinstance(request, QueryRequest)]))
            return [_answer(shard, request, found) for request in asked]

    def describe(self) -> Mapping[str, IndexState]:
        """Every index there is, the damaged ones too."""
        with translated("folder"):
            return {home.name: self._state(home.name) for home in shards.found_in(self._folder)}

    def settle(self, index: str) -> bool:
        """Do one bounded step of upkeep; False when there was none to do."""
        shard = self._shard(index)
        with translated(index):
            return shard.settle()

    def drop(self, index: str) -> None:
        """Delete the index with everything in it, damaged or not; an unknown one is no error."""
        home = self._home(index)
        with self._opening, translated(index):
            if shard := self._shards.pop(index, None):
                shard.close()
            shards.delete(home)

    def close(self) -> None:
        """Write everything to the disk and let the folder go; the store cannot be used any more."""
        with self._opening, translated("folder"), ExitStack() as closing:
            self._closed = True
            for shard in self._shards.values():
                closing.callback(shard.close)
            self._shards.clear()

    def _home(self, index: str) -> Path:
        if self._closed:
            raise StoreUnavailable("the vector store is closed", hint="open it again")
        if not shards.NAME.fullmatch(index):
            raise InputError(f"{index!r} cannot name an index", hint="use letters, digits and dashes")
        return self._folder / index

    def _shard(self, index: str) -> Shard:
        return self._shards.get(index) or self._opened(index)

    def _opened(self, index: str) -> Shard:
        home = self._home(index)
        with self._opening, translated(index, opening=True):
            if not home.exists():
                raise StoreError(f"there is no index {index}", hint="make it with 'backstory rebuild'")
            if index not in self._shards:
                self._shards[index] = Shard.load(home)
            return self._shards[index]

    def _state(self, index: str) -> IndexState:
        try:
            with translated(index):
                shard = self._shard(index)
                return IndexState(shard.entries, shard.unsettled)
        except StoreCorrupt:
            return IndexState(0, damaged=True)


def _request(
    shard: Shard, leg: Leg, rarity: IdfParams, allowed: Filter | None
) -> QueryRequest | ScrollRequest | None:
    match leg:
        case Meaning():
            return points.meaning(shard.spec, leg, allowed)
        case Words():
            return points.words(leg, shard.weighing, rarity, allowed)
        case Every():
            return points.page(leg, allowed)
        case _:
            assert_never(leg)


def _answer(
    shard: Shard, request: QueryRequest | ScrollRequest | None, found: Iterator[list[ScoredPoint]]
) -> list[Scored]:
    match request:
        case QueryRequest():
            scored = [Scored(str(point.id), point.score) for point in next(found)]
            return sorted(scored, key=lambda each: (-each.score, each.id))
        case ScrollRequest():
            return [Scored(id, 0.0) for id in shard.ids(request)]
        case None:
            return []
        case _:
            assert_never(request)
