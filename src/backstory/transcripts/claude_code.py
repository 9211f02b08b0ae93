"""Claude Code's transcripts: the records of one file, read as a session.

The format is the agent's own and changes without notice, so nothing is required of a record:
types that are not known are counted and skipped, fields of an unexpected kind are taken as absent.
The whole file is needed, from its first byte: titles, queued prompts and the results of tools
stand far from what they belong to.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from backstory.model.transcript import ReadingReport, Session
from backstory.transcripts import fields as read
from backstory.transcripts.lines import Lines, Record
from backstory.transcripts.titles import TITLE_TYPES, choose_title, summaries_in
from backstory.transcripts.turns import build_turns
from backstory.transcripts.utterances import find_utterances

KNOWN_TYPES: Final = frozenset(
    {
        "agent-name",
        "agent-setting",
        "ai-title",
        "assistant",
        "atis-latch",
        "attachment",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "relocated",
        "summary",
        "system",
        "user",
        "worktree-state",
    }
)


def read_session(lines: Lines, *, id: str = "", agent: str = "") -> Session:
    """The session in the lines of one file; `id` and `agent` are what the file's place says of it.

    The records tell the session where the place does not, and the agent where it says neither.
    """
    records = _once(lines.records)
    turns = build_turns(records, find_utterances(records))
    own = {uuid for record in records if (uuid := read.text(record.fields, "uuid"))}
    slug = next(iter(_values(records, "slug")), "")
    times = [at for record in records if (at := read.time(record.fields))]
    titles = [record for record in records if record.fields.get("type") in TITLE_TYPES]
    return Session(
        id=id or next(iter(_values(records, "sessionId")), ""),
        agent=agent if id or agent else _agent(records),
        folder=next(iter(_values(records, "cwd")), ""),
        title=choose_title(titles, own, slug, (turn.human_text for turn in turns)),
        slug=slug,
        git_branches=_values(records, "gitBranch"),
        versions=_values(records, "version"),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
        turns=turns,
        summaries={leaf: text for leaf, text in summaries_in(titles).items() if leaf not in own},
        report=_report(lines, repeated=len(lines.records) - len(records)),
    )


def _agent(records: Sequence[Record]) -> str:
    """The subagent whose file this is: its very first record is aside already."""
    first = next((record.fields for record in records if "uuid" in record.fields), {})
    return read.text(first, "agentId") if first.get("isSidechain") else ""


def _once(records: Sequence[Record]) -> list[Record]:
    """The records without those that were written again under the same uuid."""
    seen: set[str] = set()
    kept = []
    for record in records:
        uuid = read.text(record.fields, "uuid")
        if not uuid or uuid not in seen:
            kept.append(record)
        seen.add(uuid)
    return kept


def _values(records: Sequence[Record], key: str) -> Sequence[str]:
    """Every value of a field, in the order in which they first occur."""
    values = (record.fields.get(key) for record in records)
    once = dict.fromkeys(value for value in values if isinstance(value, str))
    return list(dict.fromkeys(text for value in once if (text := value.replace("\0", ""))))


def _report(lines: Lines, *, repeated: int) -> ReadingReport:
    counts = Counter(read.text(record.fields, "type") for record in lines.records)
    unknown = {kind: count for kind, count in counts.items() if kind not in KNOWN_TYPES}
    return ReadingReport(dict(counts), unknown, repeated, lines.flaws)
