"""Remembering many things at once, all or none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backstory.actions.memory.adding import Added, Draft, first_version, keep_all
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.memory import MemoryId, NewMemory, Problem, Relationship, problems_of
from backstory.model.project import Project

#: They are written in one step, in which nobody else can write: 200 take 0.15 s of CPU with their embedding.
#: Looking for conflicts takes ten times as long, but holds nobody up.
MOST_AT_ONCE: Final = 200

#: What a relationship to another memory of the batch begins with, before the other's `ref`.
REF: Final = "#"

_MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Item:
    """A memory of a batch. Others of the batch name it by its `ref`, in relationships to "#ref"."""

    new: NewMemory
    ref: str | None = None


def add_memories(
    engine: Engine, project: Project, items: Sequence[Item], *, key: str | None = None
) -> list[Added]:
    """Keep memories, or none of them if one cannot be kept; in the order in which they were given.

    What is wrong with any of them is told at once, each with its place in the batch, counted from 0.
    Asked again with the same `key`, the same batch is kept once.
    """
    _check(items)
    drafts = [
        Draft(first_version(project, item.new, None if key is None else f"{key} {place}"))
        for place, item in enumerate(items)
    ]
    named = {
        item.ref: draft.memory.id for item, draft in zip(items, drafts, strict=True) if item.ref is not None
    }
    linked = [
        replace(draft, relationships=[_resolved(wish, named) for wish in item.new.relationships])
        for item, draft in zip(items, drafts, strict=True)
    ]
    return keep_all(engine, project, linked)


def _check(items: Sequence[Item]) -> None:
    if not 1 <= len(items) <= MOST_AT_ONCE:
        raise InputError(
            f"there are {len(items)} memories to add",
            hint=f"give 1 to {MOST_AT_ONCE}; more of them in several calls",
        )
    problems = list(_problems(items))
    if not problems:
        return
    told = [f"memories[{place}]: {problem.what}" for place, problem in problems[:_MOST_TOLD]]
    if len(problems) > _MOST_TOLD:
        told.append(f"and {len(problems) - _MOST_TOLD} more")
    remedies = dict.fromkeys(problem.remedy for _, problem in problems[:_MOST_TOLD])
    raise InputError("nothing was stored: " + "; ".join(told), hint="; ".join(remedies))


def _problems(items: Sequence[Item]) -> Iterator[tuple[int, Problem]]:
    refs = [item.ref for item in items if item.ref is not None]
    for place, item in enumerate(items):
        yield from ((place, problem) for problem in problems_of(item.new))
        if item.ref is not None and refs.count(item.ref) > 1:
            yield place, Problem(f"the ref {item.ref!r} is given twice", "give each memory a ref of its own")
        for wish in item.new.relationships:
            if wish.to.startswith(REF) and wish.to.removeprefix(REF) not in refs:
                yield (
                    place,
                    Problem(
                        f"no memory of the batch has the ref {wish.to.removeprefix(REF)!r}",
                        'give the other memory this "ref", or use the id of one that is kept',
                    ),
                )


def _resolved(wish: Relationship, named: Mapping[str, MemoryId]) -> Relationship:
    return replace(wish, to=named[wish.to.removeprefix(REF)]) if wish.to.startswith(REF) else wish
