"""What is kept of a conversation: itself, its turns, and the messages that search finds.

A transcript's session becomes one conversation. How it was read, and how it is found, is left to others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from backstory.model.project import Project
from backstory.model.transcript import Title, ToolCall, Usage


class Role(StrEnum):
    """Who a message is from. What a subagent was asked to do is its agent's own message."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"  # what tools were asked and what they gave back, all of a turn in one message


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation. A subagent's has a `parent`, and is not listed beside it."""

    id: str  # the session's id; "SESSION/AGENT" for a subagent's
    project: Project
    interface_type: str  # "claude-code", "codex"
    parent: str = ""
    title: Title = field(default_factory=Title)
    slug: str = ""
    folder: str = ""
    git_branches: Sequence[str] = ()
    versions: Sequence[str] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    turns: int = 0
    messages: int = 0
    human_utterances: int = 0
    is_between_people: bool = False  # no assistant takes part
    usage: Usage = field(default_factory=Usage)
    room: str = ""  # where people meet: of a conversation that is written while it is held
    is_live: bool = False  # it is written turn by turn, and kept by `ConversationStorage`
    source: str = ""  # the file it was read from
    source_gone_at: datetime | None = None  # since when that file is not there any more


@dataclass(frozen=True, slots=True)
class Touch:
    """A file that a turn's tool calls read or changed. Relative to the project's folder, if it is inside."""

    path: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said in one turn: the unit that is searched, and a node of the graph.

    Its id is made from the project, the uuid that its turn begins with, the role and the text. So a
    fork's copy of a message has the id of the original, and is kept once.
    """

    id: str
    conversation: str
    turn: int
    place: int  # in the conversation, from 1; a tool message has that of the message before it
    role: Role
    text: str
    at: datetime
    speaker: str = ""  # a person's name, where people talk to each other
    touches: Sequence[Touch] = ()  # of a tool message


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """One turn, with the ids of its messages; copies of one turn in two conversations name the same ones."""

    number: int
    started_at: datetime | None = None
    ended_at: datetime | None = None
    branch: int = 1
    is_sidechain: bool = False
    commands: Sequence[str] = ()
    tool_calls: Sequence[ToolCall] = ()  # without their results, which are in the tool message
    usage: Usage = field(default_factory=Usage)
    last_uuid: str = ""  # of its last record: a summary written elsewhere names its conversation by it
    messages: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnText:
    """A turn as it is read: what is kept of it, and its texts."""

    conversation: str
    turn: KeptTurn
    texts: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Day:
    """What was said on one day (UTC)."""

    date: str  # 2026-03-01
    conversations: int
    messages: int
    sample_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConversationCounts:
    """How much is kept."""

    conversations: int = 0
    subagents: int = 0
    turns: int = 0
    messages: int = 0
    human_utterances: int = 0
    files_touched: int = 0
    touches: int = 0
    gone: int = 0  # conversations whose file is not there any more
