"""Finding memories by meaning, by words and by what they are linked to, inside a project."""

from collections.abc import Sequence

from backstory.actions.memory.ranked import held, ranking_of
from backstory.actions.projection.asking import check
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.kinds.catalogue import KINDS
from backstory.model.project import Scope
from backstory.model.search import FoundMemories, MemoryHit, MemoryQuery
from backstory.ranking.fusion import Fused
from backstory.ranking.memories import meets


def search_memories(engine: Engine, scope: Scope, query: MemoryQuery) -> FoundMemories:
    """The memories that answer best, best first, none from outside the scope.

    Pages of one ranking have nothing in common. What it holds comes on one of them, unless it was deleted
    since, or changed so that the filters keep it out.
    """
    check(query)
    check_types(query.types)
    with engine.records.one_snapshot():
        ranking = ranking_of(engine, scope, query)
        shown = _shown(engine, scope, query, ranking.found)
    hits = [hit for _, hit in shown[: query.limit]]
    engine.records.note_use(hit.memory.id for hit in hits)
    if len(shown) == len(hits):
        return FoundMemories(hits, ranking.degraded)
    end, _ = shown[query.limit]
    return FoundMemories(hits, ranking.degraded, more=True, end=end, ranking=held(engine, ranking).name)


def check_types(names: Sequence[str]) -> None:
    """Raise `InputError` for a type of memories that there is not."""
    for name in names:
        if name not in KINDS:
            raise InputError(f"there is no memory type {name!r}", hint=f"use one of: {', '.join(KINDS)}")


def _shown(
    engine: Engine, scope: Scope, query: MemoryQuery, found: Sequence[Fused]
) -> list[tuple[int, MemoryHit]]:
    """The hits of a page and one more, each with its place. What they are now comes from the records."""
    shown: list[tuple[int, MemoryHit]] = []
    with engine.records.reading() as records:
        for start in range(query.offset, len(found), query.limit + 1):
            part = found[start : start + query.limit + 1]
            memories = records.memories.find(scope, [each.id for each in part])
            shown += [
                (place, MemoryHit(memory, each.score, each.parts))
                for place, each in enumerate(part, start)
                if (memory := memories.get(each.id)) and meets(memory, query)
            ]
            if len(shown) > query.limit:
                break
    return shown[: query.limit + 1]
