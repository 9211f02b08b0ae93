"""The audit trail: what was done to what, when. What a memory was before is in its versions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, insert, select

from backstory.model.memory import Memory
from backstory.model.project import Project, Scope
from backstory.model.upkeep import Activity
from backstory.records import schema

_AUDIT: Final = schema.audit
_INSERT: Final = insert(_AUDIT)


class Audit:
    """Entries are only ever added."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def append(self, operation: str, done: Sequence[tuple[Memory, datetime]]) -> None:
        """Write down that something was done to memories, and when to each."""
        rows = [
            {
                "project": memory.project.name,
                "subject": memory.id,
                "operation": operation,
                "version": memory.version,
                "at": at,
            }
            for memory, at in done
        ]
        self._connection.execute(_INSERT, rows)

    def recent(self, scope: Scope, limit: int) -> Sequence[Activity]:
        """The newest entries, newest first."""
        query = select(_AUDIT).order_by(_AUDIT.c.number.desc()).limit(limit)
        if isinstance(scope, Project):
            query = query.where(_AUDIT.c.project == scope.name)
        return [
            Activity(row.subject, row.project, row.operation, row.version, row.at)
            for row in self._connection.execute(query)
        ]
