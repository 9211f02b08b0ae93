"""The toolset `maintenance`, its part that writes memories to files and reads them in."""

from pathlib import Path
from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.portable.export_memories import export_folder, export_memories
from backstory.actions.portable.import_memories import import_memories
from backstory.actions.portable.import_plan import Wish
from backstory.folders import allowed_path
from backstory.mcp import file_answers, moments
from backstory.mcp.arguments import Arguments
from backstory.mcp.file_answers import MemoriesExported, MemoriesImported
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.maintenance import MAINTENANCE
from backstory.mcp.tools.parameters import OnlyTypes, PlainValue, ReadingProject
from backstory.model.portable import OnConflict, Selection
from backstory.model.project import MAX_NAME_CHARS, Scope


class ExportAsked(Arguments):
    """What export_memory takes."""

    path: Annotated[
        str | None,
        Field(min_length=1, max_length=4096, description="File to write. Default: one in the data folder."),
    ] = None
    types: OnlyTypes = Field(default_factory=list)
    since: Annotated[
        str | None, Field(alias="from", max_length=40, description="Created at or after: ISO time or date.")
    ] = None
    until: Annotated[str | None, Field(alias="to", max_length=40, description="Created at or before.")] = None
    metadata: Annotated[dict[str, PlainValue], Field(description="Only with these metadata values.")] = Field(
        default_factory=dict
    )
    overwrite: Annotated[bool, Field(description="Replace the file if it is an export.")] = False
    project: ReadingProject = None

    def selection(self, scope: Scope) -> Selection:
        """The memories that are asked for."""
        return Selection(
            scope,
            self.types,
            moments.since(self.since) if self.since else None,
            moments.until(self.until) if self.until else None,
            self.metadata,
        )


class ImportAsked(Arguments):
    """What import_memory takes."""

    path: Annotated[str, Field(min_length=1, max_length=4096, description="File that export_memory wrote.")]
    on_conflict: Annotated[
        OnConflict, Field(description="What to do with a memory that is here and says something else.")
    ] = OnConflict.SKIP
    project: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_NAME_CHARS,
            description="Project for all. Default: those they are from.",
        ),
    ] = None


def _export(request: Request, asked: ExportAsked) -> MemoriesExported:
    selection = asked.selection(request.scope(asked.project))
    path = _path(request, asked.path) if asked.path else None
    done = export_memories(request.engine, selection, path, request.work, overwrite=asked.overwrite)
    return MemoriesExported.of(done)


def _import(request: Request, asked: ImportAsked) -> MemoriesImported:
    project = request.project(asked.project) if asked.project else None
    wish = Wish(asked.on_conflict, project)
    return MemoriesImported.of(
        import_memories(request.engine, _path(request, asked.path), wish, request.work)
    )


def _path(request: Request, text: str) -> Path:
    """A file that the caller may use, or one among the exports."""
    engine = request.engine
    return allowed_path(text, request.caller.directory, (*engine.roots, export_folder(engine)))


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="export_memory",
        title="Export memories",
        description="Write memories with versions, links and history to a JSONL file, for backup or a move.",
        toolsets=(MAINTENANCE,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
        arguments=ExportAsked,
        answer=MemoriesExported,
        function=_export,
        render=file_answers.exported,
        is_long=True,
    ),
    Tool(
        name="import_memory",
        title="Import memories",
        description="Read memories in from a file of export_memory. It is checked whole before any is kept.",
        toolsets=(MAINTENANCE,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        ),
        arguments=ImportAsked,
        answer=MemoriesImported,
        function=_import,
        render=file_answers.imported,
        is_long=True,
    ),
)
