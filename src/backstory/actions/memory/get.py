"""Reading one memory, with what it is linked to."""

from collections.abc import Sequence
from dataclasses import dataclass

from backstory.engine import Engine, Transaction
from backstory.model.graph import Direction, Edge, RelationshipType
from backstory.model.memory import Memory, MemoryId
from backstory.model.project import Scope


@dataclass(frozen=True, slots=True)
class Related:
    """A memory at the other end of a link. `direction` is as seen from the memory that was asked for."""

    type: RelationshipType
    direction: Direction
    memory: Memory


@dataclass(frozen=True, slots=True)
class Gotten:
    """A memory and its links."""

    memory: Memory
    relationships: Sequence[Related]


def get_memory(engine: Engine, scope: Scope, id: str) -> Gotten:
    """The memory with this id, whole; raises `NotFound` when the scope has none."""
    with engine.records.reading() as records:
        memory = records.memories.live(scope, id)
        related = _related(records, memory)
    engine.records.note_use([memory.id])
    return Gotten(memory, related)


def _related(records: Transaction, memory: Memory) -> list[Related]:
    edges = records.links.edges_at([memory.id])
    others = records.memories.find(memory.project, {_other(edge, memory.id) for edge in edges})
    return [
        Related(edge.type, _direction(edge, memory.id), others[_other(edge, memory.id)]) for edge in edges
    ]


def _direction(edge: Edge, id: MemoryId) -> Direction:
    return Direction.OUT if edge.start.id == id else Direction.IN


def _other(edge: Edge, id: MemoryId) -> str:
    return edge.end.id if edge.start.id == id else edge.start.id
