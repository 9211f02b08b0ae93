"""Subagents whose own files are not there, put together from what the session's file tells of them.

For a time Claude Code copied each message of a subagent into the progress records of the session
that had started it. The copies are records themselves, with uuids of their own.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from backstory.model.transcript import Session
from backstory.transcripts import fields as read
from backstory.transcripts.claude_code import read_session
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Lines, Record

#: What the copies leave out, and the progress record around them has.
_AROUND: Final = ("sessionId", "cwd", "gitBranch", "version", "timestamp")


def recovered_agents(lines: Lines, *, id: str = "") -> Sequence[Session]:
    """The subagents of a session in the order in which they began; `id` is the session's, if it is known."""
    by_agent: dict[str, list[Record]] = defaultdict(list)
    for record in lines.records:
        progress = read.inner(record.fields, "data")
        agent = read.text(progress, "agentId")
        if agent and read.text(progress, "type") == "agent_progress":
            told = by_agent[agent]
            told.append(Record(record.offset, _copy(record.fields, progress, told)))
    sessions = (
        read_session(Lines(records, lines.consumed), id=id, agent=agent)
        for agent, records in by_agent.items()
    )
    return [session for session in sessions if session.turns]


def _copy(around: Fields, progress: Fields, before: Sequence[Record]) -> Fields:
    """A copied message as the record it was, which named its place and the record before it."""
    place = {key: around[key] for key in _AROUND if key in around}
    parent = before[-1].fields.get("uuid") if before else None
    return {"parentUuid": parent, **place, **read.inner(progress, "message"), "isSidechain": True}
