"""Finding what was said about several topics at once, in one ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from backstory.actions.transcripts.finding import RankedTurn, RankedTurns, hits_of, ranked_turns
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.project import Scope
from backstory.model.search import FoundTurns, TurnQuery
from backstory.ranking.fusion import Fused

#: Each topic is a search of its own.
MAX_TOPICS: Final = 10


def search_topics(engine: Engine, scope: Scope, topics: Sequence[str], query: TurnQuery) -> FoundTurns:
    """The turns about the topics, best first; one that several topics find gains from each.

    The filters and the page are those of the query; its text is not looked at.
    """
    wanted = list(dict.fromkeys(topics))
    if not 1 <= len(wanted) <= MAX_TOPICS:
        raise InputError(f"{len(wanted)} topics were given", hint=f"name between 1 and {MAX_TOPICS}")
    found = [ranked_turns(engine, scope, replace(query, text=topic)) for topic in wanted]
    merged = _merged(found)
    end = query.offset + query.limit
    hits = hits_of(engine, scope, merged[query.offset : end], " ".join(wanted))
    degraded = list(dict.fromkeys(why for each in found for why in each.degraded))
    return FoundTurns(hits, degraded, more=len(merged) > end)


def _merged(found: Sequence[RankedTurns]) -> list[RankedTurn]:
    """One ranking of all, each scaled to its own best, so that no topic outweighs another."""
    merged: dict[tuple[str, int], RankedTurn] = {}
    for ranked in found:
        best = max((each.best.score for each in ranked.turns[:1]), default=0.0)
        for each in ranked.turns if best > 0 else ():
            key = each.conversation, each.turn
            merged[key] = _joined(merged.get(key), each, best)
    return sorted(merged.values(), key=lambda each: (-each.best.score, each.best.id))


def _joined(before: RankedTurn | None, found: RankedTurn, best: float) -> RankedTurn:
    """A turn with what one more topic adds; it is shown by the message that the strongest of them found."""
    parts = {name: value / best for name, value in found.best.parts.items()}
    own = Fused(found.best.id, found.best.score / best, parts)
    if before is None:
        return replace(found, best=own)
    shown = max(before.best, own, key=lambda each: each.score)
    both = _sum(before.best.parts, own.parts)
    return replace(found, best=Fused(shown.id, before.best.score + own.score, both))


def _sum(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}
