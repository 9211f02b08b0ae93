"""The tool `get_related`: what is around something."""

from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.graph.related import MOST_STEPS, get_related
from backstory.mcp.arguments import Arguments
from backstory.mcp.related import RelatedTold, shown
from backstory.mcp.tool import CORE, Request, Tool
from backstory.mcp.tools.memory import MEMORY
from backstory.mcp.tools.parameters import WritingProject
from backstory.model.graph import Direction, RelationshipType, Walk

_USUAL: Final = 50
_MOST: Final = 200


class RelatedAsked(Arguments):
    """What get_related takes."""

    entity: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="Id of a memory, session or requirement, name of a component, path of a file.",
        ),
    ]
    types: Annotated[
        list[RelationshipType], Field(max_length=len(RelationshipType), description="Only along these.")
    ] = Field(default_factory=list)
    depth: Annotated[int, Field(ge=1, le=MOST_STEPS, description="Steps to take.")] = 1
    direction: Annotated[Direction, Field(description="Which way to follow links.")] = Direction.BOTH
    limit: Annotated[int, Field(ge=1, le=_MOST, description="Things shown, the nearest first.")] = _USUAL
    project: WritingProject = None


def _related(request: Request, asked: RelatedAsked) -> RelatedTold:
    walk = Walk(asked.depth, asked.types, asked.direction)
    project = request.project(asked.project)
    return RelatedTold.of(get_related(request.engine, project, asked.entity, walk, asked.limit))


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="get_related",
        title="Get related",
        description=(
            "What something is linked to, up to three steps away: what depends on it, implements it, tests"
            " it, which sessions touched it. Use before changing it."
        ),
        toolsets=(CORE, MEMORY),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=RelatedAsked,
        answer=RelatedTold,
        function=_related,
        render=shown,
    ),
)
