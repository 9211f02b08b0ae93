"""New memories come to be kept: all of them or none, found by the next search, compared with the others.

Whether they are acceptable is checked by the verbs, before.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backstory.actions.memory.conflicting import ConflictFound, conflicts_of
from backstory.actions.memory.ends import check_ends
from backstory.actions.projection.now import project_now
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused
from backstory.model.memory import Memory, MemoryId, NewMemory, Relationship, id_made_from
from backstory.model.project import Project
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Added:
    """The memory as it is kept now, and what it conflicts with.

    `pending` says what search cannot see of it yet, `notes` how conflicts could not be looked for, and why.
    """

    memory: Memory
    pending: Sequence[str] = ()
    conflicts: Sequence[ConflictFound] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is ready to be kept, with the links it brings."""

    memory: Memory
    relationships: Sequence[Relationship] = ()


def first_version(project: Project, new: NewMemory, key: str | None) -> Memory:
    """A new memory with an id of its own. Under the same key, the same content has the same id."""
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


def keep_all(engine: Engine, project: Project, drafts: Sequence[Draft]) -> list[Added]:
    """Keep memories; those that are there already under their ids are left as they are."""
    with engine.records.writing() as records:
        there = _there(records, project, drafts)
        new = [draft for draft in drafts if draft.memory.id not in there]
        _check_ends(records, project, new)
        if new:
            records.memories.add_all(
                [(draft.memory, passage_of(draft.memory), draft.relationships) for draft in new]
            )
    ids = [draft.memory.id for draft in drafts]
    try:
        pending = project_now(engine, *ids)
    except ContentRefused:
        _take_back(engine, [draft.memory for draft in new])
        raise
    return [_added(engine, there.get(draft.memory.id, draft.memory), pending) for draft in drafts]


def _there(records: Transaction, project: Project, drafts: Sequence[Draft]) -> dict[str, Memory]:
    found = (records.memories.get(project, draft.memory.id) for draft in drafts)
    return {memory.id: memory for memory in found if memory}


def _check_ends(records: Transaction, project: Project, drafts: Sequence[Draft]) -> None:
    """The other ends must be there, or come along."""
    own = {draft.memory.id for draft in drafts}
    check_ends(
        records, project, [wish for each in drafts for wish in each.relationships if wish.to not in own]
    )


def _take_back(engine: Engine, memories: Sequence[Memory]) -> None:
    with engine.records.writing() as records:
        for memory in memories:
            records.memories.undo_add(memory)
    project_now(engine, *(memory.id for memory in memories))


def _added(engine: Engine, memory: Memory, pending: Sequence[str]) -> Added:
    seen = conflicts_of(engine, memory)
    return Added(memory, pending, seen.found, seen.degraded)


def _id(project: Project, new: NewMemory, key: str | None) -> MemoryId:
    if key is None:
        return MemoryId(str(uuid.uuid4()))
    return id_made_from(json.dumps([key, project.name, new.type, new.content]))
