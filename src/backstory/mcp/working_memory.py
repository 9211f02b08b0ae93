"""What is told of a working memory: structured, as text, and never longer than was asked for."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from backstory.actions.memory.working_memory import Chosen, WorkingMemory
from backstory.mcp.answers import Answer
from backstory.mcp.budget import size, written
from backstory.mcp.wording import counts, every, fact, lines, number
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.kind import Tier
from backstory.model.project import Project

#: What stands around the memories: the counts, and those left out that are named.
AROUND: Final = 300

#: Memories that are named although they were left out: who wants more of them asks for more tokens.
_NAMED: Final = 3


class MemoryInMind(Answer):
    """One memory. `fields` are those of its metadata that its type knows."""

    id: str
    why: str
    fields: Mapping[str, Any] | None = None
    content: str

    @classmethod
    def of(cls, chosen: Chosen) -> "MemoryInMind":
        """The memory, whole."""
        memory = chosen.memory
        return cls(id=memory.id, why=chosen.why, fields=chosen.fields or None, content=memory.content)


class TypeInMind(Answer):
    """The memories of one type, those chosen first first."""

    tier: str
    type: str
    memories: Sequence[MemoryInMind]


class LeftOut(Answer):
    """A memory that is not shown, and why."""

    id: str
    type: str
    why: str

    @classmethod
    def of(cls, left: Chosen) -> "LeftOut":
        """What is told of it."""
        return cls(id=left.memory.id, type=left.memory.type, why=left.why)


class WorkingMemoryTold(Answer):
    """Memories for a task, by tier and type, and what was left out of it.

    `left_out` counts, by type, what found no room or says what another one says; `next` are the most useful
    of these. `far` counts what was found and is too far from the task.
    """

    project: str
    tokens: int
    max_tokens: int
    types: Sequence[TypeInMind]
    left_out: Mapping[str, int] | None = None
    next: Sequence[LeftOut] | None = None
    far: int | None = None
    degraded: Sequence[str] | None = None


def told(memory: WorkingMemory, project: Project, max_tokens: int) -> WorkingMemoryTold:
    """The working memory in so many tokens: what was chosen last gives way until all of it fits."""
    sizes = [size(MemoryInMind.of(each)) for each in memory.chosen]
    while sum(sizes) > max_tokens:
        sizes.pop()
    memory = _first(len(sizes), memory, max_tokens)
    answer = _told(memory, project, max_tokens)
    while memory.chosen and answer.tokens > max_tokens:
        memory = _first(len(memory.chosen) - 1, memory, max_tokens)
        answer = _told(memory, project, max_tokens)
    return answer


def shown(answer: WorkingMemoryTold) -> str:
    """The memories below their tiers and types, after what was left out."""
    count = sum(len(each.memories) for each in answer.types)
    memories = number(count, "memory", "memories")
    return lines(
        f"{memories} to have in mind, {answer.tokens} of {answer.max_tokens} tokens.",
        f"project: {answer.project}",
        *([f"left out: {counts(answer.left_out)}"] if answer.left_out else []),
        *(f"left out: {each.type} {each.id}: {each.why}" for each in answer.next or ()),
        *fact("too far from the task", answer.far),
        *every("degraded", answer.degraded),
        *(_group(each) for each in answer.types),
    )


def _first(count: int, memory: WorkingMemory, max_tokens: int) -> WorkingMemory:
    """The working memory with so many of those that were chosen first; the others are left out."""
    others = [replace(each, why=f"no room in {max_tokens:,} tokens") for each in memory.chosen[count:]]
    return replace(memory, chosen=memory.chosen[:count], left_out=[*others, *memory.left_out])


def _told(memory: WorkingMemory, project: Project, max_tokens: int) -> WorkingMemoryTold:
    answer = WorkingMemoryTold(
        project=project.name,
        tokens=max_tokens,  # has as many digits as may come in its place
        max_tokens=max_tokens,
        types=_by_type(memory.chosen),
        left_out=Counter(each.memory.type for each in memory.left_out) or None,
        next=[LeftOut.of(each) for each in memory.left_out[:_NAMED]] or None,
        far=memory.far or None,
        degraded=memory.degraded or None,
    )
    return answer.model_copy(update={"tokens": size(answer)})


def _by_type(chosen: Sequence[Chosen]) -> list[TypeInMind]:
    """The tiers and types in the same order always, whatever was chosen of them."""
    own: dict[str, list[MemoryInMind]] = defaultdict(list)
    for each in chosen:
        own[each.memory.type].append(MemoryInMind.of(each))
    kinds = sorted(KINDS.values(), key=lambda kind: list(Tier).index(kind.tier))
    return [
        TypeInMind(tier=kind.tier, type=kind.name, memories=own[kind.name])
        for kind in kinds
        if kind.name in own
    ]


def _group(group: TypeInMind) -> str:
    return lines("", f"# {group.tier}: {group.type}", *map(_memory, group.memories))


def _memory(memory: MemoryInMind) -> str:
    return lines(
        "",
        memory.id,
        f"why: {memory.why}",
        *(f"{name}: {_text(value)}" for name, value in (memory.fields or {}).items()),
        memory.content,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else written(value)
