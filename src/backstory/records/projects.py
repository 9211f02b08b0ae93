"""Projects: one exists as soon as something is kept in it."""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select

from backstory.model.project import Project
from backstory.records import schema

_PROJECTS: Final = schema.projects

_INSERT: Final = insert(_PROJECTS)
_KNOWN: Final = select(_PROJECTS.c.name).where(_PROJECTS.c.name == bindparam("name"))
_ALL: Final = select(_PROJECTS.c.name).order_by(_PROJECTS.c.created_at, _PROJECTS.c.name)


class Projects:
    """Every project that something was kept in."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def enter(self, project: Project) -> None:
        """Let there be this project."""
        if self._connection.scalar(_KNOWN, {"name": project.name}) is None:
            self._connection.execute(_INSERT, {"name": project.name, "created_at": datetime.now(UTC)})

    def all(self) -> list[Project]:
        """Every project there is, oldest first."""
        return [Project(name) for name in self._connection.scalars(_ALL)]
