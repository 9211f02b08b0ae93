"""Remembering something."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from backstory.actions.projection.now import project_now
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, InputError
from backstory.model.memory import Memory, MemoryId, NewMemory, problems_of
from backstory.model.project import Project
from backstory.ranking.memories import passage_of

#: What the ids of memories that were added under a key are made from.
_KEYED: Final = uuid.UUID("5d1c2c52-6d3f-4b0e-9d0c-0f0f2e6f6f0a")


@dataclass(frozen=True, slots=True)
class Added:
    """The memory as it is kept now. `pending` says what search cannot see of it yet, and why."""

    memory: Memory
    pending: Sequence[str]


def add_memory(engine: Engine, project: Project, new: NewMemory, *, key: str | None = None) -> Added:
    """Keep a memory for good; when this returns, it survives a crash and the next search finds it.

    A caller that does not know whether it was answered may ask again with the same `key`: the same
    content in the same project is then kept once.
    """
    for problem in problems_of(new):
        raise InputError(problem.what, hint=problem.remedy)
    memory = _first_version(project, new, key)
    with engine.records.writing() as records:
        kept = records.memories.get(project, memory.id) if key is not None else None
        if kept is None:
            _check_ends(records, project, new)
            records.memories.add(memory, passage_of(memory), new.relationships)
    try:
        pending = project_now(engine, memory.id)
    except ContentRefused:
        with engine.records.writing() as records:
            records.memories.undo_add(memory)
        raise
    return Added(kept or memory, pending)


def _first_version(project: Project, new: NewMemory, key: str | None) -> Memory:
    now = datetime.now(UTC)
    return Memory(
        id=_id(project, new, key),
        project=project,
        type=new.type,
        content=new.content,
        metadata=new.metadata,
        importance=new.importance,
        version=1,
        created_at=now,
        updated_at=now,
    )


def _id(project: Project, new: NewMemory, key: str | None) -> MemoryId:
    if key is None:
        return MemoryId(str(uuid.uuid4()))
    return MemoryId(str(uuid.uuid5(_KEYED, json.dumps([key, project.name, new.type, new.content]))))


def _check_ends(records: Transaction, project: Project, new: NewMemory) -> None:
    ends = [wish.to for wish in new.relationships]
    known = records.memories.find(project, ends) if ends else {}
    for end in ends:
        if end not in known:
            raise InputError(
                f"the memory to be linked, {end}, is not in project {project}",
                hint="search for the memory first and use the id of a hit",
            )
