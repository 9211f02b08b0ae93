"""Passages: the texts that search finds, and what projections are made from."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, Row, func, insert, select, update

from backstory.model.passage import Index, Passage
from backstory.model.project import Project
from backstory.records import schema

_PASSAGES = schema.passages


class Passages:
    """The text of every retrievable thing, once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, passage: Passage) -> None:
        """Keep a new passage."""
        self._connection.execute(insert(_PASSAGES).values(id=passage.id, live=True, **_columns(passage)))

    def replace(self, passage: Passage) -> None:
        """Put a passage in place of the one with its id, and let it be found."""
        self._update(passage.id, live=True, **_columns(passage))

    def hide(self, id: str) -> None:
        """Keep the text, but let nobody find it."""
        self._update(id, live=False, terms="")

    def find(self, ids: Iterable[str]) -> Mapping[str, Passage]:
        """Those of the ids that are live."""
        query = select(_PASSAGES).where(_PASSAGES.c.id.in_(list(ids)), _PASSAGES.c.live)
        return {row.id: _passage(row) for row in self._connection.execute(query)}

    def after(self, index: Index, number: int, limit: int) -> list[tuple[int, Passage]]:
        """A page of an index's live passages in the order they were first written."""
        query = (
            select(_PASSAGES)
            .where(_PASSAGES.c.index_name == index.value, _PASSAGES.c.number > number, _PASSAGES.c.live)
            .order_by(_PASSAGES.c.number)
            .limit(limit)
        )
        return [(row.number, _passage(row)) for row in self._connection.execute(query)]

    def ids_after(self, index: Index, id: str, limit: int) -> list[str]:
        """A page of an index's live ids in the order of the ids."""
        query = (
            select(_PASSAGES.c.id)
            .where(_PASSAGES.c.index_name == index.value, _PASSAGES.c.id > id, _PASSAGES.c.live)
            .order_by(_PASSAGES.c.id)
            .limit(limit)
        )
        return list(self._connection.scalars(query))

    def count(self, index: Index) -> int:
        """How many of an index are live."""
        counted = select(func.count()).where(_PASSAGES.c.index_name == index.value, _PASSAGES.c.live)
        return self._connection.scalar(counted) or 0

    def _update(self, id: str, **values: object) -> None:
        self._connection.execute(update(_PASSAGES).where(_PASSAGES.c.id == id).values(**values))


def _columns(passage: Passage) -> dict[str, object]:
    return {
        "index_name": passage.index.value,
        "project": passage.project.name,
        "text": passage.text,
        "terms": passage.terms,
        "labels": {name: list(values) for name, values in passage.labels.items()},
        "numbers": dict(passage.numbers),
    }


def _passage(row: Row[tuple[object, ...]]) -> Passage:
    return Passage(
        row.id, Index(row.index_name), Project(row.project), row.text, row.terms, row.labels, row.numbers
    )
