"""What memories are ranked by, read without their texts: a search weighs a hundred and shows ten.

What all of it is worth is left to `ranking.memories`.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Select,
    String,
    bindparam,
    cast,
    func,
    select,
    union_all,
)

from backstory.model.search import MemoryCues
from backstory.records import schema
from backstory.records.paging import batched

#: Links of one memory that are followed in one direction, newest first. A component may have thousands.
MOST_LINKS: Final = 20

#: Memories whose links are read by one statement: 0.2 ms for ten, where statements of their own take 0.7 ms.
_AT_ONCE: Final = 10

_MEMORIES: Final = schema.memories
_LINKS: Final = schema.links
_USE: Final = schema.memory_use

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
# Times as texts: to let SQLAlchemy make 500 of them takes as long as to find the rows (2.6 against 1.5 ms).
_CUES: Final = (
    select(
        _MEMORIES.c.id,
        _MEMORIES.c.importance,
        func.coalesce(_USE.c.access_count, 0),
        cast(_USE.c.last_used_at, String),
        cast(_MEMORIES.c.created_at, String),
        cast(_MEMORIES.c.updated_at, String),
    )
    .join(_USE, _USE.c.memory_id == _MEMORIES.c.id, isouter=True)
    .where(_MEMORIES.c.id.in_(_IDS), _MEMORIES.c.deleted_at.is_(None))
)


def _links_of(place: int, own: Column[Any], other: Column[Any]) -> Select[Any]:
    wanted = own == bindparam(f"id{place}")
    newest = select(own.label("own"), other.label("other")).where(wanted, other.is_not(None))
    return select(newest.order_by(_LINKS.c.number.desc()).limit(MOST_LINKS).subquery())


_NEAR: Final = union_all(
    *(_links_of(place, _LINKS.c.from_id, _LINKS.c.to_id) for place in range(_AT_ONCE)),
    *(_links_of(place, _LINKS.c.to_id, _LINKS.c.from_id) for place in range(_AT_ONCE)),
)


class Cues:
    """What is known of memories and of what is near them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, ids: Iterable[str]) -> Mapping[str, MemoryCues]:
        """The cues of those of the ids that are live memories."""
        rows = (row for page in batched(ids) for row in self._connection.execute(_CUES, {"ids": page}))
        return {
            id: MemoryCues(importance, uses, _time(used) if used else None, _time(created), _time(updated))
            for id, importance, uses, used, created, updated in rows
        }

    def near(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of one of the ids and a memory that it is linked to, in either direction, live or not."""
        pairs: list[tuple[str, str]] = []
        for start in range(0, len(ids), _AT_ONCE):
            page = ids[start : start + _AT_ONCE]
            wanted = {f"id{place}": id for place, id in enumerate([*page, *[""] * (_AT_ONCE - len(page))])}
            pairs += [(own, other) for own, other in self._connection.execute(_NEAR, wanted)]
        return pairs


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
