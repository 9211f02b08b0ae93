"""The tool `working_memory`: what to have in mind before a task."""

from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.memory.working_memory import working_memory
from backstory.mcp.arguments import Arguments
from backstory.mcp.budget import MOST_TOKENS
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.memory import MEMORY
from backstory.mcp.tools.parameters import OnlyTypes, WritingProject
from backstory.mcp.working_memory import AROUND, WorkingMemoryTold, shown, told

#: A few dozen memories, and fewer characters than the 50,000 that Claude Code would write to a file.
USUAL_TOKENS: Final = 8_000
#: What stands around the memories, and a short one.
LEAST_TOKENS: Final = 500


class WorkingAsked(Arguments):
    """What working_memory takes."""

    task: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4000,
            description="What you are about to do. Without it: what matters most in the project.",
        ),
    ] = None
    max_tokens: Annotated[
        int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS, description="What the answer may take.")
    ] = USUAL_TOKENS
    types: OnlyTypes = Field(default_factory=list)
    project: WritingProject = None


def in_mind(request: Request, asked: WorkingAsked) -> WorkingMemoryTold:
    """The working memory that was asked for."""
    project = request.project(asked.project)
    most = asked.max_tokens
    found = working_memory(request.engine, project, asked.task, types=asked.types, max_tokens=most - AROUND)
    return told(found, project, most)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="working_memory",
        title="Working memory",
        description=(
            "What to have in mind for a task: the most useful memories of every type within a number of"
            " tokens, and why each. Use once, when a task begins."
        ),
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=WorkingAsked,
        answer=WorkingMemoryTold,
        function=in_mind,
        render=shown,
    ),
)
