"""Links: what points to what. The graph's edges are made from them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import BindParameter, Connection, Row, Select, bindparam, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert  # SQLite understands what it says

from backstory.model.graph import Edge, NodeRef, RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.project import Project, Scope
from backstory.records import schema
from backstory.records.paging import batched

#: Kept with a link that stands in for one of which an end was folded into another memory.
STANDS_IN: Final[Mapping[str, object]] = {"by": "merge"}

_LINKS: Final = schema.links
_START: Final = schema.memories.alias("start")
_END: Final = schema.memories.alias("end_")

_ONCE: Final = (_LINKS.c.from_id, _LINKS.c.type, _LINKS.c.to_id)
# One that was asked for by itself stays when no field asks for it any more, and when a merge is undone.
_NEW: Final = insert(_LINKS)
_WAS_NAMED: Final = _LINKS.c.field != ""
_INSERT: Final = _NEW.on_conflict_do_update(
    index_elements=_ONCE,
    set_={
        "field": "",
        "metadata": {},
        "owner": case((_WAS_NAMED, _NEW.excluded.owner), else_=_LINKS.c.owner),
        "created_at": case((_WAS_NAMED, _NEW.excluded.created_at), else_=_LINKS.c.created_at),
    },
)
_INSERT_STAND_IN: Final = _NEW.on_conflict_do_update(
    index_elements=_ONCE,
    set_={"field": "", "owner": _NEW.excluded.owner, "metadata": STANDS_IN},
    where=_LINKS.c.field != "",
)
_INSERT_NAMED: Final = insert(_LINKS).on_conflict_do_nothing(index_elements=_ONCE)
_FORGET_SINCE: Final = delete(_LINKS).where(
    _LINKS.c.owner == bindparam("whose"), _LINKS.c.field == "", _LINKS.c.created_at > bindparam("since")
)
_FORGET_NAMED: Final = (
    delete(_LINKS).where(_LINKS.c.owner == bindparam("whose"), _LINKS.c.field != "").returning(*_ONCE)
)
_EDGES: Final = (
    select(_LINKS, _START.c.type.label("start_type"), _END.c.type.label("end_type"))
    .join(_START, (_START.c.id == _LINKS.c.from_id) & _START.c.deleted_at.is_(None))
    .join(_END, (_END.c.id == _LINKS.c.to_id) & _END.c.deleted_at.is_(None))
    .order_by(_LINKS.c.number)
)
_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_EDGES_AT: Final = _EDGES.where(or_(_LINKS.c.from_id.in_(_IDS), _LINKS.c.to_id.in_(_IDS)))
_EDGES_IN: Final = _EDGES.where(_LINKS.c.project == bindparam("project"))
_ASKED_FOR_AT: Final = select(_LINKS).where(
    or_(_LINKS.c.from_id.in_(_IDS), _LINKS.c.to_id.in_(_IDS)), _LINKS.c.field == ""
)
_REMOVE: Final = delete(_LINKS).where(_LINKS.c.number.in_(bindparam("numbers", expanding=True)))


class NewLink(NamedTuple):
    """A link that a field of its owner asks for."""

    from_id: str
    to_id: str
    type: RelationshipType
    field: str
    owner: str
    created_at: datetime


class AskedLink(NamedTuple):
    """A link that was asked for by itself, or one that stands in for such a one."""

    from_id: str
    type: str
    to_id: str
    created_at: datetime


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

    def let_go_of_named(self, owner: str) -> set[tuple[str, str, str]]:
        """Remove the links that an owner's fields ask for; those that were asked for otherwise stay.

        Gives what each was: from whom, its type, to whom.
        """
        gone = self._connection.execute(_FORGET_NAMED, {"whose": owner})
        return {(from_id, type_, to_id) for from_id, type_, to_id in gone}

    def add_named(self, project: str, links: Sequence[NewLink]) -> None:
        """Make the links that fields of their owners ask for, as far as they are not there."""
        common = {"project": project, "certainty": 1.0, "metadata": {}}
        if rows := [{**link._asdict(), "type": link.type.value, **common} for link in links]:
            self._connection.execute(_INSERT_NAMED, rows)

    def asked_for_at(self, ids: Iterable[str]) -> list[AskedLink]:
        """The links that were asked for by themselves and begin or end at these memories, live or not."""
        rows = {row.number: row for row in self._at(ids) if row.metadata != STANDS_IN}
        return [AskedLink(row.from_id, row.type, row.to_id, row.created_at) for row in rows.values()]

    def stand_in(self, project: str, links: Sequence[AskedLink]) -> None:
        """Put links in the stead of others; one that is there and was asked for by itself stays as it is."""
        common = {"project": project, "certainty": 1.0, "metadata": STANDS_IN}
        if rows := [{**link._asdict(), "owner": link.from_id, **common} for link in links]:
            self._connection.execute(_INSERT_STAND_IN, rows)

    def remove_stand_ins(self, ids: Iterable[str]) -> set[str]:
        """Remove the links at these memories that stand in for others; the ends that they had."""
        rows = {row.number: row for row in self._at(ids) if row.metadata == STANDS_IN}
        self._connection.execute(_REMOVE, {"numbers": list(rows)})
        return {end for row in rows.values() for end in (row.from_id, row.to_id)}

    def forget_since(self, owner: MemoryId, moment: datetime) -> None:
        """Remove the links that a memory asked for by themselves after a moment."""
        self._connection.execute(_FORGET_SINCE, {"whose": owner, "since": moment})

    def erase(self, id: MemoryId) -> None:
        """Remove every link that a memory made."""
        self._connection.execute(delete(_LINKS).where(_LINKS.c.owner == id))

    def edges_at(self, ids: Iterable[str]) -> list[Edge]:
        """The edges that begin or end at these memories, where both ends are live."""
        return list(self._edges(_EDGES_AT, ids=list(ids)))

    def fields_at(self, id: MemoryId) -> list[tuple[Edge, str]]:
        """The edges of a memory as in `edges_at`, each with the field that asks for it, or nothing."""
        rows = self._connection.execute(_EDGES_AT, {"ids": [id]})
        return [(_edge(row), row.field) for row in rows]

    def edges_in(self, project: Project) -> Iterator[Edge]:
        """Every edge of a project, where both ends are live."""
        return self._edges(_EDGES_IN, project=project.name)

    def count(self, scope: Scope) -> int:
        """How many links there are whose ends are both live."""
        counted = _EDGES.with_only_columns(func.count()).order_by(None)
        if isinstance(scope, Project):
            counted = counted.where(_LINKS.c.project == scope.name)
        return self._connection.scalar(counted) or 0

    def _at(self, ids: Iterable[str]) -> Iterator[Row[Any]]:
        for page in batched(ids):
            yield from self._connection.execute(_ASKED_FOR_AT, {"ids": page})

    def _edges(self, query: Select[Any], **parameters: object) -> Iterator[Edge]:
        return map(_edge, self._connection.execute(query, parameters))


def _edge(row: Row[Any]) -> Edge:
    return Edge(
        NodeRef(KINDS[row.start_type].node, row.from_id),
        RelationshipType(row.type),
        NodeRef(KINDS[row.end_type].node, row.to_id),
        row.created_at,
        row.metadata,
    )
