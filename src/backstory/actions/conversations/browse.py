"""Looking through conversations, live ones and transcripts alike, and reading a live one from its storage."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from backstory.engine import Engine
from backstory.model.conversation import Conversation
from backstory.model.live import LiveConversation, LiveTurn, TurnWindow
from backstory.model.project import Scope, is_inside


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations are looked for; all conditions hold together."""

    interface_type: str | None = None
    room: str | None = None
    since: datetime | None = None  # something was said at or after
    until: datetime | None = None  # nothing was said after


@dataclass(frozen=True, slots=True)
class Browsed:
    """A page of conversations, and how many there are in all."""

    conversations: Sequence[Conversation]
    total: int


@dataclass(frozen=True, slots=True)
class LivePage:
    """A page of a live conversation's turns, with the newest of its summaries."""

    conversation: LiveConversation
    turns: Sequence[LiveTurn]


def browse(engine: Engine, scope: Scope, wanted: Wanted, *, limit: int, offset: int = 0) -> Browsed:
    """The conversations inside the scope that are wanted, those held last first."""
    with engine.records.reading() as records:
        page, total = records.conversations.page(
            scope,
            limit=limit,
            offset=offset,
            interface_type=wanted.interface_type,
            room=wanted.room,
            since=wanted.since,
            until=wanted.until,
        )
    return Browsed(page, total)


def read_live(engine: Engine, scope: Scope, id: str, *, offset: int, limit: int) -> LivePage | None:
    """A page of a live conversation, as its storage has it; None when the scope has none with this id.

    The storage is not asked for what is known to be a transcript: that can be read even if it is broken.
    """
    with engine.records.reading() as records:
        copy = records.conversations.get(scope, id)
    if copy and not copy.is_live:
        return None
    storage = engine.live.storage
    conversation = storage.get(id, summaries=engine.tiers.summaries)
    if conversation is None or conversation.deleted_at or not is_inside(scope, conversation.project):
        return None
    window = TurnWindow(first=offset + 1, last=offset + limit, newest=limit)
    return LivePage(conversation, storage.turns(id, window))
