"""Finding memories by meaning and by words, inside a project."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from backstory.actions.projection.vectors import FIELD, SPACE, fingerprint
from backstory.engine import Engine
from backstory.errors import InputError, StoreError
from backstory.model.memory import MEMORY_TYPES
from backstory.model.passage import Index
from backstory.model.project import Scope
from backstory.model.search import MAX_LIMIT, FoundMemories, MemoryHit, MemoryQuery, Scored, Where
from backstory.model.upkeep import Generation, Target
from backstory.ports import Leg, Meaning, Words
from backstory.ranking.fusion import Fused, fuse
from backstory.ranking.memories import CANDIDATES, WEIGHTS, conditions
from backstory.ranking.words import terms


@dataclass(slots=True)
class _Candidates:
    """The lists that the retrievers gave, and what could not be asked."""

    lists: dict[str, Sequence[Scored]]
    degraded: list[str] = field(default_factory=list)


def search_memories(engine: Engine, scope: Scope, query: MemoryQuery) -> FoundMemories:
    """The memories that answer best, best first, none from outside the scope."""
    _check(query)
    where = conditions(scope, query)
    candidates = _candidates(engine, query.text, where)
    end = query.offset + query.limit
    best = _hits(engine, scope, fuse(candidates.lists, WEIGHTS), end + 1)
    hits = best[query.offset : end]
    engine.records.note_use(hit.memory.id for hit in hits)
    return FoundMemories(hits, candidates.degraded, more=len(best) > end)


def _check(query: MemoryQuery) -> None:
    if not query.text.strip():
        raise InputError("the query is empty", hint="say in a few words what you are looking for")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise InputError(f"limit {query.limit} is not between 1 and {MAX_LIMIT}", hint="use 10")
    if query.offset < 0:
        raise InputError(f"offset {query.offset} is below 0", hint="begin at 0")
    for name in query.types:
        if name not in MEMORY_TYPES:
            raise InputError(
                f"there is no memory type {name!r}", hint=f"use one of: {', '.join(MEMORY_TYPES)}"
            )
    for moment in (query.since, query.until):
        if moment is not None and moment.tzinfo is None:
            raise InputError(f"the time {moment} has no zone", hint="give it one, for example +00:00")


def _candidates(engine: Engine, text: str, where: Where) -> _Candidates:
    words = terms(text)
    with engine.records.reading() as records:
        live = records.generations.live(Index.MEMORIES.value)
        waiting = [mark.subject for mark in records.marks.pending(Target.VECTORS, CANDIDATES)]
    try:
        found = _ask_engine(engine, live, text, words, where)
    except StoreError as error:
        return _Candidates({"words": _ask_records(engine, words, where)}, [f"found by words alone: {error}"])
    if waiting:
        found.lists["new words"] = _ask_records(engine, words, replace(where, ids=waiting))
    return found


def _ask_engine(engine: Engine, live: Generation | None, text: str, words: str, where: Where) -> _Candidates:
    if live is None:
        raise StoreError("the index is being built")
    legs: dict[str, Leg] = {"words": Words(FIELD, words, CANDIDATES)}
    degraded = []
    if live.fingerprint == fingerprint(engine, Index.MEMORIES):
        legs["meaning"] = Meaning(SPACE, engine.embedder.embed_query(text), CANDIDATES)
    else:
        degraded.append(
            "found by words alone: the embedder was changed, and meanings are being computed anew"
        )
    answers = engine.vectors.query(live.name, list(legs.values()), where)
    return _Candidates(dict(zip(legs, answers, strict=True)), degraded)


def _ask_records(engine: Engine, words: str, where: Where) -> list[Scored]:
    with engine.records.reading() as records:
        return records.keywords.search(Index.MEMORIES, words, where, CANDIDATES)


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
