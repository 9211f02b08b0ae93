"""Reading one memory."""

from backstory.engine import Engine
from backstory.errors import NotFound
from backstory.model.memory import Memory
from backstory.model.project import Scope


def get_memory(engine: Engine, scope: Scope, id: str) -> Memory:
    """The memory with this id, whole."""
    with engine.records.reading() as records:
        memory = records.memories.get(scope, id)
    if memory is None or memory.deleted_at is not None:
        raise NotFound(
            f"there is no memory {id} in this project", hint="search for it, and use the id of a hit"
        )
    engine.records.note_use([memory.id])
    return memory
