"""Beginning a live conversation."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from backstory.actions.conversations import accepting
from backstory.actions.conversations.copying import keep_or_tell
from backstory.engine import Engine
from backstory.model.live import ConversationNews, LiveConversation, Metadata, NewConversation
from backstory.model.project import Project

_MAX_INTERFACE_CHARS: Final = 100
_MAX_ROOM_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """The conversation that is asked for. A room of an interface has one in each project."""

    interface_type: str
    room: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Created:
    """The conversation of the room. `waits` says what search does not know of it yet, and why."""

    conversation: LiveConversation
    is_new: bool
    waits: Sequence[str] = ()


def create_conversation(engine: Engine, project: Project, wanted: Wanted) -> Created:
    """Begin a conversation; if its room has one already, that one is given back as it is."""
    new = _new(project, wanted)
    with engine.live.writing() as storage:
        conversation = storage.create(new)
        is_new = conversation.id == new.id
        waits = keep_or_tell(engine, conversation) if is_new else ()
    if is_new:
        engine.changes.tell(ConversationNews(conversation.id, conversation.room, is_listed_anew=True))
        engine.bell.ring()
    return Created(conversation, is_new, waits)


def _new(project: Project, wanted: Wanted) -> NewConversation:
    interface_type = accepting.needed("interface_type", wanted.interface_type)
    room = accepting.needed("room_id", wanted.room)
    return NewConversation(
        id=str(uuid.uuid4()),
        project=project,
        interface_type=accepting.name("interface_type", interface_type, _MAX_INTERFACE_CHARS),
        room=accepting.name("room_id", room, _MAX_ROOM_CHARS),
        created_at=datetime.now(UTC),
        title=accepting.line("title", wanted.title, accepting.MAX_TITLE_CHARS),
        metadata=accepting.metadata(
            {key: value for key, value in wanted.metadata.items() if value is not None}
        ),
    )
