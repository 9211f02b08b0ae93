"""The audit trail: what was done to what, when. What a memory was before is in its versions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select

from backstory.model.memory import Memory
from backstory.model.project import Project, Scope
from backstory.model.upkeep import Activity
from backstory.records import schema
from backstory.records.memory_rows import activity_of

_AUDIT: Final = schema.audit
_INSERT: Final = insert(_AUDIT)
_OF: Final = select(_AUDIT).where(_AUDIT.c.subject == bindparam("about")).order_by(_AUDIT.c.number)


class Audit:
    """Entries are only ever added."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(
        self,
        operation: str,
        done: Sequence[tuple[Memory, datetime]],
        details: Mapping[str, object] | None = None,
    ) -> None:
        """Write down that something was done to memories, when to each, and with what."""
        rows = [
            {
                "project": memory.project.name,
                "subject": memory.id,
                "operation": operation,
                "version": memory.version,
                "at": at,
                "details": details,
            }
            for memory, at in done
        ]
        self._connection.execute(_INSERT, rows)

    def of(self, id: str) -> list[Activity]:
        """All that was done to something, oldest first."""
        return [activity_of(row) for row in self._connection.execute(_OF, {"about": id})]

    def recent(self, scope: Scope, limit: int) -> Sequence[Activity]:
        """The newest entries, newest first."""
        query = select(_AUDIT).order_by(_AUDIT.c.number.desc()).limit(limit)
        if isinstance(scope, Project):
            query = query.where(_AUDIT.c.project == scope.name)
        return [activity_of(row) for row in self._connection.execute(query)]
