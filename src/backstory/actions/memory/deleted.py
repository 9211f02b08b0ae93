"""What was deleted and can still be brought back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backstory.engine import Engine
from backstory.model.memory import DELETED_KEPT, Memory
from backstory.model.project import Scope


@dataclass(frozen=True, slots=True)
class Restorable:
    """A deleted memory, and until when at least it is kept."""

    memory: Memory
    until: datetime


def deleted_memories(engine: Engine, scope: Scope, limit: int) -> Sequence[Restorable]:
    """The memories that were deleted last, newest deletion first."""
    with engine.records.reading() as records:
        gone = records.memories.deleted(scope, limit)
    return [Restorable(each, each.deleted_at + DELETED_KEPT) for each in gone if each.deleted_at]
