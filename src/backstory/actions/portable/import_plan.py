"""What an import would do, found out before anything is written.

The file is read once to its end, and every line held against the store. Writing is left to
`import_memories`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from backstory.actions.portable.files import Line, in_parts, lines, told_memories
from backstory.actions.portable.json_parts import BadJson, parsed
from backstory.actions.portable.lines import renamed, whole_of
from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.checking import problems_of
from backstory.model.memory import Memory, id_made_from
from backstory.model.portable import OnConflict, WholeMemory
from backstory.model.project import Project

#: Problems and warnings that are told; those beyond are counted.
MOST_TOLD: Final = 10


@dataclass(frozen=True, slots=True)
class Wish:
    """How a file is read in. Without a project each memory goes into the one that it comes from."""

    on_conflict: OnConflict = OnConflict.SKIP
    project: Project | None = None


@dataclass(slots=True)
class Findings:
    """What there is to say of lines: the first of it, and how much it is."""

    told: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, number: int, what: str) -> None:
        """Say something of a line."""
        self.count += 1
        if len(self.told) < MOST_TOLD:
            self.told.append(f"line {number}: {what}")


@dataclass(slots=True)
class Plan:
    """What was found in a file.

    `places` has the project of each of its memories once they are read in, by the id that it has then: 14 MB
    for 100,000. `copies` are the ids of those that are kept beside what is there; `names` has them by their
    old ids, with those of their merges.
    """

    wish: Wish
    memories: int = 0
    places: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    copies: set[str] = field(default_factory=set)
    warnings: Findings = field(default_factory=Findings)
    problems: Findings = field(default_factory=Findings)

    def whole(self, line: Line) -> WholeMemory:
        """The memory of a line, with the id and in the project that it is to have."""
        return _whole(line, self.wish.project, self.names)


def planned(engine: Engine, file: BinaryIO, wish: Wish, work: Work) -> Plan:
    """What reading an export in would do; raises `InputError` if it cannot be done as it is wished."""
    told = told_memories(file)
    plan = Plan(wish)
    for part in in_parts(lines(file)):
        new = list(_readable(plan, part))
        with engine.records.reading() as records:
            kept = records.portable.kept(whole.memory.id for _, whole in new)
        for number, whole in new:
            _note(plan, number, whole, kept.get(whole.memory.id))
        work.step(plan.memories, told and 2 * told, "checking memories")
    _refuse(plan, told, file.name)
    return plan


def says_the_same(one: Memory, other: Memory) -> bool:
    """Whether memories differ in nothing but their history, and in how often and when they were used."""
    return _said(one) == _said(other)


def _said(memory: Memory) -> str:
    # As JSON, because 1, 1.0 and True are equal in Python.
    parts = (memory.project.name, memory.type, memory.content, memory.metadata, memory.importance)
    return json.dumps([*parts, memory.deleted_at is not None], sort_keys=True)


def _whole(line: Line, project: Project | None, names: Mapping[str, str]) -> WholeMemory:
    value = parsed(line.text)
    if names:
        value = renamed(value, names)
    if project:
        value["project"] = project.name
    return whole_of(value)


def _readable(plan: Plan, part: Iterable[Line]) -> Iterator[tuple[int, WholeMemory]]:
    """The memories of lines; what is wrong with the other lines is noted."""
    for line in part:
        plan.memories += 1
        try:
            yield line.number, _whole(line, plan.wish.project, {})
        except BadJson as problem:
            plan.problems.add(line.number, str(problem))


def _note(plan: Plan, number: int, whole: WholeMemory, kept: Memory | None) -> None:
    memory = whole.memory
    if memory.id in plan.places or memory.id in plan.names:
        plan.problems.add(number, f"memory {memory.id} is in the file twice")
        return
    for lacking in problems_of(KINDS[memory.type], memory.metadata):
        plan.warnings.add(number, f"{memory.type} {memory.id}: {lacking.field} {lacking.rule}")
    if kept is None or says_the_same(kept, memory):
        plan.places[memory.id] = memory.project.name
    else:
        _settle(plan, number, whole, kept)


def _settle(plan: Plan, number: int, whole: WholeMemory, kept: Memory) -> None:
    """Decide what becomes of a memory that is there and says something else."""
    memory = whole.memory
    plan.places[memory.id] = kept.project.name
    match plan.wish.on_conflict:
        case OnConflict.FAIL:
            plan.problems.add(number, f"memory {memory.id} is kept already, and says something else")
        case OnConflict.OVERWRITE if kept.project != memory.project:
            plan.problems.add(number, f"memory {memory.id} is in the project {kept.project}")
        case OnConflict.OVERWRITE if kept.type != memory.type:
            plan.problems.add(number, f"memory {memory.id} is a {kept.type}, and stays one")
        case OnConflict.KEEP_BOTH:
            copy = _made_from(_said(memory), memory.id)
            plan.names |= {memory.id: copy, **{each.id: _made_from(copy, each.id) for each in whole.merges}}
            plan.copies.add(copy)
            plan.places[copy] = memory.project.name


def _made_from(*texts: str) -> str:
    """An id that is always the same for the same texts, so that who reads a file in again adds nothing."""
    return id_made_from("\n".join(texts))


def _refuse(plan: Plan, told: int | None, name: str) -> None:
    if count := plan.problems.count:
        more = [f"and {count - MOST_TOLD:,} more"] if count > MOST_TOLD else []
        raise InputError(
            f"nothing was imported from {name}: {'; '.join([*plan.problems.told, *more])}",
            hint="correct the file; for memories that say something else, choose what on_conflict should do",
        )
    if told not in (None, plan.memories):
        raise InputError(
            f"nothing was imported: {name} has {plan.memories:,} memories, and says that it has {told:,}",
            hint="it was cut off or changed: use another copy, or correct its first line",
        )
