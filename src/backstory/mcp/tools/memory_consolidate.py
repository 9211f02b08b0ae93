"""The tool `memory_consolidate`: making one of memories that say the same, and taking it back."""

from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.memory.consolidate import Wish, consolidate
from backstory.actions.memory.merged import merged_memories
from backstory.actions.memory.unmerge import unmerge
from backstory.errors import InputError
from backstory.mcp.arguments import Arguments
from backstory.mcp.consolidation import Consolidated, consolidated, listed, shown, undone
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.memory import MEMORY
from backstory.mcp.tools.parameters import OnlyTypes, WritingProject
from backstory.model.merge import DEFAULT_MERGES, MAX_MERGES


class ConsolidateAsked(Arguments):
    """What memory_consolidate takes."""

    # An empty list is refused: it would be read as all of the project.
    ids: Annotated[list[str], Field(min_length=1, max_length=500, description="Only these memories.")] = (
        Field(default_factory=list)
    )
    query: Annotated[
        str | None, Field(min_length=1, max_length=4000, description="Only memories about this.")
    ] = None
    types: OnlyTypes = Field(default_factory=list)
    limit: Annotated[int, Field(ge=1, le=MAX_MERGES, description="Merges at most.")] = DEFAULT_MERGES
    dry_run: Annotated[bool, Field(description="false makes the merges.")] = True
    undo: Annotated[
        str | None, Field(min_length=1, max_length=100, description="Id of a merge to take back instead.")
    ] = None
    list_merges: Annotated[bool, Field(description="Show the last merges instead.")] = False
    project: WritingProject = None

    def wish(self) -> Wish:
        """What may be made one."""
        return Wish(self.ids, self.query, self.types, self.limit)


def _consolidate(request: Request, asked: ConsolidateAsked) -> Consolidated:
    _check(asked)
    project = request.project(asked.project)
    if asked.undo:
        return undone(unmerge(request.engine, project, asked.undo), project.name)
    if asked.list_merges:
        return listed(merged_memories(request.engine, project, asked.limit), project.name)
    found = consolidate(request.engine, project, asked.wish(), request.work, apply=not asked.dry_run)
    return consolidated(found, project.name, dry_run=asked.dry_run)


def _check(asked: ConsolidateAsked) -> None:
    """Refuse what would be passed over in silence."""
    if asked.ids and asked.query:
        raise InputError("`ids` and `query` both say which memories are meant", hint="give one of them")
    chosen = asked.ids or asked.query or asked.types or not asked.dry_run
    if (asked.undo or asked.list_merges) and (chosen or (asked.undo and asked.list_merges)):
        raise InputError(
            "`undo` and `list_merges` stand alone: they plan and merge nothing",
            hint="ask for one thing at a time",
        )


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="memory_consolidate",
        title="Merge memories",
        description=(
            "Find memories that say the same or parts of it, and what one would say in their place."
            " dry_run=false merges them; each merge can be undone."
        ),
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
        ),
        arguments=ConsolidateAsked,
        answer=Consolidated,
        function=_consolidate,
        render=shown,
        is_long=True,
    ),
)
