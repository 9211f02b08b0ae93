"""Passages: the texts that search finds, and what projections are made from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from backstory.model.passage import Index, Passage
from backstory.model.project import Project
from backstory.records import schema
from backstory.records.paging import batched

_PASSAGES: Final = schema.passages
_COLUMNS: Final = _PASSAGES.c

_IN_INDEX: Final = (_COLUMNS.index_name == bindparam("index")) & _COLUMNS.live

_INSERT: Final = insert(_PASSAGES)
_UPDATE: Final = update(_PASSAGES).where(_COLUMNS.id == bindparam("wanted"))
_REMOVE: Final = delete(_PASSAGES).where(_COLUMNS.id.in_(bindparam("ids", expanding=True)))
_FIND: Final = select(_PASSAGES).where(_COLUMNS.id.in_(bindparam("ids", expanding=True)), _COLUMNS.live)
_AFTER: Final = (
    select(_PASSAGES)
    .where(_IN_INDEX, _COLUMNS.number > bindparam("after"))
    .order_by(_COLUMNS.number)
    .limit(bindparam("most"))
)
# Written so that SQLite walks the ids in order. By the index's name it would sort all of them for each page.
_IDS_AFTER: Final = (
    select(_COLUMNS.id)
    .where(_COLUMNS.id > bindparam("after"))
    .where(_COLUMNS.index_name.concat("") == bindparam("index"), _COLUMNS.live)
    .order_by(_COLUMNS.id)
    .limit(bindparam("most"))
)
_COUNT: Final = select(func.count()).where(_IN_INDEX)


class Passages:
    """The text of every retrievable thing, once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_all(self, new: Sequence[Passage]) -> None:
        """Keep new passages."""
        rows = [{"id": passage.id, "live": True, **_columns(passage)} for passage in new]
        if rows:
            self._connection.execute(_INSERT, rows)

    def replace(self, passage: Passage) -> None:
        """Put a passage in place of the one with its id, and let it be found."""
        self.replace_all([passage])

    def replace_all(self, passages: Sequence[Passage]) -> None:
        """Put passages in place of those with their ids, and let them be found."""
        rows = [{"wanted": passage.id, "live": True, **_columns(passage)} for passage in passages]
        if rows:
            self._connection.execute(_UPDATE, rows)

    def remove(self, ids: Iterable[str]) -> None:
        """Forget passages, text and words; whatever they stood for must be gone before."""
        for page in batched(ids):
            self._connection.execute(_REMOVE, {"ids": page})

    def hide(self, id: str) -> None:
        """Keep the text, but let nobody find it."""
        self._connection.execute(_UPDATE, {"wanted": id, "live": False, "terms": ""})

    def find(self, ids: Iterable[str]) -> Mapping[str, Passage]:
        """Those of the ids that are live."""
        return {row.id: _passage(row) for row in self._connection.execute(_FIND, {"ids": list(ids)})}

    def after(self, index: Index, number: int, limit: int) -> list[tuple[int, Passage]]:
        """A page of an index's live passages in the order they were first written."""
        rows = self._connection.execute(_AFTER, {"index": index.value, "after": number, "most": limit})
        return [(row.number, _passage(row)) for row in rows]

    def ids_after(self, index: Index, id: str, limit: int) -> list[str]:
        """A page of an index's live ids in the order of the ids."""
        return list(self._connection.scalars(_IDS_AFTER, {"index": index.value, "after": id, "most": limit}))

    def count(self, index: Index) -> int:
        """How many of an index are live."""
        return self._connection.scalar(_COUNT, {"index": index.value}) or 0


def _columns(passage: Passage) -> dict[str, Any]:
    return {
        "index_name": passage.index.value,
        "project": passage.project.name,
        "text": passage.text,
        "terms": passage.terms,
        "labels": {name: list(values) for name, values in passage.labels.items()},
        "numbers": dict(passage.numbers),
    }


def _passage(row: Row[Any]) -> Passage:
    return Passage(
        row.id, Index(row.index_name), Project(row.project), row.text, row.terms, row.labels, row.numbers
    )
