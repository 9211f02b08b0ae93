"""Making one of memories that say the same, or parts of it: the plan, and on request the deed.

What is one, and what the one says, is judged by `analysis`; how a merge is made and undone is in `merging`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice
from typing import Final

from backstory.actions.memory.merging import Done, LeftOut, Planned, carry_out
from backstory.actions.memory.nearness import nearness
from backstory.actions.projection.asking import Legs, candidates
from backstory.actions.projection.layouts import TEXT
from backstory.analysis.conflicts import Candidate, Said, conflicts
from backstory.analysis.consolidation import Merge, Similarities, plan
from backstory.engine import Engine, Work
from backstory.errors import InputError, NotFound
from backstory.model.memory import Memory, MemoryId
from backstory.model.merge import DEFAULT_MERGES, MAX_MERGES
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.search import AnyOf, Where

#: Memories looked at in one go, those that were changed last: they take half a minute, comparing them most.
MOST_LOOKED_AT: Final = 10_000

#: Memories that a question stands for, from each retriever.
_ABOUT_IT: Final = 100

_LEGS: Final = Legs(Index.MEMORIES, {"words": TEXT}, {"meaning": TEXT}, _ABOUT_IT)


@dataclass(frozen=True, slots=True)
class Wish:
    """What may be made one: those named, those about a question, or all; of some types or of all."""

    ids: Sequence[str] = ()
    query: str | None = None
    types: Sequence[str] = ()
    limit: int = DEFAULT_MERGES


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What could be merged, and what was. `more` says whether merges are possible beside those planned.

    `left_behind` memories were not looked at, because there are too many.
    """

    looked_at: int
    left_behind: int
    planned: Sequence[Planned]
    more: bool = False
    done: Sequence[Done] = ()
    left_out: Sequence[LeftOut] = ()
    degraded: Sequence[str] = field(default_factory=list)


def consolidate(
    engine: Engine, project: Project, wish: Wish, work: Work, *, apply: bool = False
) -> Consolidation:
    """The merges that can be made among a project's memories; made one after another if they are to be.

    A merge is written whole or not at all. When the work is stopped, those that were made stay.
    """
    if not 1 <= wish.limit <= MAX_MERGES:
        raise InputError(
            f"limit {wish.limit} is not between 1 and {MAX_MERGES}", hint=f"use {DEFAULT_MERGES}"
        )
    wanted = _wanted(engine, project, wish)
    memories = nlargest(MOST_LOOKED_AT, wanted, key=lambda each: (each.updated_at, each.id))
    near = nearness(engine, project, memories, work)
    related = _related(memories, near.cosines, work)
    merges = list(islice(_merges(memories, related, work), wish.limit + 1))
    versions = {each.id: each.version for each in memories}
    planned = [_planned(project, merge, versions) for merge in merges[: wish.limit]]
    outcomes = _carried_out(engine, planned, 2 * len(memories) + 1, work) if apply else []
    return Consolidation(
        looked_at=len(memories),
        left_behind=len(wanted) - len(memories),
        planned=planned,
        more=len(merges) > len(planned),
        done=[each for each in outcomes if isinstance(each, Done)],
        left_out=[each for each in outcomes if isinstance(each, LeftOut)],
        degraded=near.degraded,
    )


def _wanted(engine: Engine, project: Project, wish: Wish) -> list[Memory]:
    named = wish.ids or (_about(engine, project, wish) if wish.query else None)
    with engine.records.reading() as records:
        if named is None:
            found = list(records.memories.live_in(project))
        else:
            found = list(records.memories.find(project, named).values())
    if missing := set(wish.ids) - {each.id for each in found}:
        raise NotFound(
            f"not in this project, or deleted: {', '.join(sorted(missing))}",
            hint="search for the memories and use the ids of hits",
        )
    return [each for each in found if not wish.types or each.type in wish.types]


def _about(engine: Engine, project: Project, wish: Wish) -> list[str]:
    """The ids of what is found by a question."""
    labels = [AnyOf("type", wish.types)] if wish.types else []
    found = candidates(engine, _LEGS, wish.query or "", Where(project, labels))
    return list(dict.fromkeys(each.id for near in found.lists.values() for each in near))


def _related(memories: Sequence[Memory], near: Similarities, work: Work) -> Similarities:
    """Those near pairs of which one says something about the other.

    A plan looks at every pair from both sides, and again when memories were joined. Most near pairs have
    nothing to do with each other, and one look is enough to find that out: from the side of the newer one,
    which may replace the other.
    """
    known = {each.id: each for each in memories}
    others: dict[MemoryId, list[Candidate]] = defaultdict(list)
    for pair, cosine in near.items():
        old, new = sorted((known[id] for id in pair), key=lambda each: (each.created_at, each.id))
        others[new.id].append(Candidate(old.id, old.type, old.content, old.metadata, cosine))
    related: dict[frozenset[MemoryId], float] = {}
    for done, memory in enumerate(memories, len(memories)):
        work.step(done, 2 * len(memories) + 1, "comparing what they say")
        said = Said(memory.type, memory.content, memory.metadata)
        for found in conflicts(said, others[memory.id]) if memory.id in others else ():
            pair = frozenset({memory.id, found.id})
            related[pair] = near[pair]
    return related


def _merges(memories: Sequence[Memory], related: Similarities, work: Work) -> Iterator[Merge]:
    """What can be one, the nearest first. Each group is planned when it is asked for: some take a second."""
    known = {each.id: each for each in memories}
    for pairs in _groups(related):
        work.step(2 * len(memories), 2 * len(memories) + 1, "planning merges")
        yield from plan([known[id] for id in sorted(frozenset().union(*pairs))], pairs)


def _groups(related: Similarities) -> list[dict[frozenset[MemoryId], float]]:
    """The pairs in groups of which none has a memory of another, that with the nearest pair first."""
    nearest_first = sorted(related.items(), key=lambda each: (-each[1], sorted(each[0])))
    of: dict[MemoryId, set[MemoryId]] = {}
    for pair, _ in nearest_first:
        joined = set(pair).union(*(of[id] for id in pair if id in of))
        of |= dict.fromkeys(joined, joined)
    groups: dict[int, dict[frozenset[MemoryId], float]] = defaultdict(dict)
    for pair, cosine in nearest_first:
        groups[id(of[min(pair)])][pair] = cosine
    return list(groups.values())


def _planned(project: Project, merge: Merge, versions: Mapping[MemoryId, int]) -> Planned:
    return Planned(project, merge, {id: versions[id] for id in (merge.keep, *merge.fold)})


def _carried_out(engine: Engine, planned: Sequence[Planned], done: int, work: Work) -> list[Done | LeftOut]:
    """The merges made one after another, after so many steps of work that went before."""
    outcomes = []
    for number, each in enumerate(planned, done):
        work.step(number, done + len(planned), "merging")
        outcomes.append(carry_out(engine, each))
    return outcomes
