"""The names that memories go by beside their ids, and who goes by them.

A deleted memory keeps its names. They are written with the memory, in `references`.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import BindParameter, Connection, bindparam, select

from backstory.model.project import Project
from backstory.records import schema
from backstory.records.paging import batched

_NAMES: Final = schema.memory_names
_WANTED: Final[BindParameter[str]] = bindparam("wanted", expanding=True)
_INSIDE: Final = _NAMES.c.project == bindparam("inside")
_HAVING: Final = (
    select(_NAMES.c.name, _NAMES.c.memory_id).where(_INSIDE, _NAMES.c.name.in_(_WANTED)).order_by(*_NAMES.c)
)
_FROM: Final = select(_NAMES.c.name, _NAMES.c.memory_id).where(_INSIDE, _NAMES.c.name >= bindparam("first"))
_BETWEEN: Final = _FROM.where(_NAMES.c.name < bindparam("end"))


class Names:
    """Who goes by which name, inside a project."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def having(self, project: Project, names: Iterable[str]) -> dict[str, list[str]]:
        """The ids of the memories that go by these names, by name, deleted ones too."""
        found: dict[str, list[str]] = {}
        for page in batched(names):
            for name, id in self._connection.execute(_HAVING, {"inside": project.name, "wanted": page}):
                found.setdefault(name, []).append(id)
        return found

    def beginning(self, project: Project, text: str) -> list[tuple[str, str]]:
        """The names that begin with a text, each with the id of a memory that goes by it, deleted or not."""
        values = {"inside": project.name, "first": text}
        # Read by the index from the first such name to the last: LIKE would read the whole project.
        query = _BETWEEN if text else _FROM
        end = {"end": text[:-1] + chr(ord(text[-1]) + 1)} if text else {}
        rows = self._connection.execute(query, values | end)
        return sorted((name, id) for name, id in rows)
