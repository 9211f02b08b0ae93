"""Finding memories by meaning and by words, inside a project."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from backstory.actions.projection.asking import Legs, candidates, check
from backstory.actions.projection.layouts import TEXT
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.kinds.catalogue import KINDS
from backstory.model.passage import Index
from backstory.model.project import Scope
from backstory.model.search import FoundMemories, MemoryHit, MemoryQuery
from backstory.ranking.fusion import Fused, fuse
from backstory.ranking.memories import CANDIDATES, WEIGHTS, conditions

_LEGS: Final = Legs(Index.MEMORIES, {"words": TEXT}, {"meaning": TEXT}, CANDIDATES)


def search_memories(engine: Engine, scope: Scope, query: MemoryQuery) -> FoundMemories:
    """The memories that answer best, best first, none from outside the scope."""
    check(query)
    _check_types(query)
    found = candidates(engine, _LEGS, query.text, conditions(scope, query))
    end = query.offset + query.limit
    best = _hits(engine, scope, fuse(found.lists, WEIGHTS), end + 1)
    hits = best[query.offset : end]
    engine.records.note_use(hit.memory.id for hit in hits)
    return FoundMemories(hits, found.degraded, more=len(best) > end)


def _check_types(query: MemoryQuery) -> None:
    for name in query.types:
        if name not in KINDS:
            raise InputError(f"there is no memory type {name!r}", hint=f"use one of: {', '.join(KINDS)}")


def _hits(engine: Engine, scope: Scope, fused: Iterator[Fused], limit: int) -> list[MemoryHit]:
    """The texts come from the records: what they do not know, or know as deleted, is no hit."""
    hits: list[MemoryHit] = []
    with engine.records.reading() as records:
        while len(hits) < limit and (page := list(islice(fused, limit))):
            memories = records.memories.find(scope, [each.id for each in page])
            hits += [
                MemoryHit(memories[each.id], each.score, each.parts) for each in page if each.id in memories
            ]
    return hits[:limit]
