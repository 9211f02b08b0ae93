"""The ranking that the pages of a search are parts of.

It is made for the first page and held for the others, so that nothing which is written in between moves what
was found. It is held in memory alone, since a search must not write. What is shown of it is left to `search`.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from backstory.actions.projection.asking import Legs, candidates
from backstory.actions.projection.layouts import TEXT
from backstory.engine import Engine, Transaction
from backstory.model.passage import Index
from backstory.model.project import Scope
from backstory.model.search import MemoryCues, MemoryQuery
from backstory.ranking.fusion import Fused
from backstory.ranking.memories import CANDIDATES, GIVING, conditions, cues_of, matches, meets, rank

_LEGS: Final = Legs(Index.MEMORIES, {"words": TEXT}, {"meaning": TEXT}, CANDIDATES)

#: What a hit takes in memory: its id, its score and the names and values of four parts.
_HIT_BYTES: Final = 450

_GONE: Final = (
    "the order of the first page is not held any more: ranked anew, so a hit may come twice or be missed"
)


@dataclass(frozen=True, slots=True)
class Ranking:
    """All that was found, best first, and in words what could not be asked. It has a name if it is held."""

    found: Sequence[Fused]
    degraded: Sequence[str] = ()
    name: str = ""


def ranking_of(engine: Engine, scope: Scope, query: MemoryQuery) -> Ranking:
    """The ranking that a query names; a new one if it names none, or one that is not held any more."""
    if not query.ranking:
        return _new(engine, scope, query)
    if isinstance(known := engine.rankings.get(query.ranking), Ranking):
        return known
    until = min((moment for moment in (query.until, query.asked_at) if moment), default=None)
    again = _new(engine, scope, replace(query, until=until))
    return replace(again, degraded=[*again.degraded, _GONE])


def held(engine: Engine, ranking: Ranking) -> Ranking:
    """The ranking, under a name by which it is held for as long as there is room."""
    if ranking.name:
        return ranking
    named = replace(ranking, name=uuid.uuid4().hex)
    engine.rankings.hold(named.name, named, len(named.found) * _HIT_BYTES)
    return named


def _new(engine: Engine, scope: Scope, query: MemoryQuery) -> Ranking:
    """What is known of the found comes from the records: what is deleted there is not found."""
    asked = candidates(engine, _LEGS, query.text, conditions(scope, query))
    matching = matches(asked.lists)
    with engine.records.reading() as records:
        cues = dict(records.cues.of(each.id for each in matching))
        matching = [each for each in matching if each.id in cues]
        links = records.cues.near([each.id for each in matching[:GIVING]])
        cues |= _neighbours(records, scope, query, {other for _, other in links} - cues.keys())
    return Ranking(rank(matching, cues, links, datetime.now(UTC)), asked.degraded)


def _neighbours(
    records: Transaction, scope: Scope, query: MemoryQuery, ids: Iterable[str]
) -> Mapping[str, MemoryCues]:
    """What is known of those that no retriever found, if they pass the filters."""
    memories = records.memories.find(scope, ids)
    return {id: cues_of(memory) for id, memory in memories.items() if meets(memory, query)}
