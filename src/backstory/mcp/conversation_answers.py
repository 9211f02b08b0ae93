"""What is told of live conversations: begun, written, summed up, read back, put into a context.

As in `answers`, what is None is left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backstory.actions.conversations.add_turn import Added
from backstory.actions.conversations.change import Changed
from backstory.actions.conversations.create import Created
from backstory.mcp.answers import Answer, Moment
from backstory.mcp.conversation_formats import Format
from backstory.model.context import Context, ContextItem, ContextStatistics, ContextTurn, SourceStatistics
from backstory.model.live import LiveConversation, TieredHistory
from backstory.model.summary import Summary


class LiveConversationTold(Answer):
    """A live conversation, without what was said in it. `pending` says what search does not know yet."""

    conversation_id: str
    interface_type: str
    room_id: str
    project: str
    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    turn_count: int
    created_at: Moment
    updated_at: Moment
    pending: Sequence[str] | None = None

    @classmethod
    def of(cls, changed: Changed) -> "LiveConversationTold":
        """What is told of a conversation that was changed."""
        return cls(**_told(changed.conversation, changed.waits))


class ConversationCreated(LiveConversationTold):
    """The conversation of a room. `is_new` is whether it was begun by this call."""

    is_new: bool

    @classmethod
    def made(cls, created: Created) -> "ConversationCreated":
        """What is told of a conversation that was begun, or that was there already."""
        return cls(**_told(created.conversation, created.waits), is_new=created.is_new)


class LiveConversationDeleted(LiveConversationTold):
    """A conversation that nobody finds any more."""

    deleted_at: Moment | None = None

    @classmethod
    def gone(cls, changed: Changed) -> "LiveConversationDeleted":
        """What is told of a conversation that was deleted."""
        conversation = changed.conversation
        return cls(**_told(conversation, changed.waits), deleted_at=conversation.deleted_at)


class TurnAdded(Answer):
    """Where a new turn is kept. `pending` says what has to wait, if anything has."""

    conversation_id: str
    turn_id: str
    turn_number: int
    thread_id: str
    timestamp: Moment
    pending: Sequence[str] | None = None

    @classmethod
    def of(cls, added: Added) -> "TurnAdded":
        """What is told of a turn that was kept."""
        turn = added.turn
        return cls(
            conversation_id=turn.conversation,
            turn_id=turn.id,
            turn_number=turn.number,
            thread_id=turn.thread,
            timestamp=turn.at,
            pending=list(added.waits) or None,
        )


class SummaryTold(Answer):
    """What some turns came to. `note` tells why it is not what was asked for."""

    first_turn: int
    last_turn: int
    text: str
    tokens: int
    made_by: str
    note: str | None = None

    @classmethod
    def of(cls, summary: Summary) -> "SummaryTold":
        """What is told of a summary."""
        return cls(
            first_turn=summary.first_turn,
            last_turn=summary.last_turn,
            text=summary.text,
            tokens=summary.tokens,
            made_by=summary.made_by,
            note=summary.note or None,
        )


class ConversationSummarized(Answer):
    """The summaries that were made, oldest first."""

    conversation_id: str
    made: int
    summaries: Sequence[SummaryTold]
    notes: Sequence[str] | None = None


class HistoryTold(Answer):
    """A conversation by its tiers, in the format that was asked for. `left_out` counts by tier."""

    conversation_id: str
    format: Format
    turn_count: int
    tokens: int
    left_out: Mapping[str, int] | None = None
    history: str

    @classmethod
    def of(cls, shown: TieredHistory, form: Format, text: str, tokens: int) -> "HistoryTold":
        """A history that was written in a format."""
        left_out = {tier: count for tier, count in shown.left_out.items() if count}
        return cls(
            conversation_id=shown.conversation.id,
            format=form,
            turn_count=shown.conversation.turns,
            tokens=tokens,
            left_out=left_out or None,
            history=text,
        )


class ContextPart(Answer):
    """A turn, or a summary of turns, and why it is here.

    `conversation_id` is there when it is of another conversation, `shortened` when the middle is left out.
    """

    conversation_id: str | None = None
    turn_number: int | None = None
    turn_id: str | None = None
    timestamp: Moment | None = None
    user: str | None = None
    query: str | None = None
    response: str | None = None
    first_turn: int | None = None
    last_turn: int | None = None
    summary: str | None = None
    sources: Sequence[str]
    relevance: float | None = None
    shortened: bool | None = None

    @classmethod
    def of(cls, item: ContextItem, conversation: str) -> "ContextPart":
        """What is told of a part of the context of a conversation."""
        said = item.said
        own = _turn(said, conversation) if isinstance(said, ContextTurn) else _summary(said)
        return cls(
            **own,
            sources=[str(source) for source in item.sources],
            relevance=None if item.relevance is None else round(item.relevance, 3),
            shortened=item.is_shortened or None,
        )


class SourceUse(Answer):
    """What one source gave. What is 0 is left out, but for the first two."""

    found: int
    used: int
    duplicates: int | None = None
    below_threshold: int | None = None
    left_out: int | None = None
    took_ms: float

    @classmethod
    def of(cls, counted: SourceStatistics) -> "SourceUse":
        """What is told of a source."""
        return cls(
            found=counted.found,
            used=counted.used,
            duplicates=counted.duplicates or None,
            below_threshold=counted.below_threshold or None,
            left_out=counted.left_out or None,
            took_ms=round(counted.took_ms, 1),
        )


class ContextUse(Answer):
    """How a context came about. Without `span_s`, all that was said was looked through."""

    sources: Mapping[str, SourceUse]
    tokens: int
    max_tokens: int
    threshold: float
    span_s: int | None = None
    widened: bool | None = None
    took_ms: float

    @classmethod
    def of(cls, counted: ContextStatistics) -> "ContextUse":
        """What is told of how a context came about."""
        return cls(
            sources={name: SourceUse.of(each) for name, each in counted.sources.items()},
            tokens=counted.tokens,
            max_tokens=counted.max_tokens,
            threshold=counted.threshold,
            span_s=None if counted.span is None else round(counted.span.total_seconds()),
            widened=counted.is_widened or None,
            took_ms=round(counted.took_ms, 1),
        )


class ContextTold(Answer):
    """What to read before answering, oldest first."""

    conversation_id: str
    strategy: str
    because: Sequence[str] | None = None
    items: Sequence[ContextPart]
    statistics: ContextUse
    degraded: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, context: Context, conversation: str) -> "ContextTold":
        """The context of a conversation, whole."""
        return cls(
            conversation_id=conversation,
            strategy=context.strategy,
            because=list(context.because) or None,
            items=[ContextPart.of(item, conversation) for item in context.items],
            statistics=ContextUse.of(context.statistics),
            degraded=list(context.degraded) or None,
        )


def _told(conversation: LiveConversation, waits: Sequence[str]) -> dict[str, Any]:
    """What every answer about one live conversation begins with."""
    return {
        "conversation_id": conversation.id,
        "interface_type": conversation.interface_type,
        "room_id": conversation.room,
        "project": conversation.project.name,
        "title": conversation.title or None,
        "metadata": conversation.metadata or None,
        "turn_count": conversation.turns,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "pending": list(waits) or None,
    }


def _turn(said: ContextTurn, conversation: str) -> dict[str, Any]:
    return {
        "conversation_id": said.conversation if said.conversation != conversation else None,
        "turn_number": said.number,
        "turn_id": said.id or None,
        "timestamp": said.at,
        "user": said.user_name or said.user_id or None,
        "query": said.query or None,
        "response": said.response or None,
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {"first_turn": summary.first_turn, "last_turn": summary.last_turn, "summary": summary.text}
