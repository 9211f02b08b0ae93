"""The toolset `transcripts`, its first half: finding a conversation and reading it.

These tools see all projects unless one is named: one rarely remembers where something was said. Those
that work on one project are in `project_transcripts`.
"""

from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.actions.transcripts.browse import list_conversations
from backstory.actions.transcripts.read import read_conversation, read_turn
from backstory.actions.transcripts.search import search_turns
from backstory.mcp import transcript_render as render
from backstory.mcp.budget import fitting
from backstory.mcp.cursors import Cursor, page_at
from backstory.mcp.tool import CORE, Request, Tool
from backstory.mcp.tools.transcript_arguments import (
    ConversationAsked,
    ListAsked,
    SearchAsked,
    TurnAsked,
    question,
)
from backstory.mcp.transcript_answers import (
    ConversationListed,
    ConversationRead,
    ConversationsListed,
    TurnRead,
    TurnsFound,
)
from backstory.mcp.transcript_fitting import fit_conversation, fit_found, fit_turn
from backstory.model.project import ALL_PROJECTS, Scope

TRANSCRIPTS: Final = "transcripts"

_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def _search(request: Request, asked: SearchAsked) -> TurnsFound:
    scope = _anywhere(request, asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = search_turns(request.engine, scope, asked.query(page))
    return fit_found(found, page, asked.limit, asking)


def _list(request: Request, asked: ListAsked) -> ConversationsListed:
    scope = _anywhere(request, asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = list_conversations(request.engine, scope, limit=asked.limit, offset=page.offset)
    shown = fitting([ConversationListed.of(each) for each in found.conversations])
    end = page.offset + len(shown)
    following = Cursor(end, page.moment).pack(asking) if end < found.total else None
    return ConversationsListed(total=found.total, conversations=shown, next_cursor=following)


def _read_turn(request: Request, asked: TurnAsked) -> TurnRead:
    scope = _anywhere(request, asked.project)
    read = read_turn(request.engine, scope, asked.session_id, asked.turn_number)
    return fit_turn(TurnRead.read(read), asked.offset)


def _read_conversation(request: Request, asked: ConversationAsked) -> ConversationRead:
    scope = _anywhere(request, asked.project)
    read = read_conversation(request.engine, scope, asked.session_id, offset=asked.offset, limit=asked.limit)
    return fit_conversation(ConversationRead.of(read, asked.offset))


def _anywhere(request: Request, named: str | None) -> Scope:
    return ALL_PROJECTS if named is None else request.scope(named)


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="search_conversations",
        title="Search conversations",
        description=(
            "Find what was said in earlier sessions with agents, of any project: what the user asked for,"
            " how something was solved, commands and their results."
        ),
        toolsets=(CORE, TRANSCRIPTS),
        annotations=_READING,
        arguments=SearchAsked,
        answer=TurnsFound,
        function=_search,
        render=render.found,
    ),
    Tool(
        name="list_conversations",
        title="List conversations",
        description="Earlier sessions, newest first: title, times, turns, folder, git branch.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=ListAsked,
        answer=ConversationsListed,
        function=_list,
        render=render.listed,
    ),
    Tool(
        name="read_turn",
        title="Read a turn",
        description="Read one turn whole: what was asked, what was answered, which tools gave what back.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=TurnAsked,
        answer=TurnRead,
        function=_read_turn,
        render=render.turn,
    ),
    Tool(
        name="read_conversation",
        title="Read a conversation",
        description="Read an earlier session, some turns at a time: what led to a hit, and what followed.",
        toolsets=(CORE, TRANSCRIPTS),
        annotations=_READING,
        arguments=ConversationAsked,
        answer=ConversationRead,
        function=_read_conversation,
        render=render.conversation,
    ),
)
