"""Answers about conversations as text. Each says all that the structured answer says."""

from collections.abc import Mapping, Sequence

from backstory.mcp.budget import written
from backstory.mcp.transcript_answers import (
    ConversationListed,
    ConversationNamed,
    ConversationRead,
    ConversationReference,
    ConversationsExported,
    ConversationsListed,
    FileTouched,
    TurnFound,
    TurnRead,
    TurnRecalled,
    TurnsFound,
    TurnShown,
    TurnsRecalled,
)
from backstory.mcp.transcript_reports import ConversationsCounted, ConversationsIndexed, Timeline
from backstory.mcp.wording import counts, every, fact, lines, number, time


def found(answer: TurnsFound) -> str:
    """The hits, best first, and how to go on."""
    return lines(
        _turns_found(len(answer.hits)),
        *every("degraded", answer.degraded),
        *fact("next cursor", answer.next_cursor),
        *(_hit(place, hit) for place, hit in enumerate(answer.hits, 1)),
    )


def recalled(answer: TurnsRecalled) -> str:
    """The hits, each with its text and what stands around it."""
    return lines(
        _turns_found(len(answer.hits)),
        *every("degraded", answer.degraded),
        *every("note", answer.notes),
        *(_recalled(place, hit) for place, hit in enumerate(answer.hits, 1)),
    )


def listed(answer: ConversationsListed) -> str:
    """The conversations, newest first."""
    return lines(
        f"{len(answer.conversations)} of {answer.total} conversations.",
        *fact("next cursor", answer.next_cursor),
        *(_listed(each) for each in answer.conversations),
    )


def turn(answer: TurnRead) -> str:
    """One turn: where it belongs, then what was said and done."""
    return lines(
        f"Turn {answer.turn_number} of {answer.total_turns} in conversation {answer.session_id}",
        *fact("title", answer.title),
        f"project: {answer.project}",
        *fact("from character", answer.offset),
        *fact("next offset", answer.next_offset),
        *every("note", answer.notes),
        *_said(answer),
    )


def conversation(answer: ConversationRead) -> str:
    """A conversation: what is known of it, then its turns."""
    return lines(
        f"Conversation {answer.session_id}: {number(answer.total_turns, 'turn')},"
        f" {len(answer.turns)} shown after skipping {answer.offset}",
        *_facts(answer),
        *fact("next offset", answer.next_offset),
        *(f"subagent: {_reference(each)}" for each in answer.subagents or ()),
        *every("note", answer.notes),
        *(_turn(each) for each in answer.turns),
    )


def indexed(answer: ConversationsIndexed) -> str:
    """What was read in, and what went wrong."""
    return lines(
        f"{number(answer.files_processed, 'file')} looked at: {answer.files_read} read,"
        f" {answer.files_unchanged} unchanged, {answer.files_gone} gone, {answer.files_too_old} too old.",
        f"{number(answer.conversations, 'conversation')}, {number(answer.turns_indexed, 'turn')} indexed;"
        f" messages: {answer.messages_added} added, {answer.messages_removed} removed",
        f"embeddings: {answer.embeddings}, links: {answer.links}, waiting: {answer.pending}",
        *([f"secrets taken out: {counts(answer.redactions)}"] if answer.redactions else []),
        *every("degraded", answer.degraded),
        *(f"error: {each.path}: {each.reason}" for each in answer.errors or ()),
        *every("note", answer.notes),
    )


def counted(answer: ConversationsCounted) -> str:
    """The counts of the project, then the state of the store."""
    return lines(
        f"project: {answer.project}",
        f"conversations: {answer.conversations}, of subagents: {answer.subagents},"
        f" whose file is gone: {answer.sources_gone}",
        f"turns: {answer.turns}, messages: {answer.messages}, human utterances: {answer.human_utterances}",
        f"files touched: {answer.files_touched}, links to them: {answer.links}",
        *fact("vectors in the store", answer.vectors),
        *fact("messages in the graph", answer.graph_messages),
        f"transcript files: {answer.transcript_files}, failed: {answer.failed_files},"
        f" capture rate: {answer.capture_rate}",
        f"waiting: {counts(answer.pending)}",
        f"storage in bytes: {counts(answer.storage_bytes)}",
    )


def timeline(answer: Timeline) -> str:
    """The days, newest first."""
    return lines(
        f"project: {answer.project}",
        *every("note", answer.notes),
        *(
            f"{day.date}: {number(day.conversations, 'conversation')}, {number(day.messages, 'message')}:"
            f" {', '.join(day.sample_ids)}"
            for day in answer.days
        ),
        *([] if answer.days else ["Nothing was said."]),
    )


def exported(answer: ConversationsExported) -> str:
    """The page as it was asked for, and how to go on."""
    page = answer.markdown if answer.format == "markdown" else written(answer.structured()["conversations"])
    return lines(f"format: {answer.format}", *fact("next cursor", answer.next_cursor), "", page or "")


def markdown_heading(conversation: ConversationNamed) -> str:
    """What an export says of a conversation before its first turn."""
    facts = [f"conversation: {conversation.session_id}", *_facts(conversation)]
    title = conversation.title or conversation.session_id
    return lines(f"# {title}", "", *(f"- {fact}" for fact in facts), "", "")


def markdown_turn(turn: TurnShown) -> str:
    """A turn as an export in markdown has it, whole."""
    when = f", {time(turn.timestamp)}" if turn.timestamp else ""
    branch = f", branch {turn.branch}" if turn.branch else ""
    parts = [f"## Turn {turn.turn_number}{when}{branch}"]
    for heading, text in (
        ("Commands", turn.commands),
        ("User", turn.user_text),
        ("Assistant", turn.assistant_text),
        ("Tools", turn.tool_text),
    ):
        parts += [f"### {heading}", text] if text else []
    return "\n\n".join(parts) + "\n\n"


def _turns_found(count: int) -> str:
    return f"{number(count, 'turn')} found." if count else "No turn found."


def _hit(place: int, hit: TurnFound) -> str:
    return lines(
        "",
        f"{place}. {hit.session_id} turn {hit.turn_number}, {hit.role}, {time(hit.timestamp)}",
        *([f"   {hit.title}"] if hit.title else []),
        f"   score {hit.score} by {', '.join(hit.found_by)}; project {hit.project}",
        hit.snippet,
    )


def _recalled(place: int, hit: TurnRecalled) -> str:
    return lines(
        _hit(place, hit),
        *every("shortened", hit.shortened),
        *([f"files: {', '.join(map(_file, hit.files))}"] if hit.files else []),
        *(f"related: {_reference(each)}" for each in hit.related or ()),
        *fact("text", hit.text),
        *(_turn(each, each.session_id) for each in hit.around),
    )


def _file(touched: FileTouched) -> str:
    return f"{touched.path} ({'changed' if touched.changed else 'read'})"


def _reference(other: ConversationReference) -> str:
    title = f": {other.title}" if other.title else ""
    return f"{other.session_id}, {number(other.turn_count, 'turn')}{title}"


def _listed(conversation: ConversationListed) -> str:
    return lines(
        "",
        f"{conversation.session_id}, {number(conversation.turn_count, 'turn')}",
        *(f"   {line}" for line in _facts(conversation)),
    )


def _facts(conversation: ConversationNamed) -> Sequence[str]:
    held = [time(each) for each in (conversation.first_timestamp, conversation.last_timestamp) if each]
    gone = conversation.source_gone_at
    return [
        *fact("title", conversation.title),
        *fact("slug", conversation.slug),
        f"project: {conversation.project}, agent: {conversation.interface_type}",
        *([f"held: {' to '.join(held)}"] if held else []),
        *fact("folder", conversation.cwd),
        *fact("git branch", conversation.git_branch),
        *fact("subagent of", conversation.parent),
        *([f"its file is gone since {time(gone)}"] if gone else []),
    ]


def _turn(shown: TurnShown, session_id: str | None = None) -> str:
    where = f" of {session_id}" if session_id else ""
    return lines("", f"--- turn {shown.turn_number}{where}", *_said(shown))


def _said(shown: TurnShown) -> Sequence[str]:
    """When, how and what was said, in the order in which it was."""
    return [
        *([f"at {time(shown.timestamp)}"] if shown.timestamp else []),
        *fact("branch", shown.branch),
        *every("shortened", shown.shortened),
        *fact("commands", shown.commands),
        *fact("user", shown.user_text),
        *fact("assistant", shown.assistant_text),
        *(f"tool: {_call(call)}" for call in shown.tools_used or ()),
        *([f"tool results:\n{shown.tool_text}"] if shown.tool_text else []),
    ]


def _call(rendering: Mapping[str, str | int]) -> str:
    rest = [f"{name}={value}" for name, value in rendering.items() if name != "tool"]
    return " ".join([str(rendering.get("tool", "")), *rest])
