"""Which memories are near enough to be compared with each other, and how near.

By meaning where the index can be asked so, else by words, which say less: then the answer says so. What near
memories are to one another is left to `analysis`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from backstory.actions.projection.asking import Legs, candidates, index_of_meanings
from backstory.actions.projection.layouts import TEXT
from backstory.engine import Engine, Work
from backstory.errors import StoreError
from backstory.model.memory import Memory, MemoryId
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.search import AnyOf, Scored, Where
from backstory.ports import Meaning
from backstory.ranking.chunks import CHUNK_CHARS, chunks

#: Neighbours of each memory. Of a group that is larger, the rest is found once those are merged.
_NEIGHBOURS: Final = 5

#: Pairs that are given, the nearest first. To compare two texts takes 1 ms and more.
_MOST_PAIRS: Final = 20_000

#: Of the labelled pairs in `benchmarks/conflicts.jsonl` every duplicate has a cosine of .57 and more, every
#: overlap .60; unrelated pairs have .44 at the median. 19 of 20 contradictions, which keep memories from
#: being merged, have .48 and more.
_LEAST: Final = 0.5

#: What is taken for the cosine of memories that were found by words: enough to look for contradictions, and
#: too little for texts to be the same that do not have the same words.
_BY_WORDS: Final = 0.5

#: Pieces of a long memory that are asked for; two that say the same begin alike, or one is in the other.
_PIECES: Final = 4

#: Memories in one question to the index: 0.5 ms each, one by one 3.1 (10,000 memories).
_AT_ONCE: Final = 64

#: How much of a text is looked for by words. All words of a long one are in every other memory.
_LOOKED_FOR_CHARS: Final = 400

#: From how many on, memories are not named one by one to the index.
_MOST_NAMED: Final = 500

_WORDS: Final = Legs(Index.MEMORIES, {"words": TEXT}, {}, _NEIGHBOURS + 1)


@dataclass(frozen=True, slots=True)
class Nearness:
    """The cosines of near pairs, the nearest first, and in words what could not be asked."""

    cosines: Mapping[frozenset[MemoryId], float]
    degraded: Sequence[str] = ()


def nearness(engine: Engine, project: Project, memories: Sequence[Memory], work: Work) -> Nearness:
    """How near memories are to their nearest neighbours of the same type, as far as it is worth a look.

    Half of the work is then done: the steps are those of looking at each memory twice.
    """
    try:
        return Nearness(_cosines(_by_meaning(engine, project, memories, work), memories))
    except StoreError as error:
        found = _cosines(_by_words(engine, project, memories, work), memories)
        return Nearness(found, [f"compared by words alone: {error}"])


_Found = Iterator[tuple[Memory, Sequence[Scored]]]


def _cosines(found: _Found, memories: Sequence[Memory]) -> dict[frozenset[MemoryId], float]:
    known = {each.id for each in memories}
    cosines: dict[frozenset[MemoryId], float] = {}
    for memory, near in found:
        for other in near:
            pair = frozenset({memory.id, MemoryId(other.id)})
            if len(pair) == 2 and pair <= known and other.score >= _LEAST:
                cosines[pair] = max(other.score, cosines.get(pair, other.score))
    nearest = sorted(cosines.items(), key=lambda each: (-each[1], sorted(each[0])))
    return dict(nearest[:_MOST_PAIRS])


def _by_meaning(engine: Engine, project: Project, memories: Sequence[Memory], work: Work) -> _Found:
    index = index_of_meanings(engine, Index.MEMORIES)
    for done, page in _pages(memories):
        work.step(done, 2 * len(memories) + 1, "looking for memories that are alike")
        pieces = [chunks(each.content[: _PIECES * CHUNK_CHARS])[:_PIECES] for each in page]
        vectors = engine.embedder.embed_documents([piece for each in pieces for piece in each])
        legs = [Meaning(TEXT, vector, _NEIGHBOURS + 1) for vector in vectors]
        answers = iter(engine.vectors.query(index, legs, _among(project, page[0].type, memories)))
        for memory, own in zip(page, pieces, strict=True):
            yield memory, [each for answer in islice(answers, len(own)) for each in answer]


def _by_words(engine: Engine, project: Project, memories: Sequence[Memory], work: Work) -> _Found:
    for done, memory in enumerate(memories):
        work.step(done, 2 * len(memories) + 1, "looking for memories that are alike, by words")
        where = _among(project, memory.type, memories)
        found = candidates(engine, _WORDS, memory.content[:_LOOKED_FOR_CHARS], where)
        yield memory, [Scored(each.id, _BY_WORDS) for near in found.lists.values() for each in near]


def _pages(memories: Sequence[Memory]) -> Iterator[tuple[int, Sequence[Memory]]]:
    """Memories of one type, a page at a time, and how many came before."""
    by_type: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_type[memory.type].append(memory)
    done = 0
    for same in by_type.values():
        for start in range(0, len(same), _AT_ONCE):
            yield done, same[start : start + _AT_ONCE]
            done += len(same[start : start + _AT_ONCE])


def _among(project: Project, type_: str, memories: Sequence[Memory]) -> Where:
    ids = [each.id for each in memories] if len(memories) <= _MOST_NAMED else None
    return Where(project, [AnyOf("type", [type_])], ids=ids)
