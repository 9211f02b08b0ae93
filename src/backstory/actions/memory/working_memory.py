"""Working memory: what an agent should have in mind for a task, put together anew each time.

Of each type the memories nearest to the task are offered, by meaning and by words, and of all types together
those that were called vital. `ranking.relevance` says how near one is, `ranking.importance` what it is worth
by now, and `ranking.working` chooses. Without a task, importance decides alone.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from backstory.actions.memory.search import check_types
from backstory.actions.projection.asking import Candidates, Legs, candidates, check
from backstory.actions.projection.layouts import TEXT
from backstory.engine import Engine
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.search import Between, MemoryQuery, Where
from backstory.ranking.importance import importance
from backstory.ranking.memories import conditions
from backstory.ranking.relevance import Evidence, relevances
from backstory.ranking.words import terms
from backstory.ranking.working import Offer, working_set

#: Asked of each retriever for each type: offers of eight types that are all taken fill 30,000 tokens.
_OF_A_TYPE: Final = 20
#: Asked of each retriever among the vital memories of all types.
_VITAL: Final = 40
#: From here on a memory is vital. 1 is what agents are told to give those.
_IS_VITAL: Final = 0.8
#: Taken of each list of what stands out when there is no task.
_FOREMOST: Final = 15
#: What is less relevant is not offered, unless it is vital or the best of its type. By 300 questions
#: of LoCoMo:
#:
#:   relevance from                    0    .4    .5    .7
#:   a right memory is offered        .85   .83   .81   .69
#:   memories offered                  33    29    21   7.4
#:   offered where nothing answers           3.5   1.1    .1
#:
#: Of LongMemEval's and CoSQA's questions .4 costs one in a hundred. A task says less clearly than a question
#: what it wants to know, so it is the lowest of these.
_NEAR: Final = 0.4

_WORDS: Final = {"words": TEXT}
_MEANING: Final = {"meaning": TEXT}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A memory that was chosen, or was not, and why. `fields` are those entries that its type knows."""

    memory: Memory
    fields: Mapping[str, object]
    why: str


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """Memories in the order in which they were chosen, and those left out, most useful first.

    `far` is how many more were found, too far from the task to be offered.
    """

    chosen: Sequence[Chosen]
    left_out: Sequence[Chosen]
    far: int = 0
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """Memories that may help, each with its relevance if there is a task, and what could not be asked."""

    memories: Sequence[tuple[Memory, float | None]]
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A memory and what speaks for it: how near it is to the task, if there is one, and its importance."""

    memory: Memory
    relevance: float | None
    importance: float

    @property
    def offer(self) -> Offer:
        """What would be shown of it, and what it is worth."""
        fields = [f"{name}: {_text(value)}" for name, value in _fields(self.memory).items()]
        relevance = self.importance if self.relevance is None else self.relevance
        return Offer(self.memory.id, "\n".join([self.memory.content, *fields]), relevance, self.importance)

    @property
    def is_near(self) -> bool:
        """Whether it is worth offering although its type has a better one."""
        return self.relevance is None or self.relevance >= _NEAR or self.memory.importance >= _IS_VITAL

    @property
    def standing(self) -> str | None:
        """Why it is chosen where there is no task."""
        if self.relevance is not None:
            return None
        memory = self.memory
        return (
            f"stands out as {memory.type}: importance {self.importance:.2f},"
            f" used {memory.access_count} times, changed {memory.updated_at:%Y-%m-%d}"
        )


def working_memory(
    engine: Engine,
    project: Project,
    task: str | None = None,
    *,
    types: Sequence[str] = (),
    max_tokens: int,
    now: datetime | None = None,
) -> WorkingMemory:
    """The most useful memories of each type that fit into so many tokens together, each with why.

    At one moment a store gives one answer. What is chosen for a task counts as used.
    """
    kinds = _known(types)
    moment = now or datetime.now(UTC)
    with engine.records.one_snapshot():
        found = _foremost(engine, project, kinds) if task is None else _nearest(engine, project, task, kinds)
    weighed = [_Weighed(memory, near, _importance(memory, moment)) for memory, near in found.memories]
    offered = _worth_offering(weighed)
    chosen = _chosen(offered, max_tokens)
    if task is not None:
        engine.records.note_use(each.memory.id for each in chosen.chosen)
    return replace(chosen, far=len(weighed) - len(offered), degraded=found.degraded)


def _known(types: Sequence[str]) -> Sequence[str]:
    check_types(types)
    return types or list(KINDS)


def _foremost(engine: Engine, project: Project, kinds: Sequence[str]) -> _Found:
    """What stands out of each type."""
    with engine.records.reading() as records:
        ids = [id for kind in kinds for id in records.foremost.ids(project, kind, _FOREMOST)]
        return _Found([(memory, None) for memory in records.memories.find(project, ids).values()])


def _nearest(engine: Engine, project: Project, task: str, kinds: Sequence[str]) -> _Found:
    """What is nearest to the task of each type, and of all that is vital."""
    query = MemoryQuery(task, kinds)
    check(query)
    vital = replace(conditions(project, query), numbers={"importance": Between(_IS_VITAL)})
    found = [
        *(_asked(engine, task, conditions(project, MemoryQuery(task, [kind])), _OF_A_TYPE) for kind in kinds),
        _asked(engine, task, vital, _VITAL),
    ]
    ids = {each.id for own in found for scored in own.lists.values() for each in scored}
    with engine.records.reading() as records:
        memories = list(records.memories.find(project, ids).values())
        words = {id: passage.terms for id, passage in records.passages.find(ids).items()}
    degraded = dict.fromkeys(text for own in found for text in own.degraded)
    meanings = _meanings(engine, project, task, sorted(ids))
    evidence = {id: Evidence(meanings.get(id), own, own) for id, own in words.items()}
    return _Found(_judged(memories, task, evidence), list(degraded))


def _asked(engine: Engine, task: str, where: Where, limit: int) -> Candidates:
    return candidates(engine, Legs(Index.MEMORIES, _WORDS, _MEANING, limit), task, where)


def _meanings(engine: Engine, project: Project, task: str, ids: Sequence[str]) -> Mapping[str, float]:
    """How near each is in meaning: those that were found by words too, whom a list of the nearest lacks."""
    legs = Legs(Index.MEMORIES, {}, _MEANING, len(ids))
    found = candidates(engine, legs, task, Where(project, ids=ids)) if ids else Candidates()
    return {each.id: each.score for each in found.lists.get("meaning", ())}


def _judged(
    memories: Sequence[Memory], task: str, evidence: Mapping[str, Evidence]
) -> list[tuple[Memory, float | None]]:
    """Each with its relevance. How rare a word is, is counted among the memories of a type."""
    by_type: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_type[memory.type].append(memory)
    asked = terms(task)
    judged: list[tuple[Memory, float | None]] = []
    for own in by_type.values():
        judged += zip(own, relevances(asked, [evidence[memory.id] for memory in own]), strict=True)
    return judged


def _importance(memory: Memory, now: datetime) -> float:
    return importance(memory.importance, memory.access_count, memory.last_used_at, memory.created_at, now)


def _worth_offering(weighed: Sequence[_Weighed]) -> list[_Weighed]:
    """Those that are near enough, and the most useful of each type."""
    best: dict[str, _Weighed] = {}
    for each in sorted(weighed, key=lambda each: (-each.offer.usefulness, each.memory.id)):
        best.setdefault(each.memory.type, each)
    return [each for each in weighed if each.is_near or each is best[each.memory.type]]


def _chosen(offered: Sequence[_Weighed], max_tokens: int) -> WorkingMemory:
    offers: dict[str, list[Offer]] = defaultdict(list)
    for each in offered:
        offers[each.memory.type].append(each.offer)
    known = {each.memory.id: each for each in offered}
    found = working_set(offers, max_tokens)
    return WorkingMemory(
        [_told(known[each.offer.id], known[each.offer.id].standing or each.why) for each in found.chosen],
        [_told(known[each.offer.id], each.why) for each in found.left_out],
    )


def _told(weighed: _Weighed, why: str) -> Chosen:
    return Chosen(weighed.memory, _fields(weighed.memory), why)


def _fields(memory: Memory) -> Mapping[str, object]:
    """What its type knows of its metadata: the rest says where it came from, which helps with no task."""
    names = [field.name for field in KINDS[memory.type].fields]
    return {name: memory.metadata[name] for name in names if name in memory.metadata}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
