"""Which memories of a type stand out, whatever somebody is about to do: the heads of four lists.

What one is worth in all is left to `ranking.importance`. Each list reads every memory of the type: 15 ms for
20,000 of them.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, bindparam, select

from backstory.model.project import Project
from backstory.records import schema

_MEMORIES: Final = schema.memories
_USE: Final = schema.memory_use

_OF_TYPE: Final = select(_MEMORIES.c.id).where(
    _MEMORIES.c.project == bindparam("project"),
    _MEMORIES.c.type == bindparam("type"),
    _MEMORIES.c.deleted_at.is_(None),
)
_USED: Final = _OF_TYPE.join(_USE, _USE.c.memory_id == _MEMORIES.c.id)


def _head(of: Select[Any], *most: ColumnElement[Any]) -> Select[Any]:
    return of.order_by(*(column.desc() for column in most), _MEMORIES.c.id).limit(bindparam("most"))


_HEADS: Final = (
    _head(_OF_TYPE, _MEMORIES.c.importance, _MEMORIES.c.updated_at),
    _head(_OF_TYPE, _MEMORIES.c.updated_at),
    _head(_USED, _USE.c.last_used_at),
    _head(_USED, _USE.c.access_count),
)


class Foremost:
    """What was called important, changed lately, used lately, or used often."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ids(self, project: Project, type_: str, limit: int) -> list[str]:
        """The live memories of a type that are among the first so many of one of the lists, each once."""
        asked = {"project": project.name, "type": type_, "most": limit}
        heads = [self._connection.scalars(head, asked).all() for head in _HEADS]
        return list(dict.fromkeys(id for head in heads for id in head))
