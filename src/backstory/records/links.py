"""Links: what points to what. The graph's edges are made from them."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, Select, bindparam, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert  # SQLite understands what it says

from backstory.model.graph import Edge, NodeRef, RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.project import Project, Scope
from backstory.records import schema

_LINKS: Final = schema.links
_START: Final = schema.memories.alias("start")
_END: Final = schema.memories.alias("end_")

_ONCE: Final = (_LINKS.c.from_id, _LINKS.c.type, _LINKS.c.to_id)
# One that was asked for by itself stays when no field asks for it any more.
_INSERT: Final = insert(_LINKS).on_conflict_do_update(index_elements=_ONCE, set_={"field": ""})
_INSERT_NAMED: Final = insert(_LINKS).on_conflict_do_nothing(index_elements=_ONCE)
_FORGET_NAMED: Final = delete(_LINKS).where(_LINKS.c.owner == bindparam("whose"), _LINKS.c.field != "")
_EDGES: Final = (
    select(_LINKS, _START.c.type.label("start_type"), _END.c.type.label("end_type"))
    .join(_START, (_START.c.id == _LINKS.c.from_id) & _START.c.deleted_at.is_(None))
    .join(_END, (_END.c.id == _LINKS.c.to_id) & _END.c.deleted_at.is_(None))
    .order_by(_LINKS.c.number)
)
_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_EDGES_AT: Final = _EDGES.where(or_(_LINKS.c.from_id.in_(_IDS), _LINKS.c.to_id.in_(_IDS)))
_EDGES_IN: Final = _EDGES.where(_LINKS.c.project == bindparam("project"))


class NewLink(NamedTuple):
    """A link that a field of its owner asks for."""

    from_id: str
    to_id: str
    type: RelationshipType
    field: str


class Links:
    """Typed, directed links between things of one project."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, memory: Memory, relationships: Sequence[Relationship], at: datetime) -> None:
        """Link a memory to others; the same link twice is one link."""
        common = {"project": memory.project.name, "from_id": memory.id, "owner": memory.id, "created_at": at}
        rows = [
            {"type": wish.type.value, "to_id": wish.to, "certainty": 1.0, "metadata": {}, **common}
            for wish in dict.fromkeys(relationships)
        ]
        if rows:
            self._connection.execute(_INSERT, rows)

    def set_named(self, owner: str, project: str, links: Sequence[NewLink], at: datetime) -> None:
        """Let the links that an owner's fields ask for be these; those that were asked for otherwise stay."""
        self._connection.execute(_FORGET_NAMED, {"whose": owner})
        common = {"project": project, "owner": owner, "certainty": 1.0, "metadata": {}, "created_at": at}
        if rows := [{**link._asdict(), "type": link.type.value, **common} for link in links]:
            self._connection.execute(_INSERT_NAMED, rows)

    def erase(self, id: MemoryId) -> None:
        """Remove every link that a memory made."""
        self._connection.execute(delete(_LINKS).where(_LINKS.c.owner == id))

    def edges_at(self, ids: Iterable[str]) -> list[Edge]:
        """The edges that begin or end at these memories, where both ends are live."""
        return list(self._edges(_EDGES_AT, ids=list(ids)))

    def edges_in(self, project: Project) -> Iterator[Edge]:
        """Every edge of a project, where both ends are live."""
        return self._edges(_EDGES_IN, project=project.name)

    def count(self, scope: Scope) -> int:
        """How many links there are."""
        counted = select(func.count()).select_from(_LINKS)
        if isinstance(scope, Project):
            counted = counted.where(_LINKS.c.project == scope.name)
        return self._connection.scalar(counted) or 0

    def _edges(self, query: Select[Any], **parameters: object) -> Iterator[Edge]:
        for row in self._connection.execute(query, parameters):
            yield Edge(
                NodeRef(KINDS[row.start_type].node, row.from_id),
                RelationshipType(row.type),
                NodeRef(KINDS[row.end_type].node, row.to_id),
                row.created_at,
                row.metadata,
            )
