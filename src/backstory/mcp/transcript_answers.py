"""What is told of conversations and turns: found, recalled, listed, read, exported.

As in `answers`, what is None is left out. What is told of all of them together is in `transcript_reports`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from backstory.actions.transcripts.read import ReadConversation, ReadTurn
from backstory.actions.transcripts.recall import RecalledTurn
from backstory.mcp.answers import Answer, Moment
from backstory.model.conversation import Conversation, Role, TurnText
from backstory.model.search import Snippet, TurnHit

#: What finds turns. The other parts of a score are cues: they move hits and find none.
RETRIEVERS: Final = (
    "words",
    "window words",
    "session words",
    "meaning",
    "window meaning",
    "answers",
    "files",
    "new words",
)

#: Subagents named with a conversation. Each takes about 40 tokens, and some sessions have hundreds.
MOST_SUBAGENTS: Final = 30


class TurnFound(Answer):
    """One hit. Words that match stand between ** in the snippet."""

    session_id: str
    turn_number: int
    role: str
    timestamp: Moment
    project: str
    title: str | None = None
    score: float
    found_by: Sequence[str]
    snippet: str

    @classmethod
    def of(cls, hit: TurnHit) -> "TurnFound":
        """What is told of a hit."""
        return cls(**_found(hit))


class TurnsFound(Answer):
    """One page of hits, best first."""

    hits: Sequence[TurnFound]
    next_cursor: str | None = None
    degraded: Sequence[str] | None = None


class TurnShown(Answer):
    """A turn. `shortened` names the parts that are not whole."""

    turn_number: int
    timestamp: Moment | None = None
    branch: int | None = None
    commands: str | None = None
    user_text: str | None = None
    assistant_text: str | None = None
    tools_used: Sequence[Mapping[str, str | int]] | None = None
    tool_text: str | None = None
    shortened: Sequence[str] | None = None

    @classmethod
    def of(cls, text: TurnText) -> "TurnShown":
        """The turn, with what its tools were asked, without what they gave back."""
        return cls(**_turn(text))


class TurnRead(TurnShown):
    """One turn, or a page of it."""

    session_id: str
    project: str
    title: str | None = None
    total_turns: int
    offset: int | None = None
    next_offset: int | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def read(cls, read: ReadTurn) -> "TurnRead":
        """The turn, whole."""
        conversation = read.conversation
        return cls(
            **_whole(read.text),
            session_id=conversation.id,
            project=conversation.project.name,
            title=conversation.title.text or None,
            total_turns=read.total,
        )


class ConversationReference(Answer):
    """A conversation that another one leads to."""

    session_id: str
    title: str | None = None
    turn_count: int

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationReference":
        """What is told of it where it is only named."""
        return cls(
            session_id=conversation.id, title=conversation.title.text or None, turn_count=conversation.turns
        )


class TurnAround(TurnShown):
    """A turn before or after a hit. `session_id` is there when it is of another conversation: a fork."""

    session_id: str | None = None


class FileTouched(Answer):
    """A file that was read or changed."""

    path: str
    changed: bool


class TurnRecalled(TurnFound):
    """One hit, and what stands around it. `text` is there when the snippet is not all that was said."""

    text: str | None = None
    around: Sequence[TurnAround]
    files: Sequence[FileTouched] | None = None
    related: Sequence[ConversationReference] | None = None
    shortened: Sequence[str] | None = None

    @classmethod
    def recalled(cls, found: RecalledTurn) -> "TurnRecalled":
        """What is told of a hit and of what stands around it."""
        hit = found.hit
        own = hit.conversation.id
        return cls(
            **_found(hit),
            text=hit.message.text if hit.snippet.text != hit.message.text else None,
            around=[
                TurnAround(**_turn(text), session_id=text.conversation if text.conversation != own else None)
                for text in found.around
            ],
            files=[FileTouched(path=each.path, changed=each.changed) for each in found.files] or None,
            related=[ConversationReference.of(each) for each in found.related] or None,
        )


class TurnsRecalled(Answer):
    """The hits, best first."""

    hits: Sequence[TurnRecalled]
    degraded: Sequence[str] | None = None
    notes: Sequence[str] | None = None


class ConversationNamed(Answer):
    """A conversation, without what was said in it."""

    session_id: str
    project: str
    title: str | None = None
    slug: str | None = None
    interface_type: str
    parent: str | None = None
    first_timestamp: Moment | None = None
    last_timestamp: Moment | None = None
    cwd: str | None = None
    git_branch: str | None = None
    source_gone_at: Moment | None = None


class ConversationListed(ConversationNamed):
    """One line of a list."""

    turn_count: int

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationListed":
        """What is told of a conversation in a list."""
        return cls(**_named(conversation), turn_count=conversation.turns)


class ConversationsListed(Answer):
    """One page of conversations, newest first."""

    total: int
    conversations: Sequence[ConversationListed]
    next_cursor: str | None = None


class ConversationRead(ConversationNamed):
    """One page of a conversation's turns."""

    total_turns: int
    offset: int
    turns: Sequence[TurnShown]
    next_offset: int | None = None
    subagents: Sequence[ConversationReference] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, read: ReadConversation, offset: int) -> "ConversationRead":
        """The page, with its turns as long as they are. Subagents stand on the first page."""
        agents = [] if offset else [ConversationReference.of(each) for each in read.subagents]
        too_many = [f"{MOST_SUBAGENTS} of {len(agents)} subagents are shown"]
        return cls(
            **_named(read.conversation),
            total_turns=read.total,
            offset=offset,
            turns=[TurnShown.of(text) for text in read.turns],
            subagents=agents[:MOST_SUBAGENTS] or None,
            notes=too_many if len(agents) > MOST_SUBAGENTS else None,
        )


class TurnExported(TurnShown):
    """A turn in an export. `continues` is whether its texts go on with the same turn on the next page."""

    continues: bool | None = None

    @classmethod
    def whole(cls, text: TurnText) -> "TurnExported":
        """The turn, with what its tools gave back."""
        return cls(**_whole(text))


class ConversationExported(ConversationNamed):
    """A conversation in an export, or those of its turns that are on this page."""

    turn_count: int
    turns: Sequence[TurnExported]

    @classmethod
    def of(cls, conversation: Conversation, turns: Sequence[TurnExported]) -> "ConversationExported":
        """The conversation with some of its turns."""
        return cls(**_named(conversation), turn_count=conversation.turns, turns=turns)


class ConversationsExported(Answer):
    """One page of an export: as values, or as markdown."""

    format: Literal["json", "markdown"]
    conversations: Sequence[ConversationExported] | None = None
    markdown: str | None = None
    next_cursor: str | None = None


def _named(conversation: Conversation) -> dict[str, Any]:
    """What every answer about one conversation begins with."""
    return {
        "session_id": conversation.id,
        "project": conversation.project.name,
        "title": conversation.title.text or None,
        "slug": conversation.slug or None,
        "interface_type": conversation.interface_type,
        "parent": conversation.parent or None,
        "first_timestamp": conversation.started_at,
        "last_timestamp": conversation.ended_at,
        "cwd": conversation.folder or None,
        "git_branch": conversation.git_branches[-1] if conversation.git_branches else None,
        "source_gone_at": conversation.source_gone_at,
    }


def _marked(snippet: Snippet) -> str:
    """The snippet, with ** around each word that matches."""
    parts, end = [], 0
    for begin, after in snippet.marks:
        parts += [snippet.text[end:begin], "**", snippet.text[begin:after], "**"]
        end = after
    return "".join([*parts, snippet.text[end:]])


def _found(hit: TurnHit) -> dict[str, Any]:
    return {
        "session_id": hit.conversation.id,
        "turn_number": hit.turn,
        "role": hit.message.role,
        "timestamp": hit.message.at,
        "project": hit.conversation.project.name,
        "title": hit.conversation.title.text or None,
        "score": round(hit.score, 4),
        "found_by": [name for name in RETRIEVERS if name in hit.parts],
        "snippet": _marked(hit.snippet),
    }


def _turn(text: TurnText) -> dict[str, Any]:
    turn = text.turn
    return {
        "turn_number": turn.number,
        "timestamp": turn.started_at,
        "branch": turn.branch if turn.branch > 1 else None,
        "commands": "\n".join(turn.commands) or None,
        "user_text": text.texts.get(Role.USER),
        "assistant_text": text.texts.get(Role.ASSISTANT),
        "tools_used": [dict(call.rendering) for call in turn.tool_calls] or None,
    }


def _whole(text: TurnText) -> dict[str, Any]:
    """A turn with what its tools gave back."""
    return {**_turn(text), "tool_text": text.texts.get(Role.TOOL)}
