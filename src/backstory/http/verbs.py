"""What a verb of the local endpoint is: what it works with, and what it comes to.

The verbs themselves are in `conversation_verbs` and `memory_verbs`; they are what only a person does, who
owns the data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.folders import named_project
from backstory.mcp.caller import Caller
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.settings import Settings

#: As many as a person reads; who wants all of them asks for more.
LISTED: Final = 50
MOST_LISTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Asking:
    """What a verb works with, beside its arguments."""

    engine: Engine
    settings: Settings
    caller: Caller
    work: Work

    def scope(self, named: str | None) -> Scope:
        """The project that is named, by its name or by a folder; else every one."""
        if named is None or named.strip() == ALL_PROJECTS.value:
            return ALL_PROJECTS
        return named_project(named, self.caller.directory)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: the values, and the same as a person reads it."""

    answer: dict[str, Any]
    text: str


Verb = Callable[[Asking, Mapping[str, object]], Told]


def check_within(name: str, value: int, least: int, most: int) -> None:
    """Raise `InputError` for an argument that is too small or too large."""
    if not least <= value <= most:
        raise InputError(f"`{name}` is {value}", hint=f"it must be a whole number from {least} to {most:,}")
