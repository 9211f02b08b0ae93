"""Links: what points to what. The graph's edges are made from them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, or_, select

from backstory.model.graph import Edge, NodeRef, RelationshipType
from backstory.model.memory import MEMORY_TYPES, Memory, MemoryId, Relationship
from backstory.model.project import Project, Scope
from backstory.records import schema

_LINKS = schema.links
_START = schema.memories.alias("start")
_END = schema.memories.alias("end_")


class Links:
    """Typed, directed links between things of one project."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, memory: Memory, relationships: Sequence[Relationship], at: datetime) -> None:
        """Link a memory to others; the same link twice is one link."""
        for wish in dict.fromkeys(relationships):
            self._connection.execute(
                insert(_LINKS).values(
                    project=memory.project.name,
                    from_id=memory.id,
                    type=wish.type.value,
                    to_id=wish.to,
                    certainty=1.0,
                    owner=memory.id,
                    created_at=at,
                    metadata={},
                )
            )

    def erase(self, id: MemoryId) -> None:
        """Remove every link that a memory made."""
        self._connection.execute(delete(_LINKS).where(_LINKS.c.owner == id))

    def edges_at(self, ids: Iterable[str]) -> list[Edge]:
        """The edges that begin or end at these memories, where both ends are live."""
        wanted = list(ids)
        return list(self._edges(or_(_LINKS.c.from_id.in_(wanted), _LINKS.c.to_id.in_(wanted))))

    def edges_in(self, project: Project) -> Iterator[Edge]:
        """Every edge of a project, where both ends are live."""
        return self._edges(_LINKS.c.project == project.name)

    def count(self, scope: Scope) -> int:
        """How many links there are."""
        counted = select(func.count()).select_from(_LINKS)
        if isinstance(scope, Project):
            counted = counted.where(_LINKS.c.project == scope.name)
        return self._connection.scalar(counted) or 0

    def _edges(self, condition: Any) -> Iterator[Edge]:
        for row in self._connection.execute(_with_live_ends().where(condition)):
            yield Edge(
                NodeRef(MEMORY_TYPES[row.start_type].node, row.from_id),
                RelationshipType(row.type),
                NodeRef(MEMORY_TYPES[row.end_type].node, row.to_id),
                row.created_at,
                row.metadata,
            )


def _with_live_ends() -> Select[Any]:
    return (
        select(_LINKS, _START.c.type.label("start_type"), _END.c.type.label("end_type"))
        .join(_START, (_START.c.id == _LINKS.c.from_id) & _START.c.deleted_at.is_(None))
        .join(_END, (_END.c.id == _LINKS.c.to_id) & _END.c.deleted_at.is_(None))
        .order_by(_LINKS.c.number)
    )
