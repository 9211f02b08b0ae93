"""Who stands for whom: where a memory was folded into another one, that one is meant.

A memory is folded while it is deleted and nothing was done to it since. Who brings it back by itself, or
deletes it once more, ends that. How memories are made one is left to `merges`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sqlalchemy import BindParameter, Connection, bindparam, func, select

from backstory.model.merge import FOLDED
from backstory.records import schema
from backstory.records.paging import batched

_MEMORIES: Final = schema.memories
_AUDIT: Final = schema.audit
_MERGES: Final = schema.merges

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_OWN: Final = _AUDIT.alias("own")
_LAST: Final = select(func.max(_OWN.c.number)).where(_OWN.c.subject == _MEMORIES.c.id).scalar_subquery()
_FOLDED: Final = (
    select(_MEMORIES.c.id, _AUDIT.c.details)
    .select_from(_MEMORIES)
    .join(_AUDIT, _AUDIT.c.number == _LAST)
    .where(_MEMORIES.c.id.in_(_IDS), _MEMORIES.c.deleted_at.is_not(None), _AUDIT.c.operation == FOLDED)
)
_MERGED: Final = select(_MERGES.c.folded).where(_MERGES.c.kept_id.in_(_IDS), _MERGES.c.undone_at.is_(None))


class Folds:
    """Which memories were folded into which."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def into(self, ids: Iterable[str]) -> dict[str, str]:
        """Those of the ids that were folded, each with the memory that stands for it in the end."""
        known: dict[str, str] = {}
        wanted = asked = set(ids)
        while asked:
            found = self._directly(asked)
            known |= found
            asked = set(found.values()) - known.keys()
        return {id: _last(known, id) for id in wanted if id in known}

    def members(self, ids: Iterable[str]) -> list[str]:
        """These memories, and all for which they stand."""
        members = dict.fromkeys(ids)
        asked = list(members)
        while asked:
            below = set(self._merged(asked)) - members.keys()
            into = self._directly(below)
            asked = sorted(id for id in below if into.get(id) in members)
            members |= dict.fromkeys(asked)
        return list(members)

    def _directly(self, ids: Iterable[str]) -> dict[str, str]:
        rows = (row for page in batched(ids) for row in self._connection.execute(_FOLDED, {"ids": page}))
        return {id: details["into"] for id, details in rows}

    def _merged(self, ids: Iterable[str]) -> Iterator[str]:
        """Everything that was folded into one of these at some time."""
        for page in batched(ids):
            for folded in self._connection.scalars(_MERGED, {"ids": page}):
                yield from folded


def _last(known: Mapping[str, str], id: str) -> str:
    """Where the way ends that begins at an id; one that were to turn back to itself ends too."""
    passed = {id}
    while (following := known.get(id)) and following not in passed:
        passed.add(id := following)
    return id
