"""Codex's rollouts: the lines of one file, read as a session.

The first line names the session; further lines of its kind are repetitions of it, or come from the
sessions that it grew out of. A subagent's file may begin with a copy of all that its parent did:
that is the parent's, and left out. A fork's copy is kept, under the ids that the original has.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from backstory.model.transcript import ReadingReport, Session, Title, TitleSource, Turn, Usage
from backstory.transcripts import fields as read
from backstory.transcripts.codex_items import META, Item, items_of
from backstory.transcripts.codex_turns import TURN_BEGINS, build_turns, total_tokens
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Lines
from backstory.transcripts.titles import title_line

_SENT: Final = (
    "agent_message",
    "compaction",
    "custom_tool_call",
    "custom_tool_call_output",
    "function_call",
    "function_call_output",
    "ghost_snapshot",
    "image_generation_call",
    "local_shell_call",
    "message",
    "reasoning",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
_REPORTED: Final = (
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "context_compacted",
    "entered_review_mode",
    "error",
    "exec_command_end",
    "exited_review_mode",
    "image_generation_end",
    "injected_message",
    "mcp_tool_call_end",
    "patch_apply_end",
    "task_complete",
    "task_started",
    "thread_name_updated",
    "thread_rolled_back",
    "token_count",
    "turn_aborted",
    "turn_complete",
    "turn_started",
    "user_message",
    "view_image_tool_call",
    "web_search_end",
)
_SHOWN: Final = (
    "AgentMessage",
    "CommandExecution",
    "FileChange",
    "HookPrompt",
    "McpToolCall",
    "Plan",
    "Reasoning",
    "UserMessage",
    "WebSearch",
)
KNOWN_KINDS: Final = frozenset(
    {
        META,
        "compacted",
        "turn_context",
        "world_state",
        *(f"response_item/{kind}" for kind in _SENT),
        *(f"event_msg/{kind}" for kind in _REPORTED),
        *(f"item/{kind}" for kind in _SHOWN),
    }
)
_PLACES: Final = (META, "turn_context")
_NAMED: Final = "event_msg/thread_name_updated"


def read_rollout(lines: Lines, *, id: str = "") -> Session:
    """The session in the lines of one rollout; `id` is what the file's name says of it.

    A subagent's has the session that it worked for as its id, and its own as its agent.
    """
    items = list(items_of(lines.records))
    meta = next((item.payload for item in items if item.kind == META), {})
    metas = [item.payload for item in items if item.kind == META and item.payload.get("id") == meta.get("id")]
    own = id or read.text(meta, "id")
    parent = _parent(meta, own)
    turns = _turns(items, meta)
    times = [item.at for item in items if item.at]
    return Session(
        id=parent or own,
        agent=own if parent else "",
        folder=next(
            iter(_each(read.text(item.payload, "cwd") for item in items if item.kind in _PLACES)), ""
        ),
        title=_title(items, turns),
        git_branches=_each(read.text(read.inner(one, "git"), "branch") for one in metas),
        versions=_each(read.text(one, "cli_version") for one in metas),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        turns=turns,
        report=_report(lines, items),
    )


def _turns(items: Sequence[Item], meta: Fields) -> Sequence[Turn]:
    is_subagent = _is_subagent(meta)
    begin, end = _copied(items, meta) if is_subagent else (0, 0)
    totals = (total for item in items[begin:end] if (total := total_tokens(item)))
    *_, counted = Usage(), *totals
    return build_turns([*items[:begin], *items[end:]], aside=is_subagent, before=counted)


def _is_subagent(meta: Fields) -> bool:
    return "subagent" in read.inner(meta, "source") or read.text(meta, "thread_source") == "subagent"


def _parent(meta: Fields, own: str) -> str:
    """The session that a subagent worked for, if it is one and that is told."""
    if not _is_subagent(meta):
        return ""
    spawned = read.inner(read.inner(read.inner(meta, "source"), "subagent"), "thread_spawn")
    told = (read.text(spawned, "parent_thread_id"), read.text(meta, "parent_thread_id"))
    return next((parent for parent in told if parent and parent != own), "")


def _copied(items: Sequence[Item], meta: Fields) -> tuple[int, int]:
    """From where to where a subagent's file is a copy of its parent's.

    The copy begins where another session names itself and ends with the first turn that is not
    older than the subagent. Times tell nothing: those of the copies are the time of copying.
    """
    born = _minted(read.text(meta, "id"))
    others = (
        i for i, item in enumerate(items) if item.kind == META and item.payload.get("id") != meta.get("id")
    )
    begin = next(others, None)
    if born is None or begin is None:
        return 0, 0
    turns = {i: began for i in range(begin, len(items)) if (began := _began(items[i])) is not None}
    if not turns:
        return 0, 0
    return begin, next((i for i, began in turns.items() if began >= born), len(items))


def _began(item: Item) -> int | None:
    """The last millisecond in which the turn that an item begins can have begun, if it is told."""
    if item.kind not in TURN_BEGINS:
        return None
    minted = _minted(read.text(item.payload, "turn_id"))
    second = read.number(item.payload, "started_at")
    return minted if minted is not None else second * 1000 + 999 if second else None


def _minted(id: str) -> int | None:
    """The millisecond in which an id was made, if it is of the kind that tells it."""
    try:
        uuid = UUID(id)
    except ValueError:
        return None
    return uuid.int >> 80 if uuid.version == 7 else None


def _title(items: Sequence[Item], turns: Sequence[Turn]) -> Title:
    names = (read.text(item.payload, "thread_name") for item in reversed(items) if item.kind == _NAMED)
    for source, texts in (
        (TitleSource.CUSTOM, names),
        (TitleSource.FIRST_WORDS, (turn.human_text for turn in turns)),
    ):
        if line := next((line for text in texts if (line := title_line(text))), ""):
            return Title(line, source)
    return Title()


def _each(values: Iterable[str]) -> Sequence[str]:
    return list(dict.fromkeys(filter(None, values)))


def _report(lines: Lines, items: Sequence[Item]) -> ReadingReport:
    counts = Counter(item.kind for item in items)
    unknown = {kind: count for kind, count in counts.items() if kind not in KNOWN_KINDS}
    return ReadingReport(dict(counts), unknown, 0, lines.flaws)
