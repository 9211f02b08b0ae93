"""Which memories could be one, and what that one would say: a plan, for somebody to agree to.

Pure: similarities come from outside, and `analysis.conflicts` says what two memories are to one another,
`analysis.union` what they say together. To carry a plan out, with links and history, is left to the actions.

A memory that contradicts another one is in no merge. Which of the two holds is not for a plan to decide, and
to make one of them part of a third would hide that they disagree.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

from backstory.analysis.conflicts import Candidate, Conflict, ConflictKind, Said, conflicts
from backstory.analysis.identity import Clash
from backstory.analysis.sentences import LOOKED_AT
from backstory.analysis.union import as_json, united_metadata, united_text
from backstory.model.memory import MAX_CONTENT_CHARS, MAX_METADATA_BYTES, Memory, MemoryId

#: The cosines of pairs of memories. Pairs that are not there are not compared.
Similarities = Mapping[frozenset[MemoryId], float]

# Memories that say parts of the same are made one up to this length together. A longer one says many things,
# and is found by none of them as well as a short one.
_MOST_TOGETHER: Final = 2_000

# Blanks that are put between sentences make a text half as long again at most.
_MOST_CHARS: Final = MAX_CONTENT_CHARS // 2

# A memory has one of them, and others know it by that: two requirements or sessions with the same text are
# still two, and so is what two documents say.
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "requirement": ("requirement_id", "document_key"),
    "design": ("adr_id", "document_key"),
    "session": ("session_id", "start_time", "end_time"),
}

# Of two memories that are both like a third, where nobody gave a cosine: near enough to be compared.
_ASSUMED: Final = 1.0


@dataclass(frozen=True, slots=True)
class Merge:
    """Memories to fold into one that is kept, and what this one then says.

    `why` has a reason for each that is folded, called "it"; "the other" is the one it is folded into.
    Where fields clash the newest value is taken, and `clashes` has the others: each `old` beside the `new`.
    """

    keep: MemoryId
    fold: Sequence[MemoryId]
    content: str
    metadata: Mapping[str, object]
    importance: float
    why: str
    clashes: Sequence[Clash] = ()


@dataclass(frozen=True, slots=True)
class _Group:
    """Memories that will be one, the one that is kept first, and the memory that they will be."""

    one: Memory
    parts: tuple[Memory, ...]
    reasons: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    """The groups by the ids that are kept, and what each is to those near it, in both directions."""

    groups: dict[MemoryId, _Group]
    near: dict[frozenset[MemoryId], float]
    verdicts: dict[tuple[MemoryId, MemoryId], Conflict]


def plan(memories: Sequence[Memory], similarities: Similarities) -> list[Merge]:
    """The merges of memories that say the same or parts of it, in the order of the memories that are kept.

    What is merged is of one type and project. Once a plan is carried out, and a memory that was kept is as
    near to others as the nearest of its parts was, there is nothing to plan.
    """
    groups = {each.id: _Group(each, (each,)) for each in memories if each.deleted_at is None}
    state = _State(groups, _comparable(groups, similarities), {})
    _judge(state, groups)
    while merged := _merged_once(state):
        _judge(state, merged)
    several = (group for group in state.groups.values() if group.reasons)
    return [_merge(group) for group in several if not _disagree(group.parts, similarities)]


def _comparable(
    groups: Mapping[MemoryId, _Group], similarities: Similarities
) -> dict[frozenset[MemoryId], float]:
    def are(pair: frozenset[MemoryId]) -> bool:
        return len(pair) == 2 and pair <= groups.keys() and len({_place(groups[id].one) for id in pair}) == 1

    return {pair: similarity for pair, similarity in similarities.items() if are(pair)}


def _place(memory: Memory) -> tuple[str, str]:
    return memory.project.name, memory.type


def _judge(state: _State, changed: Iterable[MemoryId]) -> None:
    """Find out what the changed are to those near them, and these to them."""
    anew = set(changed)
    asked: dict[MemoryId, list[Candidate]] = defaultdict(list)
    for pair, similarity in state.near.items():
        for new, old in permutations(pair) if pair & anew else ():
            asked[new].append(_candidate(state.groups[old].one, similarity))
            state.verdicts.pop((new, old), None)
    for new, others in asked.items():
        found = conflicts(_said(state.groups[new].one), others)
        state.verdicts |= {(new, conflict.id): conflict for conflict in found}


def _merged_once(state: _State) -> list[MemoryId]:
    """Make groups of those that are alike, and tell which have grown. None is judged anew in between."""
    barred = {id for pair, each in state.verdicts.items() if _contradicts(each) for id in pair}
    alike = defaultdict(list)
    for new, old in state.verdicts:
        if (old, new) in state.verdicts and not barred & {new, old}:
            alike[new].append(old)
    into: dict[MemoryId, MemoryId] = {}
    for keep in sorted(alike, key=lambda id: _fullest_first(state.groups[id].one)):
        if keep not in into:
            star = _star(state, keep, [id for id in alike[keep] if id not in into])
            into |= dict.fromkeys(star, keep) if len(star) > 1 else {}
    grown = list(dict.fromkeys(into.values()))
    for keep in grown:
        state.groups[keep] = _grown(state, [id for id in into if into[id] == keep])
    _forget_folded(state, into)
    return grown


def _star(state: _State, keep: MemoryId, others: Iterable[MemoryId]) -> list[MemoryId]:
    """The one that is kept, and those of the others that can be folded into it together."""
    star = [keep]
    for id in sorted(others, key=lambda id: _fullest_first(state.groups[id].one)):
        ones = [state.groups[each].one for each in (*star, id)]
        kinds = {state.verdicts[pair].kind for pair in ((keep, id), (id, keep))}
        if _can_be_one(ones, kinds) and not _disagree(ones, state.near):
            star.append(id)
    return star


def _can_be_one(ones: Sequence[Memory], kinds: set[ConflictKind]) -> bool:
    """Whether the last of these memories can be folded into the first, with those in between."""
    keep, *_, last = ones
    names = _NAMES.get(last.type, ())
    if any(len({as_json(one.metadata[name]) for one in ones if name in one.metadata}) > 1 for name in names):
        return False
    length = sum(len(one.content) for one in ones)
    size = sum(len(as_json(one.metadata).encode()) for one in ones)
    if len(last.content) > LOOKED_AT or length > _MOST_CHARS or size > MAX_METADATA_BYTES:
        return False
    adds = ConflictKind.OVERLAP in kinds and length > _MOST_TOGETHER
    return not adds or united_text([keep, last]) == keep.content


def _grown(state: _State, star: Sequence[MemoryId]) -> _Group:
    """The groups of a star as one."""
    keep, *folded = (state.groups[id] for id in star)
    told = tuple(f"{id}: {state.verdicts[id, star[0]].why}" for id in star[1:])
    parts = (*keep.parts, *(part for group in folded for part in group.parts))
    reasons = (*keep.reasons, *told, *(reason for group in folded for reason in group.reasons))
    one = replace(
        keep.one,
        content=united_text(parts),
        metadata=united_metadata(parts)[0],
        importance=max(part.importance for part in parts),
        updated_at=max(part.updated_at for part in parts),
    )
    return _Group(one, parts, reasons)


def _forget_folded(state: _State, into: Mapping[MemoryId, MemoryId]) -> None:
    """Let those that are kept stand for those that are folded into them."""
    near: dict[frozenset[MemoryId], float] = {}
    for pair, similarity in state.near.items():
        kept = frozenset(into.get(id, id) for id in pair)
        if len(kept) == 2:
            near[kept] = max(similarity, near.get(kept, similarity))
    state.near = near
    gone = {id for id in into if into[id] != id}
    state.groups = {id: group for id, group in state.groups.items() if id not in gone}
    state.verdicts = {pair: each for pair, each in state.verdicts.items() if gone.isdisjoint(pair)}


def _merge(group: _Group) -> Merge:
    clashes = united_metadata(group.parts)[1]
    fold = [part.id for part in group.parts[1:]]
    one = group.one
    return Merge(one.id, fold, one.content, one.metadata, one.importance, "; ".join(group.reasons), clashes)


def _fullest_first(memory: Memory) -> tuple[int, str]:
    """The longest has most to keep, and least is added to it."""
    return -len(memory.content), memory.id


def _disagree(memories: Sequence[Memory], compared: Similarities) -> bool:
    """Whether two of them contradict one another that were not compared."""
    pairs = (
        pair for pair in permutations(memories, 2) if frozenset({pair[0].id, pair[1].id}) not in compared
    )
    return any(
        _contradicts(conflict)
        for new, old in pairs
        for conflict in conflicts(_said(new), [_candidate(old, _ASSUMED)])
    )


def _contradicts(conflict: Conflict) -> bool:
    return conflict.kind is ConflictKind.CONTRADICTION


def _said(memory: Memory) -> Said:
    return Said(memory.type, memory.content, memory.metadata)


def _candidate(memory: Memory, similarity: float) -> Candidate:
    return Candidate(memory.id, memory.type, memory.content, memory.metadata, similarity)
