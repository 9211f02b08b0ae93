"""The toolset `maintenance`, its part that reads documents in."""

from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.documents.ingest import ingest_documents
from backstory.mcp import document_answers
from backstory.mcp.arguments import Arguments
from backstory.mcp.document_answers import DocumentsRead
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.maintenance import MAINTENANCE
from backstory.mcp.tools.parameters import WritingProject


class IngestAsked(Arguments):
    """What ingest_documents takes."""

    path: Annotated[
        str, Field(min_length=1, max_length=4096, description="A Markdown file, or a folder of them.")
    ]
    dry_run: Annotated[bool, Field(description="Only tell what would be done.")] = False
    project: WritingProject = None


def _ingest(request: Request, asked: IngestAsked) -> DocumentsRead:
    project, path = request.project(asked.project), request.path(asked.path)
    base = request.caller.directory
    done = ingest_documents(request.engine, project, path, request.work, base=base, dry_run=asked.dry_run)
    return DocumentsRead.of(done, project.name, dry_run=asked.dry_run)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="ingest_documents",
        title="Ingest documents",
        description=(
            "Read requirements (REQ-… ids) and decision records out of Markdown and keep them as memories."
            " Again after changes: each is kept once."
        ),
        toolsets=(MAINTENANCE,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        arguments=IngestAsked,
        answer=DocumentsRead,
        function=_ingest,
        render=document_answers.read,
        is_long=True,
    ),
)
