"""The toolset `conversations`: live ones, written turn by turn and read back as context.

They belong to the caller's project unless another is named. Transcripts have tools of their own; a search
finds both.
"""

from typing import Any, Final

from mcp.types import ToolAnnotations

from backstory.actions.conversations.add_turn import add_turn
from backstory.actions.conversations.change import delete_conversation, update_conversation
from backstory.actions.conversations.context import get_context
from backstory.actions.conversations.create import create_conversation
from backstory.actions.conversations.history import history
from backstory.actions.conversations.summarizing import summarize_now
from backstory.mcp import conversation_render as render
from backstory.mcp.conversation_answers import (
    ContextTold,
    ConversationCreated,
    ConversationSummarized,
    HistoryTold,
    LiveConversationDeleted,
    LiveConversationTold,
    TurnAdded,
)
from backstory.mcp.conversation_fitting import fit_context, fit_history, fit_summaries
from backstory.mcp.tool import CORE, Request, Tool
from backstory.mcp.tools.conversation_arguments import (
    AddTurnAsked,
    ContextAsked,
    CreateAsked,
    DeleteAsked,
    HistoryAsked,
    SummarizeAsked,
    UpdateAsked,
)

CONVERSATIONS: Final = "conversations"

_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def _writing(*, destructive: bool = False, idempotent: bool) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


def _create(request: Request, asked: CreateAsked) -> ConversationCreated:
    project = request.project(asked.project)
    return ConversationCreated.made(create_conversation(request.engine, project, asked.wanted()))


def _add_turn(request: Request, asked: AddTurnAsked) -> TurnAdded:
    project = request.project(asked.project)
    key = request.caller.key
    return TurnAdded.of(add_turn(request.engine, project, asked.conversation_id, asked.said(), key=key))


def _summarize(request: Request, asked: SummarizeAsked) -> ConversationSummarized:
    project = request.project(asked.project)
    made = summarize_now(request.engine, project, asked.conversation_id, request.work)
    return fit_summaries(asked.conversation_id, made)


def _history(request: Request, asked: HistoryAsked) -> HistoryTold:
    scope = request.scope(asked.project)
    most = asked.max_tokens or request.engine.tiers.max_tokens
    shown = history(request.engine, scope, asked.conversation_id, max_tokens=most)
    return fit_history(shown, asked.format, most)


def _context(request: Request, asked: ContextAsked) -> ContextTold:
    scope = request.scope(asked.project)
    context = get_context(request.engine, scope, asked.conversation_id, asked.wanted())
    return fit_context(context, asked.conversation_id)


def _update(request: Request, asked: UpdateAsked) -> LiveConversationTold:
    project = request.project(asked.project)
    changed = update_conversation(
        request.engine, project, asked.conversation_id, title=asked.title, metadata=asked.metadata
    )
    return LiveConversationTold.of(changed)


def _delete(request: Request, asked: DeleteAsked) -> LiveConversationDeleted:
    project = request.project(asked.project)
    return LiveConversationDeleted.gone(delete_conversation(request.engine, project, asked.conversation_id))


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="create_conversation",
        title="Begin a conversation",
        description="Begin the live conversation of a room, or get the one that it has.",
        toolsets=(CONVERSATIONS,),
        annotations=_writing(idempotent=True),
        arguments=CreateAsked,
        answer=ConversationCreated,
        function=_create,
        render=render.created,
    ),
    Tool(
        name="add_turn",
        title="Add a turn",
        description="Keep what was said in a live conversation. It is found by its words at once.",
        toolsets=(CONVERSATIONS,),
        annotations=_writing(idempotent=False),
        arguments=AddTurnAsked,
        answer=TurnAdded,
        function=_add_turn,
        render=render.added,
    ),
    Tool(
        name="summarize_conversation",
        title="Summarize a conversation",
        description="Sum up the older turns of a live conversation now. It is done by itself as turns come.",
        toolsets=(CONVERSATIONS,),
        annotations=_writing(idempotent=False),
        arguments=SummarizeAsked,
        answer=ConversationSummarized,
        function=_summarize,
        render=render.summarized,
        is_long=True,
    ),
    Tool(
        name="get_conversation_history",
        title="Read a conversation's history",
        description="Read a live conversation in few tokens: newest turns, summaries of older ones, archive.",
        toolsets=(CONVERSATIONS,),
        annotations=_READING,
        arguments=HistoryAsked,
        answer=HistoryTold,
        function=_history,
        render=render.history,
    ),
    Tool(
        name="get_context",
        title="Get context",
        description=(
            "What to read of a live conversation before you answer: its newest turns, the thread, and what"
            " was said about this earlier."
        ),
        toolsets=(CORE, CONVERSATIONS),
        annotations=_READING,
        arguments=ContextAsked,
        answer=ContextTold,
        function=_context,
        render=render.context,
    ),
    Tool(
        name="update_conversation",
        title="Change a conversation",
        description="Give a live conversation another title, or other metadata.",
        toolsets=(CONVERSATIONS,),
        annotations=_writing(idempotent=True),
        arguments=UpdateAsked,
        answer=LiveConversationTold,
        function=_update,
        render=render.updated,
    ),
    Tool(
        name="delete_conversation",
        title="Delete a conversation",
        description="Forget a live conversation. It is not found any more, and its room is free.",
        toolsets=(CONVERSATIONS,),
        annotations=_writing(destructive=True, idempotent=True),
        arguments=DeleteAsked,
        answer=LiveConversationDeleted,
        function=_delete,
        render=render.deleted,
    ),
)
