"""The project: the wall that every read and write stays inside.

How a folder becomes a project is decided above; here a project is only a checked name.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

MAX_NAME_CHARS: Final = 500


@dataclass(frozen=True, slots=True, order=True)
class Project:
    """One body of work. Nothing of one project is seen from another."""

    name: str

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable() or self.name == "*":
            raise ValueError(f"{self.name!r} cannot name a project: give it a printable name")
        if len(self.name) > MAX_NAME_CHARS:
            raise ValueError(f"a project's name has at most {MAX_NAME_CHARS} characters")

    def __str__(self) -> str:
        return self.name


class _Everything(Enum):
    ALL = "*"


#: Passed on purpose by cross-project search; there is no other way to read without a project.
ALL_PROJECTS: Final = _Everything.ALL

Scope = Project | Literal[_Everything.ALL]


def is_inside(scope: Scope, project: Project) -> bool:
    """Whether a read with this scope may see what is in the project."""
    return scope in (ALL_PROJECTS, project)
