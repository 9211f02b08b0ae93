"""Reading one memory."""

from backstory.engine import Engine
from backstory.model.memory import Memory
from backstory.model.project import Scope


def get_memory(engine: Engine, scope: Scope, id: str) -> Memory:
    """The memory with this id, whole; raises `NotFound` when the scope has none."""
    with engine.records.reading() as records:
        memory = records.memories.live(scope, id)
    engine.records.note_use([memory.id])
    return memory
