"""Marks: what the projections have still to see, written with the change that made it necessary."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert  # SQLite understands what it says

from backstory.model.project import Project
from backstory.model.upkeep import Mark, Target
from backstory.records import schema
from backstory.records.paging import batched
from backstory.records.store import Store

#: Why a mark is set aside that came when too many waited.
DEFERRED: Final = "waits for a backfill"

_MARKS: Final = schema.marks
_COLUMNS: Final = _MARKS.c

_AT: Final = _COLUMNS.target == bindparam("at")
_ABOUT: Final = _COLUMNS.subject.in_(bindparam("subjects", expanding=True))
# A deferred mark has its revision below zero. So who asks for what waits does not walk past 100,000 that are
# deferred, which takes 15 ms, and those are counted by the index alone.
_DEFERRED: Final = _COLUMNS.revision < 0
_IN_LINE: Final = _COLUMNS.revision > 0
_WAITING: Final = _COLUMNS.refusal.is_(None) & _IN_LINE
_REFUSED: Final = _COLUMNS.refusal.is_not(None) & _IN_LINE
_AS_READ: Final = (
    (_COLUMNS.target == bindparam("at"))
    & (_COLUMNS.subject == bindparam("about"))
    & (_COLUMNS.revision == bindparam("read"))
)

_INSERT: Final = insert(_MARKS)
_PUT: Final = _INSERT.on_conflict_do_update(
    index_elements=[_COLUMNS.target, _COLUMNS.subject],
    set_={name: _INSERT.excluded[name] for name in ("place", "project", "revision", "refusal")},
)
_PENDING: Final = select(_MARKS).where(_AT, _WAITING).order_by(_COLUMNS.revision).limit(bindparam("most"))
_PENDING_IN: Final = (
    select(_MARKS)
    .where(_AT, _WAITING, _COLUMNS.project == bindparam("inside"))
    .order_by(_COLUMNS.revision)
    .limit(bindparam("most"))
)
_CLEAR_IN: Final = delete(_MARKS).where(
    _AT, _COLUMNS.project == bindparam("inside"), _COLUMNS.revision <= bindparam("through")
)
_OF: Final = select(_MARKS).where(_AT, _ABOUT)
_CLEAR: Final = delete(_MARKS).where(_AS_READ)
_REFUSE: Final = update(_MARKS).where(_AS_READ)
_COUNT: Final = select(func.count()).where(_AT, _WAITING)
_COUNT_REFUSED: Final = select(func.count()).where(_AT, _REFUSED)
_COUNT_DEFERRED: Final = select(func.count()).where(_AT, _DEFERRED)
_COUNT_WAITING: Final = select(func.count()).select_from(
    select(_COLUMNS.subject)
    .where(_AT, _WAITING, _COLUMNS.place == bindparam("inside"))
    .order_by(_COLUMNS.revision)
    .limit(bindparam("most"))
    .subquery()
)
_DEFER: Final = (
    update(_MARKS).where(_AT, _ABOUT).values(refusal=DEFERRED, revision=-func.abs(_COLUMNS.revision))
)
_FORGIVE: Final = update(_MARKS).values(refusal=None, revision=func.abs(_COLUMNS.revision))
_OLDEST_DEFERRED: Final = (
    select(_COLUMNS.subject).where(_AT, _DEFERRED).order_by(_COLUMNS.revision.desc()).limit(bindparam("most"))
)
_TAKE_UP: Final = _FORGIVE.where(_AT, _COLUMNS.subject.in_(_OLDEST_DEFERRED))


class Marks:
    """Subjects waiting for a projection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, new: Sequence[tuple[str, Mapping[Target, str], str]]) -> None:
        """Mark subjects in place of any marks they have: each with its places, by target, and its project."""
        revision = Store(self._connection).next_revision()
        rows = [
            {
                "target": target.value,
                "subject": subject,
                "place": place,
                "project": project,
                "revision": revision,
                "refusal": None,
            }
            for subject, places, project in new
            for target, place in places.items()
        ]
        self._connection.execute(_PUT, rows)

    def set(self, subject: str, places: Mapping[Target, str], project: str) -> None:
        """Mark a subject for each target, in place of any mark it has there."""
        self.add([(subject, places, project)])

    def set_all(self, new: Mapping[tuple[Target, str], Iterable[str]], project: Project) -> None:
        """Mark subjects of a project under their target and place, in place of any mark they have there."""
        marked = [
            (subject, {target: place}, project.name)
            for (target, place), subjects in new.items()
            for subject in subjects
        ]
        if marked:
            self.add(marked)

    def pending(self, target: Target, limit: int) -> list[Mark]:
        """The oldest marks that were not refused."""
        return self._read(_PENDING, at=target.value, most=limit)

    def pending_in(self, target: Target, project: Project, limit: int) -> list[Mark]:
        """The oldest marks of a project that were not refused."""
        return self._read(_PENDING_IN, at=target.value, inside=project.name, most=limit)

    def of(self, target: Target, subjects: Iterable[str]) -> list[Mark]:
        """The marks that these subjects have, refused or not."""
        return self._read(_OF, at=target.value, subjects=list(subjects))

    def clear(self, done: Sequence[Mark]) -> None:
        """Forget marks, except those that were set anew since they were read."""
        if done:
            self._connection.execute(_CLEAR, [_key(mark) for mark in done])

    def clear_in(self, target: Target, project: Project, through: int) -> None:
        """Forget all marks of a project up to a revision."""
        values = {"at": target.value, "inside": project.name, "through": through}
        self._connection.execute(_CLEAR_IN, values)

    def refuse(self, mark: Mark, why: str) -> None:
        """Set a mark aside: the engine will not take this content."""
        self._connection.execute(_REFUSE, _key(mark) | {"refusal": why[:1000]})

    def defer(self, subjects: Iterable[str]) -> None:
        """Let subjects that wait for their vectors wait until they are taken up."""
        for page in batched(subjects):
            self._connection.execute(_DEFER, {"at": Target.VECTORS.value, "subjects": page})

    def take_up(self, limit: int) -> int:
        """Let the oldest deferred marks wait like all others; how many they were."""
        return self._connection.execute(_TAKE_UP, {"at": Target.VECTORS.value, "most": limit}).rowcount

    def forgive(self) -> None:
        """Let refused marks be tried again, and deferred ones."""
        self._connection.execute(_FORGIVE.where(_COLUMNS.refusal.is_not(None)))

    def count(self) -> Mapping[Target, int]:
        """How many wait for each target."""
        counts = {target: self._connection.scalar(_COUNT, {"at": target.value}) or 0 for target in Target}
        return {target: count for target, count in counts.items() if count}

    def count_in(self, target: Target, project: Project) -> int:
        """How many of a project wait for a target, refused or not."""
        own = select(func.count()).where(_AT, _COLUMNS.project == project.name)
        return self._connection.scalar(own, {"at": target.value}) or 0

    def count_refused(self, target: Target) -> int:
        """How many the engine would not take."""
        return self._connection.scalar(_COUNT_REFUSED, {"at": target.value}) or 0

    def count_deferred(self) -> int:
        """How many wait for a backfill."""
        return self._connection.scalar(_COUNT_DEFERRED, {"at": Target.VECTORS.value}) or 0

    def count_waiting(self, target: Target, place: str, most: int) -> int:
        """How many of a place wait for a target; no more than so many are counted."""
        values = {"at": target.value, "inside": place, "most": most}
        return self._connection.scalar(_COUNT_WAITING, values) or 0

    def _read(self, query: Select[Any], **parameters: object) -> list[Mark]:
        rows = self._connection.execute(query, parameters)
        return [Mark(Target(row.target), row.subject, row.place, row.project, row.revision) for row in rows]


def _key(mark: Mark) -> dict[str, Any]:
    return {"at": mark.target.value, "about": mark.subject, "read": mark.revision}
