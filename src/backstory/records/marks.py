"""Marks: what the projections have still to see, written with the change that made it necessary."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, insert, select, tuple_, update

from backstory.model.project import Project
from backstory.model.upkeep import Mark, Target
from backstory.records import schema
from backstory.records.store import Store

_MARKS = schema.marks


class Marks:
    """Subjects waiting for a projection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def set(self, subject: str, places: Mapping[Target, str], project: str) -> None:
        """Mark a subject for each target, in place of any mark it has there."""
        revision = Store(self._connection).next_revision()
        targets = [target.value for target in places]
        self._connection.execute(
            delete(_MARKS).where(_MARKS.c.subject == subject, _MARKS.c.target.in_(targets))
        )
        self._connection.execute(
            insert(_MARKS),
            [
                {
                    "target": target.value,
                    "subject": subject,
                    "place": place,
                    "project": project,
                    "revision": revision,
                }
                for target, place in places.items()
            ],
        )

    def pending(self, target: Target, limit: int) -> list[Mark]:
        """The oldest marks that were not refused."""
        waiting = select(_MARKS).where(_MARKS.c.target == target.value, _MARKS.c.refusal.is_(None))
        return self._read(waiting.order_by(_MARKS.c.revision).limit(limit))

    def of(self, target: Target, subjects: Iterable[str]) -> list[Mark]:
        """The marks that these subjects have, refused or not."""
        return self._read(
            select(_MARKS).where(_MARKS.c.target == target.value, _MARKS.c.subject.in_(list(subjects)))
        )

    def clear(self, done: Sequence[Mark]) -> None:
        """Forget marks, except those that were set anew since they were read."""
        self._connection.execute(delete(_MARKS).where(_one_of(done)))

    def refuse(self, mark: Mark, why: str) -> None:
        """Set a mark aside: the engine will not take this content."""
        self._connection.execute(update(_MARKS).where(_one_of([mark])).values(refusal=why[:1000]))

    def refusal(self, target: Target, subject: str) -> str | None:
        """Why a subject was set aside, if it was."""
        own = (_MARKS.c.target == target.value) & (_MARKS.c.subject == subject)
        return self._connection.scalar(select(_MARKS.c.refusal).where(own))

    def forgive(self) -> None:
        """Let refused marks be tried again."""
        self._connection.execute(update(_MARKS).values(refusal=None))

    def count(self) -> Mapping[Target, int]:
        """How many wait for each target."""
        counted = (
            select(_MARKS.c.target, func.count()).where(_MARKS.c.refusal.is_(None)).group_by(_MARKS.c.target)
        )
        return {Target(target): count for target, count in self._connection.execute(counted)}

    def count_in(self, target: Target, project: Project) -> int:
        """How many of a project wait for a target, refused or not."""
        own = (_MARKS.c.target == target.value) & (_MARKS.c.project == project.name)
        return self._connection.scalar(select(func.count()).where(own)) or 0

    def count_refused(self, target: Target) -> int:
        """How many were set aside."""
        refused = (_MARKS.c.target == target.value) & _MARKS.c.refusal.is_not(None)
        return self._connection.scalar(select(func.count()).where(refused)) or 0

    def _read(self, query: Select[Any]) -> list[Mark]:
        rows = self._connection.execute(query)
        return [Mark(Target(row.target), row.subject, row.place, row.project, row.revision) for row in rows]


def _one_of(marks: Sequence[Mark]) -> ColumnElement[bool]:
    keys = [(mark.target.value, mark.subject, mark.revision) for mark in marks]
    return tuple_(_MARKS.c.target, _MARKS.c.subject, _MARKS.c.revision).in_(keys)
