"""What a memory conflicts with, among those that its project keeps.

Here the index and the records are asked which memories are near enough to be compared; whether two of them
conflict is judged by `analysis.conflicts`, and what to do about it is left to the agent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from backstory.actions.projection.asking import Candidates, Legs, candidates
from backstory.actions.projection.layouts import TEXT
from backstory.analysis.conflicts import Candidate, ConflictKind, Said, conflicts
from backstory.analysis.identity import identity
from backstory.engine import Engine
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.links import names_of
from backstory.model.memory import Memory
from backstory.model.passage import Index
from backstory.model.search import AnyOf, Where
from backstory.ranking.chunks import chunks
from backstory.ranking.labels import metadata_label

#: Memories that are compared: so many of the nearest by meaning, itself among them, and those that are about
#: the same thing by their fields. Among 4,600 texts, .984 of what the pairs in `benchmarks/conflicts.jsonl`
#: conflict with is among the nearest 3, .993 among 4 to 6, .998 among 8 to 20; words find none beside them.
_NEAREST: Final = 7

#: Below this cosine nothing is near by meaning, as with texts of which the embedder knows no word; then words
#: are asked.
_NOT_NEAR: Final = 0.4

#: Pieces of a long content that others are looked for by: what a memory is about stands at its beginning.
_MOST_PIECES: Final = 3

_BY_MEANING: Final = Legs(Index.MEMORIES, {}, {"meaning": TEXT}, _NEAREST, by_document=True)
_BY_WORDS: Final = Legs(Index.MEMORIES, {"words": TEXT}, {}, _NEAREST)


@dataclass(frozen=True, slots=True)
class ConflictFound:
    """A memory that another one conflicts with, why, and how sure that is, from 0 to 1."""

    kind: ConflictKind
    memory: Memory
    why: str
    certainty: float


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Everything that was found. `degraded` says in words what could not be looked at, if anything."""

    found: Sequence[ConflictFound]
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Near:
    """The memories to compare with, each with the cosine of its meaning, as far as that is known."""

    cosines: Mapping[str, float]
    degraded: Sequence[str]


def conflicts_of(engine: Engine, memory: Memory) -> Conflicts:
    """What a memory, kept or not, conflicts with in its project; never with itself."""
    with engine.records.one_snapshot():
        near = _near(engine, memory)
        with engine.records.reading() as records:
            others = records.memories.find(memory.project, near.cosines)
    found = conflicts(
        Said(memory.type, memory.content, memory.metadata),
        [
            Candidate(each.id, each.type, each.content, each.metadata, near.cosines[each.id])
            for each in others.values()
        ],
    )
    return Conflicts(
        [ConflictFound(each.kind, others[each.id], each.why, each.certainty) for each in found],
        [f"conflicts are {reason}" for reason in near.degraded],
    )


def _near(engine: Engine, memory: Memory) -> _Near:
    pieces = chunks(memory.content)[:_MOST_PIECES]
    found = [candidates(engine, _BY_MEANING, piece, where) for piece, where in _questions(memory, pieces)]
    cosines = _cosines(found)
    if max(cosines.values(), default=0.0) < _NOT_NEAR:
        found.append(candidates(engine, _BY_WORDS, pieces[0], Where(memory.project)))
    degraded = list(dict.fromkeys(reason for one in found for reason in one.degraded))
    ids = _namesakes(engine, memory).union(each.id for one in found for each in chain(*one.lists.values()))
    if not degraded and (others := ids - cosines.keys()):
        among = Where(memory.project, ids=list(others))
        cosines |= _cosines([candidates(engine, _BY_MEANING, pieces[0], among)])
    return _Near({id: cosines.get(id, 0.0) for id in ids if id != memory.id}, degraded)


def _questions(memory: Memory, pieces: Sequence[str]) -> Iterator[tuple[str, Where]]:
    """What to look for, and where: in the whole project, and among the memories about the same thing."""
    for piece in pieces:
        yield piece, Where(memory.project)
    if same := identity(memory.type, memory.metadata):
        labels = [AnyOf("metadata", [metadata_label(key, value)]) for key, value in same.items()]
        yield pieces[0], Where(memory.project, [AnyOf("type", [memory.type]), *labels])


def _cosines(found: Iterable[Candidates]) -> dict[str, float]:
    """How near each memory is by meaning, at its nearest."""
    cosines: dict[str, float] = {}
    for each in (each for one in found for each in one.lists.get("meaning", ())):
        cosines[each.id] = max(each.score, cosines.get(each.id, 0.0))
    return cosines


def _namesakes(engine: Engine, memory: Memory) -> set[str]:
    names = names_of(KINDS[memory.type], memory.metadata)
    if not names:
        return set()
    with engine.records.reading() as records:
        return {id for ids in records.names.having(memory.project, names).values() for id in ids}
