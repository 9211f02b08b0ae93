"""The toolset `transcripts`, its second half: what is done with the conversations of one project.

It is that of the caller unless another is named, or all are.
"""

from datetime import UTC, datetime
from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.export import export
from backstory.actions.transcripts.ingest import ingest_transcripts
from backstory.actions.transcripts.recall import recall
from backstory.actions.transcripts.stats import conversation_stats
from backstory.actions.transcripts.timeline import timeline
from backstory.actions.transcripts.topics import search_topics
from backstory.errors import InputError
from backstory.mcp import transcript_render as render
from backstory.mcp.budget import fitting
from backstory.mcp.cursors import page_at
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.transcript_arguments import (
    ExportAsked,
    IndexAsked,
    RecallAsked,
    StatsAsked,
    TimelineAsked,
    TopicsAsked,
    question,
)
from backstory.mcp.tools.transcripts import TRANSCRIPTS
from backstory.mcp.transcript_answers import ConversationsExported, TurnRecalled, TurnsFound, TurnsRecalled
from backstory.mcp.transcript_export import TURNS, export_page, place_of
from backstory.mcp.transcript_fitting import fit_found, fit_recalled
from backstory.mcp.transcript_reports import (
    ConversationsCounted,
    ConversationsIndexed,
    DayTold,
    Timeline,
    scope_name,
)

_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def _index(request: Request, asked: IndexAsked) -> ConversationsIndexed:
    if not request.engine.transcripts.roots:
        raise InputError("transcripts are not read in", hint="set ENABLE_CONVERSATION_MEMORY=true")
    wish = Wish(recent_only=asked.recent_only, limit=asked.limit, scope=request.scope(asked.project))
    return ConversationsIndexed.of(ingest_transcripts(request.engine, wish, request.work))


def _recall(request: Request, asked: RecallAsked) -> TurnsRecalled:
    query = asked.query(datetime.now(UTC))
    scope = request.scope(asked.project)
    found = recall(request.engine, scope, query, include_graph=asked.include_graph)
    hits = [TurnRecalled.recalled(each) for each in found.hits]
    return fit_recalled(hits).model_copy(update={"degraded": list(found.degraded) or None})


def _search_topics(request: Request, asked: TopicsAsked) -> TurnsFound:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = search_topics(request.engine, scope, asked.topics, asked.query(page))
    return fit_found(found, page, asked.limit, asking)


def _timeline(request: Request, asked: TimelineAsked) -> Timeline:
    scope = request.scope(asked.project)
    days = [DayTold.of(day) for day in timeline(request.engine, scope, days=asked.days)]
    shown = fitting(days)
    left = len(days) - len(shown)
    notes = [f"{left} older days are left out for their length"] if left else None
    return Timeline(project=scope_name(scope), days=shown, notes=notes)


def _stats(request: Request, asked: StatsAsked) -> ConversationsCounted:
    scope = request.scope(asked.project)
    return ConversationsCounted.of(conversation_stats(request.engine, scope), scope_name(scope))


def _export(request: Request, asked: ExportAsked) -> ConversationsExported:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    place = place_of(page)
    found = export(request.engine, scope, conversation=asked.conversation_id, place=place, limit=TURNS)
    answer, following = export_page(found, page, asked.format)
    return answer.model_copy(update={"next_cursor": following.pack(asking) if following else None})


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="conversation_index",
        title="Index conversations",
        description="Read in what is new in the transcripts of this project. Usually done by itself.",
        toolsets=(TRANSCRIPTS,),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
        arguments=IndexAsked,
        answer=ConversationsIndexed,
        function=_index,
        render=render.indexed,
        is_long=True,
    ),
    Tool(
        name="conversation_recall",
        title="Recall conversations",
        description=(
            "Find turns of this project's sessions with the turns around them, the files they touched and"
            " other sessions about those files."
        ),
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=RecallAsked,
        answer=TurnsRecalled,
        function=_recall,
        render=render.recalled,
    ),
    Tool(
        name="conversation_search",
        title="Search conversations by topics",
        description="Find turns of this project's sessions that are about any of several topics.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=TopicsAsked,
        answer=TurnsFound,
        function=_search_topics,
        render=render.found,
    ),
    Tool(
        name="conversation_stats",
        title="Conversation statistics",
        description="How many sessions, turns and links are kept, how well they were read, what waits.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=StatsAsked,
        answer=ConversationsCounted,
        function=_stats,
        render=render.counted,
    ),
    Tool(
        name="conversation_export",
        title="Export conversations",
        description="One session or all of this project, whole, as JSON or markdown, a page at a time.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=ExportAsked,
        answer=ConversationsExported,
        function=_export,
        render=render.exported,
    ),
    Tool(
        name="conversation_timeline",
        title="Conversation timeline",
        description="Day by day: how many sessions and messages of this project, with ids of some.",
        toolsets=(TRANSCRIPTS,),
        annotations=_READING,
        arguments=TimelineAsked,
        answer=Timeline,
        function=_timeline,
        render=render.timeline,
    ),
)
