"""The toolset `memory`: keeping, reading, finding and forgetting what was remembered."""

from dataclasses import replace
from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.bulk_add import add_memories
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.history import memory_history
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.mcp import memory_render, render
from backstory.mcp.answers import MemoriesFound, MemoryAdded, MemoryDeleted, MemoryFound, MemoryShown
from backstory.mcp.cursors import Cursor, page_at
from backstory.mcp.fitting import fit_hits, fit_memory
from backstory.mcp.memory_answers import MemoriesAdded, MemoryHistory, MemoryUpdated
from backstory.mcp.memory_fitting import fit_added, fit_history, fit_updated
from backstory.mcp.tool import CORE, Request, Tool
from backstory.mcp.tools.memory_arguments import (
    AddAsked,
    BulkAddAsked,
    DeleteAsked,
    GetAsked,
    HistoryAsked,
    SearchAsked,
    UpdateAsked,
)
from backstory.model.search import FoundMemories

MEMORY: Final = "memory"


def _add(request: Request, asked: AddAsked) -> MemoryAdded:
    project = request.project(asked.project)
    return MemoryAdded.of(add_memory(request.engine, project, asked.new(), key=request.caller.key))


def _add_all(request: Request, asked: BulkAddAsked) -> MemoriesAdded:
    project = request.project(asked.project)
    done = add_memories(request.engine, project, asked.items(), key=request.caller.key)
    return fit_added(MemoriesAdded.of(done))


def _update(request: Request, asked: UpdateAsked) -> MemoryUpdated:
    project, change = request.project(asked.project), asked.change()
    done = update_memory(request.engine, project, asked.id, change, expected_version=asked.expected_version)
    return fit_updated(MemoryUpdated.of(done))


def _history(request: Request, asked: HistoryAsked) -> MemoryHistory:
    scope = request.scope(asked.project)
    question = asked.question(scope)
    page = page_at(asked.cursor, question)
    before = page.offset if asked.cursor else None
    found = memory_history(request.engine, scope, asked.id, limit=asked.limit, before=before)
    following = replace(page, offset=found.earlier).pack(question) if found.earlier else None
    return fit_history(MemoryHistory.of(found)).model_copy(update={"next_cursor": following})


def _get(request: Request, asked: GetAsked) -> MemoryShown:
    gotten = get_memory(request.engine, request.scope(asked.project), asked.id)
    return fit_memory(MemoryShown.of(gotten), asked.offset)


def _search(request: Request, asked: SearchAsked) -> MemoriesFound:
    scope = request.scope(asked.project)
    question = asked.question(scope)
    page = page_at(asked.cursor, question)
    found = search_memories(request.engine, scope, asked.query(page))
    following = {
        "degraded": list(found.degraded) or None,
        "next_cursor": _after(page, found).pack(question) if found.more else None,
    }
    return fit_hits([MemoryFound.of(hit) for hit in found.hits]).model_copy(update=following)


def _delete(request: Request, asked: DeleteAsked) -> MemoryDeleted:
    return MemoryDeleted.of(delete_memory(request.engine, request.project(asked.project), asked.id))


def _after(page: Cursor, found: FoundMemories) -> Cursor:
    """Where the next page begins. What was given stays in sight, also when the clock was set back."""
    newest = max([page.moment, *(hit.memory.created_at for hit in found.hits)])
    return Cursor(found.end, newest, ranking=found.ranking)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="memory_search",
        title="Search memories",
        description=(
            "Find what was remembered about this project: requirements, decisions, patterns, past failures,"
            " preferences. Use before planning, designing or fixing."
        ),
        toolsets=(CORE, MEMORY),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=SearchAsked,
        answer=MemoriesFound,
        function=_search,
        render=render.found,
        always_loaded=True,
    ),
    Tool(
        name="memory_add",
        title="Add a memory",
        description=(
            "Remember something for later sessions: a decision with its reason, a requirement, a convention,"
            " a fix that worked, how the user wants things done. One fact a memory."
        ),
        toolsets=(CORE, MEMORY),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
        arguments=AddAsked,
        answer=MemoryAdded,
        function=_add,
        render=render.added,
    ),
    Tool(
        name="memory_update",
        title="Update a memory",
        description=(
            "Correct or complete a memory in place: new text, metadata entries, importance, links. Versions"
            " are kept. Prefer it to adding a second one."
        ),
        toolsets=(CORE, MEMORY),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        arguments=UpdateAsked,
        answer=MemoryUpdated,
        function=_update,
        render=memory_render.updated,
    ),
    Tool(
        name="memory_bulk_add",
        title="Add memories",
        description="Remember many things at once: all are kept, or none if one is not acceptable.",
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
        arguments=BulkAddAsked,
        answer=MemoriesAdded,
        function=_add_all,
        render=memory_render.added_all,
        is_long=True,
    ),
    Tool(
        name="memory_get",
        title="Read a memory",
        description="Read one memory whole, with its links. Use when a hit was shortened, or for its links.",
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=GetAsked,
        answer=MemoryShown,
        function=_get,
        render=render.shown,
    ),
    Tool(
        name="memory_history",
        title="History of a memory",
        description="What was done to a memory, newest first: when, what it was before, what changed.",
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=HistoryAsked,
        answer=MemoryHistory,
        function=_history,
        render=memory_render.history,
    ),
    Tool(
        name="memory_delete",
        title="Delete a memory",
        description="Forget a memory that is wrong or out of date. It can be restored for 30 days.",
        toolsets=(MEMORY,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        ),
        arguments=DeleteAsked,
        answer=MemoryDeleted,
        function=_delete,
        render=render.deleted,
    ),
)
