"""Answers about live conversations as text. Each says all that the structured answer says."""

from collections.abc import Iterator, Mapping, Sequence

from backstory.mcp.budget import written
from backstory.mcp.conversation_answers import (
    ContextPart,
    ContextTold,
    ContextUse,
    ConversationCreated,
    ConversationSummarized,
    HistoryTold,
    LiveConversationDeleted,
    LiveConversationTold,
    SourceUse,
    SummaryTold,
    TurnAdded,
)
from backstory.mcp.wording import counts, every, fact, lines, number, said, time


def created(answer: ConversationCreated) -> str:
    """The conversation of a room, and whether it is new."""
    return lines("Begun." if answer.is_new else "The room has this conversation already.", *_facts(answer))


def updated(answer: LiveConversationTold) -> str:
    """The conversation as it is now."""
    return lines("Changed.", *_facts(answer))


def deleted(answer: LiveConversationDeleted) -> str:
    """That a conversation is not found any more."""
    gone = [f"deleted: {time(answer.deleted_at)}"] if answer.deleted_at else []
    return lines("Deleted.", *_facts(answer), *gone)


def added(answer: TurnAdded) -> str:
    """That a turn is kept, and where."""
    return lines(
        f"Kept as turn {answer.turn_number} of conversation {answer.conversation_id}.",
        f"turn: {answer.turn_id}, thread: {answer.thread_id}",
        f"at: {time(answer.timestamp)}",
        *every("pending", answer.pending),
    )


def summarized(answer: ConversationSummarized) -> str:
    """The summaries that were made."""
    many = f"{answer.made} summaries" if answer.made != 1 else "1 summary"
    return lines(
        f"{many} made of conversation {answer.conversation_id}.",
        *every("note", answer.notes),
        *(_summary(each) for each in answer.summaries),
    )


def history(answer: HistoryTold) -> str:
    """What is said of the history, then the history as it was asked for."""
    return lines(
        f"Conversation {answer.conversation_id}, {number(answer.turn_count, 'turn')};"
        f" as {answer.format}, {answer.tokens} tokens",
        *([f"left out: {counts(answer.left_out)}"] if answer.left_out else []),
        "",
        answer.history,
    )


def context(answer: ContextTold) -> str:
    """How the context came about, then its parts."""
    return lines(
        f"Context for conversation {answer.conversation_id}: {number(len(answer.items), 'part')},"
        f" strategy {answer.strategy}",
        *every("because", answer.because),
        *every("degraded", answer.degraded),
        *every("note", answer.notes),
        *_use(answer.statistics),
        *(_part(each) for each in answer.items),
    )


def _facts(answer: LiveConversationTold) -> Sequence[str]:
    return [
        f"conversation: {answer.conversation_id}, {number(answer.turn_count, 'turn')}",
        f"interface: {answer.interface_type}, room: {answer.room_id}",
        f"project: {answer.project}",
        *said("title", answer.title),
        *_metadata(answer.metadata),
        f"created: {time(answer.created_at)}, updated: {time(answer.updated_at)}",
        *every("pending", answer.pending),
    ]


def _metadata(metadata: Mapping[str, object] | None) -> Sequence[str]:
    return [f"metadata: {written(metadata)}"] if metadata else []


def _summary(told: SummaryTold) -> str:
    return lines(
        "",
        f"Turns {told.first_turn} to {told.last_turn}, {told.tokens} tokens, by {told.made_by}",
        *fact("note", told.note),
        *said("in short", told.text),
    )


def _use(use: ContextUse) -> Iterator[str]:
    span = "all that was said" if use.span_s is None else f"the last {use.span_s} s"
    widened = ", then in all, since nothing there was relevant enough" if use.widened else ""
    yield f"tokens: {use.tokens} of {use.max_tokens}; took {use.took_ms} ms"
    yield f"wanted: {span}{widened}; relevance from {use.threshold}"
    for name, source in use.sources.items():
        yield f"{name}: {_source(source)}"


def _source(use: SourceUse) -> str:
    every_count = {
        "found": use.found,
        "used": use.used,
        "duplicates": use.duplicates,
        "below the threshold": use.below_threshold,
        "left out": use.left_out,
    }
    counted = {name: count for name, count in every_count.items() if count is not None}
    return f"{counts(counted)}, {use.took_ms} ms"


def _part(part: ContextPart) -> str:
    return lines("", f"--- {_where(part)}{_why(part)}", *_said(part))


def _where(part: ContextPart) -> str:
    if part.turn_number is None:
        return f"turns {part.first_turn} to {part.last_turn}"
    turn = f"turn {part.turn_number}"
    return f"{turn} of {part.conversation_id}" if part.conversation_id else turn


def _why(part: ContextPart) -> str:
    relevance = "" if part.relevance is None else f" {part.relevance}"
    shortened = ", shortened" if part.shortened else ""
    return f" ({', '.join(part.sources)}{relevance}{shortened})"


def _said(part: ContextPart) -> Sequence[str]:
    return [
        *fact("id", part.turn_id),
        *([f"at {time(part.timestamp)}"] if part.timestamp else []),
        *said("from", part.user),
        *said("user", part.query),
        *said("assistant", part.response),
        *said("in short", part.summary),
    ]
