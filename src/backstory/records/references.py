"""What the fields of memories name, and the links that come of it.

A field holds ids: of memories, or those that memories carry in their own fields, such as a requirement's.
A name that nobody has yet stays written down, and becomes a link when a memory with that name is kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple, Self

from sqlalchemy import BindParameter, Connection, bindparam, delete, insert, select

from backstory.model.graph import Direction
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.links import NamedLink, links_of, names_of
from backstory.model.memory import Memory, MemoryId
from backstory.records import schema
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
_HAVING_NAMES: Final = select(_NAMES.c.name, _NAMES.c.memory_id).where(
    _NAMES.c.project == bindparam("inside"), _NAMES.c.name.in_(_WANTED)
)
_HAVING_IDS: Final = select(_MEMORIES.c.id).where(
    _MEMORIES.c.id.in_(_WANTED), _MEMORIES.c.project.concat("") == bindparam("inside")
)
_NAMING: Final = (
    select(
        _MEMORIES.c.id, _MEMORIES.c.project, _MEMORIES.c.type, _MEMORIES.c.metadata, _MEMORIES.c.updated_at
    )
    .join(_REFERENCES, _REFERENCES.c.memory_id == _MEMORIES.c.id)
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
        """Write down whom new memories name, and link those that name them."""
        self._write(memories)
        named: dict[str, list[str]] = {}
        for memory in memories:
            named.setdefault(memory.project.name, []).extend((memory.id, *_names(memory)))
        owners: dict[str, _Owner] = {memory.id: _Owner.of(memory) for memory in memories if _wanted(memory)}
        for project, names in named.items():
            owners |= {each.id: each for each in self._naming(project, names)}
        for owner in owners.values():
            self._link(owner)

    def set(self, memory: Memory) -> None:
        """Let the fields of a memory name whom they name now, and itself be named as it is now."""
        before = self._connection.scalars(_OWN_NAMES, {"about": memory.id}).all()
        self._forget(memory.id)
        self._write([memory])
        self._link(_Owner.of(memory))
        for owner in self._naming(memory.project.name, {memory.id, *before, *_names(memory)}):
            self._link(owner)

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
            for row in self._connection.execute(_NAMING, {"inside": project, "wanted": page}).all():
                wanted = links_of(KINDS[row.type], row.metadata)
                yield _Owner(row.id, row.project, list(wanted), row.updated_at)

    def _link(self, owner: _Owner) -> None:
        """Let the links that a memory's fields ask for be those to whom they name now."""
        known = self._known(owner.project, {link.id for link in owner.wanted})
        links = [
            NewLink(*_ends(link, owner.id, other), link.type, link.field)
            for link in owner.wanted
            for other in known.get(link.id, ())
            if other != owner.id
        ]
        Links(self._connection).set_named(owner.id, owner.project, links, owner.at)

    def _known(self, project: str, names: Iterable[str]) -> dict[str, list[str]]:
        """The memories that have these names, or these ids."""
        found: dict[str, list[str]] = {}
        for page in batched(names):
            values = {"inside": project, "wanted": page}
            for name, id in self._connection.execute(_HAVING_NAMES, values):
                found.setdefault(name, []).append(id)
            for id in self._connection.scalars(_HAVING_IDS, values):
                found.setdefault(id, []).append(id)
        return found


def _wanted(memory: Memory) -> list[NamedLink]:
    return list(links_of(KINDS[memory.type], memory.metadata))


def _names(memory: Memory) -> list[str]:
    return names_of(KINDS[memory.type], memory.metadata)


def _ends(link: NamedLink, owner: str, other: str) -> tuple[str, str]:
    return (owner, other) if link.direction is Direction.OUT else (other, owner)
