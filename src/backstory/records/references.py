"""What the fields of memories name, and the links that come of it.

A field holds ids: of memories, or those that memories carry in their own fields, such as a requirement's.
A name that nobody has yet stays written down, and becomes a link when a memory with that name is kept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from sqlalchemy import BindParameter, Connection, Select, bindparam, delete, insert, select

from backstory.model.graph import Direction
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.links import NamedLink, links_of, names_of
from backstory.model.memory import Memory, MemoryId
from backstory.model.project import Project
from backstory.records import schema
from backstory.records.folds import Folds
from backstory.records.links import Links, NewLink
from backstory.records.paging import batched

_NAMES: Final = schema.memory_names
_REFERENCES: Final = schema.memory_references
_MEMORIES: Final = schema.memories

_ABOUT: Final[BindParameter[str]] = bindparam("about")
_WANTED: Final[BindParameter[str]] = bindparam("wanted", expanding=True)
_OWN_NAMES: Final = select(_NAMES.c.name).where(_NAMES.c.memory_id == _ABOUT)
_FORGET_NAMES: Final = delete(_NAMES).where(_NAMES.c.memory_id == _ABOUT)
_FORGET_REFERENCES: Final = delete(_REFERENCES).where(_REFERENCES.c.memory_id == _ABOUT)
_INSERT_NAME: Final = insert(_NAMES)
_INSERT_REFERENCE: Final = insert(_REFERENCES)
_NAMED_IN: Final = (
    select(_REFERENCES.c.field, _REFERENCES.c.name)
    .where(_REFERENCES.c.memory_id == _ABOUT)
    .order_by(_REFERENCES.c.field, _REFERENCES.c.name)
)
# Written so that SQLite goes by the names and the ids; by the project it would read all of it.
_HAVING_NAMES: Final = (
    select(_NAMES.c.name, _MEMORIES.c.id, _MEMORIES.c.deleted_at)
    .join(_MEMORIES, _MEMORIES.c.id == _NAMES.c.memory_id)
    .where(_NAMES.c.project == bindparam("inside"), _NAMES.c.name.in_(_WANTED))
)
_HAVING_IDS: Final = select(_MEMORIES.c.id, _MEMORIES.c.id, _MEMORIES.c.deleted_at).where(
    _MEMORIES.c.id.in_(_WANTED), _MEMORIES.c.project.concat("") == bindparam("inside")
)
_OWNERS: Final = select(
    _MEMORIES.c.id, _MEMORIES.c.project, _MEMORIES.c.type, _MEMORIES.c.metadata, _MEMORIES.c.updated_at
)
_HAVING_FIELDS: Final = _OWNERS.where(_MEMORIES.c.id.in_(_WANTED))
_NAMING: Final = (
    _OWNERS.join(_REFERENCES, _REFERENCES.c.memory_id == _MEMORIES.c.id)
    .where(_REFERENCES.c.project == bindparam("inside"), _REFERENCES.c.name.in_(_WANTED))
    .distinct()
)


class _Owner(NamedTuple):
    """A memory that names others in its fields. Its links are as old as it is."""

    id: str
    project: str
    wanted: Sequence[NamedLink]
    at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Self:
        return cls(memory.id, memory.project.name, _wanted(memory), memory.updated_at)


class References:
    """Whom memories name in their fields."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_all(self, memories: Sequence[Memory]) -> None:
        """Write down whom new memories name, and link those that name them.

        Nobody lets go of anybody by that, so the links are only added, and all of a project at once.
        """
        self._write(memories)
        named: dict[str, list[str]] = {}
        owners: dict[str, dict[str, _Owner]] = {}
        for memory in memories:
            named.setdefault(memory.project.name, []).extend((memory.id, *_names(memory)))
            owners.setdefault(memory.project.name, {})[memory.id] = _Owner.of(memory)
        for project, names in named.items():
            owners[project] |= {each.id: each for each in self._naming(project, names)}
            self._add_links(project, list(owners[project].values()))

    def set(self, memory: Memory) -> None:
        """Let the fields of a memory name whom they name now, and itself be named as it is now."""
        before = self._connection.scalars(_OWN_NAMES, {"about": memory.id}).all()
        self._forget(memory.id)
        self._write([memory])
        self._link(_Owner.of(memory))
        # Not those who name it as before: a component may be named by thousands.
        for owner in self._naming(memory.project.name, set(before) ^ set(_names(memory))):
            self._link(owner)

    def follow(self, project: str, id: str) -> None:
        """Link those that name a memory to whoever stands for it now."""
        names = self._connection.scalars(_OWN_NAMES, {"about": id}).all()
        for owner in self._naming(project, {id, *names}):
            self._link(owner)

    def hold(self, project: str, ids: Iterable[str]) -> None:
        """Make the links that fields of these memories ask for, as far as something else took them away."""
        for page in batched(ids):
            self._add_links(project, list(self._owners(_HAVING_FIELDS, {"wanted": page})))

    def erase(self, memory: Memory) -> None:
        """Forget whom a memory names, and by what it is named."""
        self._forget(memory.id)
        for owner in self._naming(memory.project.name, _names(memory)):
            self._link(owner)

    def named_in(self, id: MemoryId) -> dict[str, list[str]]:
        """Whom the fields of a memory name, by field, whether there is such a one or not."""
        named: dict[str, list[str]] = {}
        for field, name in self._connection.execute(_NAMED_IN, {"about": id}):
            named.setdefault(field, []).append(name)
        return named

    def known(self, project: Project, names: Iterable[str]) -> dict[str, list[str]]:
        """The ids of the memories that are meant by names or ids, by name, deleted ones too."""
        return self._known(project.name, names)

    def _forget(self, id: MemoryId) -> None:
        self._connection.execute(_FORGET_NAMES, {"about": id})
        self._connection.execute(_FORGET_REFERENCES, {"about": id})

    def _write(self, memories: Sequence[Memory]) -> None:
        names, references = [], []
        for memory in memories:
            common = {"project": memory.project.name, "memory_id": memory.id}
            names += [{"name": name, **common} for name in _names(memory)]
            named = dict.fromkeys((link.field, link.id) for link in _wanted(memory))
            references += [{"field": field, "name": name, **common} for field, name in named]
        if names:
            self._connection.execute(_INSERT_NAME, names)
        if references:
            self._connection.execute(_INSERT_REFERENCE, references)

    def _naming(self, project: str, names: Iterable[str]) -> Iterator[_Owner]:
        """The memories whose fields hold one of these names."""
        for page in batched(names):
            yield from self._owners(_NAMING, {"inside": project, "wanted": page})

    def _owners(self, query: Select[Any], values: Mapping[str, object]) -> Iterator[_Owner]:
        for row in self._connection.execute(query, values).all():
            wanted = links_of(KINDS[row.type], row.metadata)
            yield _Owner(row.id, row.project, list(wanted), row.updated_at)

    def _link(self, owner: _Owner) -> None:
        """Let the links that a memory's fields ask for be those to whom they name now.

        Fields at both ends may ask for one link, which is there once: where one end lets go of it, the other
        may hold it still.
        """
        let_go = Links(self._connection).let_go_of_named(owner.id)
        links = self._add_links(owner.project, [owner])
        let_go -= {(link.from_id, link.type.value, link.to_id) for link in links}
        others = {end for from_id, _, to_id in let_go for end in (from_id, to_id)} - {owner.id}
        self.hold(owner.project, others)

    def _add_links(self, project: str, owners: Sequence[_Owner]) -> list[NewLink]:
        """Make the links that the fields of owners ask for, to whom they name now."""
        known = self._known(project, {link.id for owner in owners for link in owner.wanted})
        links = [
            NewLink(*_ends(link, owner.id, other), link.type, link.field, owner.id, owner.at)
            for owner in owners
            for link in owner.wanted
            for other in known.get(link.id, ())
            if other != owner.id
        ]
        Links(self._connection).add_named(project, links)
        return links

    def _known(self, project: str, names: Iterable[str]) -> dict[str, list[str]]:
        """The memories that have these names, or these ids; for one that was folded, who stands for it."""
        found: dict[str, list[str]] = {}
        gone: set[str] = set()
        for page in batched(names):
            values = {"inside": project, "wanted": page}
            for query in (_HAVING_NAMES, _HAVING_IDS):
                for name, id, deleted_at in self._connection.execute(query, values):
                    found.setdefault(name, []).append(id)
                    gone |= {id} if deleted_at else set()
        into = Folds(self._connection).into(gone)
        return {name: list(dict.fromkeys(into.get(id, id) for id in ids)) for name, ids in found.items()}


def _wanted(memory: Memory) -> list[NamedLink]:
    return list(links_of(KINDS[memory.type], memory.metadata))


def _names(memory: Memory) -> list[str]:
    return names_of(KINDS[memory.type], memory.metadata)


def _ends(link: NamedLink, owner: str, other: str) -> tuple[str, str]:
    return (owner, other) if link.direction is Direction.OUT else (other, owner)
