"""Forgetting something, so that it can still be brought back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backstory.actions.projection.now import project_now
from backstory.engine import Engine
from backstory.model.memory import Memory
from backstory.model.project import Project


@dataclass(frozen=True, slots=True)
class Deleted:
    """The memory that is not found any more. `pending` says where it still has to be removed."""

    memory: Memory
    pending: Sequence[str]


def delete_memory(engine: Engine, project: Project, id: str) -> Deleted:
    """Let nobody find a memory any more; its text, links and history are kept.

    Asked again, it answers as it did the first time. One that was merged into another cannot be deleted: a
    merge that is undone would bring it back.
    """
    now = datetime.now(UTC)
    with engine.records.writing() as records:
        known = records.memories.get(project, id)
        if known and known.deleted_at and not records.folds.into([id]):
            return Deleted(known, ())
        memory = records.memories.live(project, id)
        records.memories.delete(memory, now)
    return Deleted(replace(memory, deleted_at=now), project_now(engine, id))
