"""Bringing back what was deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backstory.actions.projection.now import project_now
from backstory.engine import Engine
from backstory.errors import NotFound
from backstory.model.memory import Memory
from backstory.model.project import Scope
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Restored:
    """The memory that is found again. `pending` says what search cannot see of it yet, and why."""

    memory: Memory
    pending: Sequence[str]


def restore_memory(engine: Engine, scope: Scope, id: str) -> Restored:
    """Let a deleted memory be found again, with its links; one that is not deleted stays as it is."""
    with engine.records.writing() as records:
        memory = records.memories.get(scope, id)
        if memory is None:
            raise NotFound(
                f"there is no memory {id} to restore, deleted or not",
                hint="'backstory memory deleted' lists those that can be restored",
            )
        if memory.deleted_at:
            memory = replace(memory, deleted_at=None)
            records.merges.bring_back(memory, passage_of(memory), datetime.now(UTC))
    return Restored(memory, project_now(engine, memory.id))
