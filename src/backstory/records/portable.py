"""Memories taken out of a store whole, and put into another as they were.

How they are written down in between is left to the actions. Whatever can be made again from a memory comes
of adding it: its words, the links that its fields ask for, and the marks for vectors and graph.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, Row, Select, Table, bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert  # SQLite understands what it says

from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory
from backstory.model.merge import FOLDED
from backstory.model.passage import Passage
from backstory.model.portable import OwnLink, Selection, WholeMemory
from backstory.model.project import Project
from backstory.model.upkeep import Activity, Target
from backstory.records import schema
from backstory.records.marks import Marks
from backstory.records.memories import Memories
from backstory.records.memory_rows import (
    MEMORY_ROWS,
    activity_of,
    memory_of,
    merge_columns,
    merge_of,
    version_columns,
    version_of,
)
from backstory.records.paging import batched
from backstory.records.passages import Passages
from backstory.records.references import References

_MEMORIES: Final = schema.memories
_USE: Final = schema.memory_use
_VERSIONS: Final = schema.memory_versions
_AUDIT: Final = schema.audit
_LINKS: Final = schema.links
_MERGES: Final = schema.merges

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_ALL: Final = MEMORY_ROWS.where(_MEMORIES.c.id.in_(_IDS))
_VERSIONS_OF: Final = select(_VERSIONS).where(_VERSIONS.c.memory_id.in_(_IDS)).order_by(_VERSIONS.c.version)
_AUDIT_OF: Final = select(_AUDIT).where(_AUDIT.c.subject.in_(_IDS)).order_by(_AUDIT.c.number)
_ASKED_FOR: Final = (_LINKS.c.field == "") & _LINKS.c.to_id.is_not(None)
_LINK_FACTS: Final = ("certainty", "metadata", "created_at")
_ONCE: Final = (_LINKS.c.from_id, _LINKS.c.type, _LINKS.c.to_id)
_LINKS_OF: Final = select(_LINKS).where(_LINKS.c.owner.in_(_IDS), _ASKED_FOR).order_by(*_ONCE)
_LINKS_FROM: Final = select(*_ONCE).where(_LINKS.c.from_id.in_(_IDS), _ASKED_FOR)
_MERGES_OF: Final = select(_MERGES).where(_MERGES.c.kept_id.in_(_IDS)).order_by(_MERGES.c.at, _MERGES.c.id)

_FORGET_AUDIT: Final = delete(_AUDIT).where(_AUDIT.c.subject.in_(_IDS))
_INSERT_LINK: Final = insert(_LINKS)
# A field may ask for the same link by now; the one that was asked for by itself takes its place.
_PUT_LINK: Final = _INSERT_LINK.on_conflict_do_update(
    index_elements=_ONCE,
    set_={name: _INSERT_LINK.excluded[name] for name in (*_LINK_FACTS, "owner", "field")},
)


class Portable:
    """Memories with everything that a store knows of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def chosen(self, selection: Selection) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The ids and the metadata of memories, in the order in which they were kept.

        What the selection asks of the metadata is left to the caller.
        """
        query = select(_MEMORIES.c.id, _MEMORIES.c.metadata).order_by(_MEMORIES.c.created_at, _MEMORIES.c.id)
        if isinstance(selection.scope, Project):
            query = query.where(_MEMORIES.c.project == selection.scope.name)
        if selection.types:
            query = query.where(_MEMORIES.c.type.in_(selection.types))
        if selection.since:
            query = query.where(_MEMORIES.c.created_at >= selection.since)
        if selection.until:
            query = query.where(_MEMORIES.c.created_at <= selection.until)
        return ((row.id, row.metadata) for row in self._connection.execute(query))

    def kept(self, ids: Iterable[str]) -> dict[str, Memory]:
        """Those of the ids that are memories, deleted or not, of any project."""
        return {row.id: memory_of(row) for row in self._rows(_ALL, ids)}

    def whole(self, ids: Sequence[str]) -> list[WholeMemory]:
        """These memories with all that is known of them, in this order."""
        memories = self.kept(ids)
        versions = self._grouped(_VERSIONS_OF, "memory_id", ids)
        activity = self._grouped(_AUDIT_OF, "subject", ids)
        links = self._grouped(_LINKS_OF, "owner", ids)
        merges = self._grouped(_MERGES_OF, "kept_id", ids)
        return [
            WholeMemory(
                memories[id],
                [version_of(memories[id], row) for row in versions[id]],
                [activity_of(row) for row in activity[id]],
                [_link(row) for row in links[id]],
                [merge_of(row) for row in merges[id]],
            )
            for id in ids
        ]

    def add_all(self, new: Sequence[tuple[WholeMemory, Passage]]) -> None:
        """Keep memories as they were kept elsewhere; their links are added by `link_all`."""
        if not new:
            return
        Memories(self._connection).add_all([(whole.memory, passage, ()) for whole, passage in new])
        wholes = [whole for whole, _ in new]
        # That they were added was just written down; those that bring their history along have it in there.
        known = [whole.memory.id for whole in wholes if whole.activity]
        self._connection.execute(_FORGET_AUDIT, {"ids": known})
        self._insert(_AUDIT, (_audit_row(each) for whole in wholes for each in whole.activity))
        self._insert(_VERSIONS, (version_columns(each) for whole in wholes for each in whole.versions))
        self._insert(_USE, (_use_row(whole.memory) for whole in wholes if whole.memory.last_used_at))
        self._insert(_MERGES, (merge_columns(each) for whole in wholes for each in whole.merges))
        self._put_away([whole for whole in wholes if whole.memory.deleted_at])

    def link_all(self, links: Sequence[tuple[Memory, OwnLink]]) -> None:
        """Let there be these links, each with its owner; those that are there already stay as they are."""
        starts = dict.fromkeys(link.start for _, link in links)
        known = {tuple(row) for row in self._rows(_LINKS_FROM, starts)}
        new = [(owner, link) for owner, link in links if (link.start, link.type, link.end) not in known]
        if new:
            self._connection.execute(_PUT_LINK, [_link_row(owner, link) for owner, link in new])
            Marks(self._connection).add(
                [
                    (owner.id, {Target.GRAPH: KINDS[owner.type].node.value}, owner.project.name)
                    for owner, _ in new
                ]
            )

    def _put_away(self, deleted: Iterable[WholeMemory]) -> None:
        """Let nobody find what was deleted; whoever names one that was folded is led on."""
        for whole in deleted:
            Passages(self._connection).hide(whole.memory.id)
            if whole.activity and whole.activity[-1].operation == FOLDED:
                References(self._connection).follow(whole.memory.project.name, whole.memory.id)

    def _insert(self, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        if found := list(rows):
            self._connection.execute(insert(table).on_conflict_do_nothing(), found)

    def _rows(self, query: Select[Any], ids: Iterable[str]) -> Iterator[Row[Any]]:
        for page in batched(ids):
            yield from self._connection.execute(query, {"ids": page})

    def _grouped(self, query: Select[Any], key: str, ids: Iterable[str]) -> Mapping[str, list[Row[Any]]]:
        groups: dict[str, list[Row[Any]]] = defaultdict(list)
        for row in self._rows(query, ids):
            groups[getattr(row, key)].append(row)
        return groups


def _use_row(memory: Memory) -> dict[str, Any]:
    return {
        "memory_id": memory.id,
        "access_count": memory.access_count,
        "last_used_at": memory.last_used_at,
    }


def _audit_row(done: Activity) -> dict[str, Any]:
    return {
        "project": done.project,
        "subject": done.subject,
        "operation": done.operation,
        "version": done.version,
        "at": done.at,
        "details": dict(done.details) or None,
    }


def _link(row: Row[Any]) -> OwnLink:
    return OwnLink(
        row.from_id, RelationshipType(row.type), row.to_id, row.created_at, row.certainty, row.metadata
    )


def _link_row(owner: Memory, link: OwnLink) -> dict[str, Any]:
    return {
        "project": owner.project.name,
        "from_id": link.start,
        "type": link.type.value,
        "to_id": link.end,
        "certainty": link.certainty,
        "owner": owner.id,
        "created_at": link.created_at,
        "metadata": dict(link.metadata),
        "field": "",
    }
