"""Reads a transcript, whichever agent wrote it: the one door from lines to sessions.

Which agent wrote a file is told by its records alone. How each format is read is left to its reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backstory.model.transcript import Session
from backstory.transcripts.claude_code import read_session
from backstory.transcripts.codex import read_rollout
from backstory.transcripts.codex_items import is_of_codex
from backstory.transcripts.lines import Lines
from backstory.transcripts.subagents import recovered_agents

CLAUDE_CODE: Final = "claude-code"
CODEX: Final = "codex"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: a session, and the subagents of which it tells beside it.

    The subagents are of use where they have no files of their own.
    """

    session: Session
    agents: Sequence[Session]
    interface_type: str  # "claude-code", "codex"


def read_transcript(lines: Lines, *, id: str = "", agent: str = "") -> Reading:
    """The session in the lines of one file; `id` and `agent` are what the file's place says of it."""
    told = (is_of_codex(record.fields) for record in lines.records)
    if next((one for one in told if one is not None), False):
        return Reading(read_rollout(lines, id=id), (), CODEX)
    session = read_session(lines, id=id, agent=agent)
    return Reading(session, recovered_agents(lines, id=session.id), CLAUDE_CODE)
