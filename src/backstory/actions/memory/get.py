"""Reading one memory, with what it is linked to and whom its fields name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backstory.engine import Engine, Transaction
from backstory.model.graph import Direction, Edge, RelationshipType
from backstory.model.memory import Memory, MemoryId
from backstory.model.project import Scope


@dataclass(frozen=True, slots=True)
class Related:
    """A memory at the other end of a link. `direction` is as seen from the memory that was asked for.

    `field` is the one, of this memory or of the other, that asks for the link; empty if none does.
    """

    type: RelationshipType
    direction: Direction
    memory: Memory
    field: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name in a field, and the memory that is meant; None while there is none."""

    field: str
    name: str
    memory: MemoryId | None


@dataclass(frozen=True, slots=True)
class Gotten:
    """A memory, its links, and whom its fields name."""

    memory: Memory
    relationships: Sequence[Related]
    references: Sequence[Reference] = ()


def get_memory(engine: Engine, scope: Scope, id: str) -> Gotten:
    """The memory with this id, whole; raises `NotFound` when the scope has none, or it was deleted."""
    with engine.records.reading() as records:
        memory = records.memories.live(scope, id)
        gotten = Gotten(memory, _related(records, memory), list(_references(records, memory)))
    engine.records.note_use([memory.id])
    return gotten


def _related(records: Transaction, memory: Memory) -> list[Related]:
    edges = records.links.fields_at(memory.id)
    others = records.memories.find(memory.project, {_other(edge, memory.id) for edge, _ in edges})
    return [
        Related(edge.type, _direction(edge, memory.id), others[_other(edge, memory.id)], field)
        for edge, field in edges
    ]


def _references(records: Transaction, memory: Memory) -> Iterator[Reference]:
    named = records.references.named_in(memory.id)
    known = records.references.known(memory.project, {name for names in named.values() for name in names})
    live = records.memories.find(memory.project, {id for ids in known.values() for id in ids})
    for field, names in named.items():
        for name in names:
            meant = [live[id].id for id in known.get(name, ()) if id in live]
            yield from (Reference(field, name, id) for id in meant or (None,))


def _direction(edge: Edge, id: MemoryId) -> Direction:
    return Direction.OUT if edge.start.id == id else Direction.IN


def _other(edge: Edge, id: MemoryId) -> str:
    return edge.end.id if edge.start.id == id else edge.start.id
