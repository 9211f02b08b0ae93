"""What is told at the addresses of conversations: what the tools tell of them, and where to read on."""

from collections.abc import Mapping, Sequence

from backstory.actions.conversations.browse import LivePage
from backstory.actions.transcripts.read import ReadConversation
from backstory.mcp.answers import Answer
from backstory.mcp.transcript_answers import (
    ConversationListed,
    ConversationRead,
    TurnFound,
    TurnsFound,
    TurnShown,
)
from backstory.mcp.uris import GET, write_address
from backstory.model.conversation import Conversation
from backstory.model.live import LiveTurn
from backstory.model.summary import Summary


class ConversationLinked(ConversationListed):
    """One line of a list. `is_live`: it is written turn by turn, and not read from a transcript."""

    uri: str
    room_id: str | None = None
    is_live: bool

    @classmethod
    def linked(cls, conversation: Conversation, project: str | None) -> "ConversationLinked":
        """What is told of a conversation, with its address as somebody reads it who named that project."""
        return cls(
            **ConversationListed.of(conversation).model_dump(),
            uri=write_address(GET, conversation.id, {"project": project}),
            room_id=conversation.room or None,
            is_live=conversation.is_live,
        )


class ConversationsLinked(Answer):
    """Conversations, those held last first. `next` is the address of the page that follows."""

    total: int
    conversations: Sequence[ConversationLinked]
    next: str | None = None


class TurnOpened(TurnShown):
    """A turn; what only turns of live conversations have is left out for others."""

    turn_id: str | None = None
    user_id: str | None = None
    user_name: str | None = None
    parent_turn_id: str | None = None
    thread_id: str | None = None
    metadata: Mapping[str, object] | None = None

    @classmethod
    def said(cls, turn: LiveTurn) -> "TurnOpened":
        """A turn of a live conversation."""
        return cls(
            turn_number=turn.number,
            timestamp=turn.at,
            user_text=turn.query or None,
            assistant_text=turn.response or None,
            turn_id=turn.id,
            user_id=turn.user_id or None,
            user_name=turn.user_name or None,
            parent_turn_id=turn.parent or None,
            thread_id=turn.thread if turn.thread != turn.id else None,
            metadata=dict(turn.metadata) or None,
        )


class SummaryShown(Answer):
    """What some turns came to."""

    first_turn: int
    last_turn: int
    text: str

    @classmethod
    def of(cls, summary: Summary) -> "SummaryShown":
        """What is told of a summary."""
        return cls(first_turn=summary.first_turn, last_turn=summary.last_turn, text=summary.text)


class ConversationOpened(ConversationRead):
    """One page of a conversation. `next` is the address of the page that follows."""

    turns: Sequence[TurnOpened]
    room_id: str | None = None
    is_live: bool
    metadata: Mapping[str, object] | None = None
    summaries: Sequence[SummaryShown] | None = None
    next: str | None = None

    @classmethod
    def kept(cls, read: ReadConversation, offset: int) -> "ConversationOpened":
        """A page of a transcript, with its turns as long as they are."""
        return cls(**ConversationRead.of(read, offset).model_dump(), is_live=False)

    @classmethod
    def live(cls, page: LivePage, offset: int) -> "ConversationOpened":
        """A page of a live conversation. Its newest summaries stand on the first one."""
        conversation = page.conversation
        summaries = [] if offset else [SummaryShown.of(each) for each in conversation.summaries]
        return cls(
            session_id=conversation.id,
            project=conversation.project.name,
            title=conversation.title or None,
            interface_type=conversation.interface_type,
            first_timestamp=conversation.created_at,
            last_timestamp=conversation.updated_at,
            total_turns=conversation.turns,
            offset=offset,
            turns=[TurnOpened.said(turn) for turn in page.turns],
            room_id=conversation.room or None,
            is_live=True,
            metadata=dict(conversation.metadata) or None,
            summaries=summaries or None,
        )


class TurnLinked(TurnFound):
    """One hit, and the address of its turn."""

    uri: str


class TurnsLinked(Answer):
    """Hits, best first. `next` is the address of the page that follows."""

    hits: Sequence[TurnLinked]
    next: str | None = None
    degraded: Sequence[str] | None = None

    @classmethod
    def of(cls, found: TurnsFound, project: str | None, following: str | None) -> "TurnsLinked":
        """What was found, with addresses as somebody reads them who named that project."""
        return cls(
            hits=[_linked(hit, project) for hit in found.hits], next=following, degraded=found.degraded
        )


def _linked(hit: TurnFound, project: str | None) -> TurnLinked:
    place = {"offset": hit.turn_number - 1, "limit": 1, "project": project}
    return TurnLinked(**hit.model_dump(), uri=write_address(GET, hit.session_id, place))
