"""A tool as a value: what an agent reads of it, and the function behind it.

Which tools there are is said in `tools`; how a call is checked, done and noted, in `calls`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from mcp.types import ToolAnnotations

from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.folders import allowed_path, checked_project, named_project, project_of
from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments
from backstory.mcp.caller import Caller
from backstory.mcp.observation import Performance
from backstory.model.project import ALL_PROJECTS, Project, Scope

CORE: Final = "core"
ALL: Final = "all"

Asked = TypeVar("Asked", bound=Arguments)
Told = TypeVar("Told", bound=Answer)


@dataclass(frozen=True, slots=True)
class Tool(Generic[Asked, Told]):
    """One tool. Its description costs every agent context, so it is short and says when to use it."""

    name: str
    title: str
    description: str
    toolsets: Sequence[str]
    annotations: ToolAnnotations
    arguments: type[Asked]
    answer: type[Told]
    function: Callable[["Request", Asked], Told]
    render: Callable[[Told], str]
    #: Claude Code shows an agent the names of tools alone, until it looks for one; this one it shows whole.
    always_loaded: bool = False
    #: Takes seconds or minutes, and must not keep short calls waiting.
    is_long: bool = False


@dataclass(frozen=True, slots=True)
class Toolbox:
    """All tools, and which of them are offered. Those that are not can still be called by name."""

    tools: Mapping[str, Tool[Any, Any]]
    toolsets: Sequence[str]

    @property
    def offered(self) -> Sequence[str]:
        """The names of the tools that agents are shown, always in the same order."""
        wanted = {CORE, *self.toolsets}
        return [name for name, tool in self.tools.items() if ALL in wanted or wanted & set(tool.toolsets)]


@dataclass(frozen=True, slots=True)
class Request:
    """What a tool works with, beside its arguments."""

    engine: Engine
    toolbox: Toolbox
    performance: Performance
    default_project: str
    caller: Caller
    work: Work

    def scope(self, named: str | None) -> Scope:
        """What may be read: the project named, every project for `*`, else that of the caller's folder."""
        return ALL_PROJECTS if named is not None and named.strip() == "*" else self.project(named)

    def path(self, text: str) -> Path:
        """A file or folder that the caller may use; a relative one is below the caller's folder."""
        return allowed_path(text, self.caller.directory, self.engine.roots)

    def project(self, named: str | None) -> Project:
        """The project to write to: the one named, else that of the caller's folder."""
        folder = self.caller.directory
        if named is None:
            return project_of(folder) if folder else checked_project(self.default_project)
        if named.strip() == "*":
            raise InputError(
                "what is kept belongs to one project, not to all of them",
                hint="name the project, or leave it out to use that of your folder",
            )
        if folder is None and named.strip().startswith("."):
            raise InputError(
                f"{named} is a relative folder, and yours is not known", hint="give its absolute path"
            )
        return named_project(named, folder)
