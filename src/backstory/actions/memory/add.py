"""Remembering something."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backstory.actions.projection.now import project_now
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, InputError
from backstory.model.memory import Memory, MemoryId, NewMemory, problems_of
from backstory.model.project import Project
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Added:
    """The memory as it is kept now. `pending` says what search cannot see of it yet, and why."""

    memory: Memory
    pending: Sequence[str]


def add_memory(engine: Engine, project: Project, new: NewMemory) -> Added:
    """Keep a memory for good; when this returns, it survives a crash and the next search finds it."""
    for problem in problems_of(new):
        raise InputError(problem.what, hint=problem.remedy)
    memory = _first_version(project, new)
    with engine.records.writing() as records:
        _check_ends(records, project, new)
        records.memories.add(memory, passage_of(memory), new.relationships)
    try:
        pending = project_now(engine, memory.id)
    except ContentRefused:
        with engine.records.writing() as records:
            records.memories.undo_add(memory)
        raise
    return Added(memory, pending)


def _first_version(project: Project, new: NewMemory) -> Memory:
    now = datetime.now(UTC)
    return Memory(
        id=MemoryId(str(uuid.uuid4())),
        project=project,
        type=new.type,
        content=new.content,
        metadata=new.metadata,
        importance=new.importance,
        version=1,
        created_at=now,
        updated_at=now,
    )


def _check_ends(records: Transaction, project: Project, new: NewMemory) -> None:
    ends = [wish.to for wish in new.relationships]
    known = records.memories.find(project, ends) if ends else {}
    for end in ends:
        if end not in known:
            raise InputError(
                f"the memory to be linked, {end}, is not in project {project}",
                hint="search for the memory first and use the id of a hit",
            )
