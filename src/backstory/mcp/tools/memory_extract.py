"""The tool `memory_extract`: what of a talk is worth remembering."""

from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import AfterValidator, Field, WithJsonSchema

from backstory.actions.memory.extract import Wish, extract_memories
from backstory.mcp.arguments import Arguments
from backstory.mcp.extraction import MemoriesExtracted, shown, told
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.memory import MEMORY
from backstory.mcp.tools.parameters import WritingProject
from backstory.model.candidate import EXTRACTED_TYPES, USUAL_CONFIDENCE

#: A long session, pasted; what is longer is better read as a session.
MOST_CHARS: Final = 200_000


def _extracted_type(name: str) -> str:
    if name not in EXTRACTED_TYPES:
        raise ValueError(name)  # put into words by whoever reads the arguments
    return name


_TypeName = Annotated[
    str,
    AfterValidator(_extracted_type),
    WithJsonSchema({"type": "string", "enum": list(EXTRACTED_TYPES)}),
]


class ExtractAsked(Arguments):
    """What memory_extract takes."""

    session_id: Annotated[
        str | None,
        Field(min_length=1, max_length=300, description="Conversation to read, transcript or live."),
    ] = None
    text: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MOST_CHARS,
            description="Text to read in place of a session; User: and Assistant: may say who spoke.",
        ),
    ] = None
    types: Annotated[
        list[_TypeName], Field(max_length=len(EXTRACTED_TYPES), description="Only these types.")
    ] = Field(default_factory=list)
    min_confidence: Annotated[float, Field(ge=0, le=1, description="Only what is at least so sure.")] = (
        USUAL_CONFIDENCE
    )
    from_turn: Annotated[
        int, Field(ge=1, le=1_000_000, description="Turn to begin at: next_turn of the last answer.")
    ] = 1
    dry_run: Annotated[bool, Field(description="false keeps all candidates that are new, or none.")] = True
    project: WritingProject = None


def _extract(request: Request, asked: ExtractAsked) -> MemoriesExtracted:
    project = request.project(asked.project)
    wish = Wish(
        text=asked.text,
        session=asked.session_id,
        first_turn=asked.from_turn,
        types=asked.types,
        min_confidence=asked.min_confidence,
        keep=not asked.dry_run,
        key=request.caller.key,
    )
    return told(extract_memories(request.engine, project, wish, request.work), project.name, asked.session_id)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="memory_extract",
        title="Extract memories",
        description=(
            "Find what is worth remembering in a session or a text: decisions, preferences, requirements,"
            " conventions, failed tests and their fixes. Use at the end of a session; keep it with"
            " dry_run=false."
        ),
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
        arguments=ExtractAsked,
        answer=MemoriesExtracted,
        function=_extract,
        render=shown,
        is_long=True,
    ),
)
