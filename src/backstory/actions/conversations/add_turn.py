"""Writing down what was said, while it is said."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from backstory.actions.conversations import accepting
from backstory.actions.conversations.copying import keep_or_tell
from backstory.actions.conversations.known import known
from backstory.engine import Engine
from backstory.model.live import ConversationNews, LiveTurn, Metadata, NewTurn
from backstory.model.project import Scope

#: What the ids of turns that were added under a key are made from.
_KEYED: Final = uuid.UUID("b1a52f0c-58a2-4b7c-93f4-0c1e7f3a9d55")

_MAX_ID_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Said:
    """What was said in one turn: what somebody asked, and what was answered, if it was."""

    query: str
    response: str = ""
    user_id: str = ""
    user_name: str = ""
    parent: str = ""  # the id of the turn that it answers
    metadata: Metadata = field(default_factory=dict)
    at: datetime | None = None  # None: now


@dataclass(frozen=True, slots=True)
class Added:
    """The turn as it is kept. `waits` says what search cannot see of it yet, and why."""

    turn: LiveTurn
    waits: Sequence[str] = ()


def add_turn(engine: Engine, scope: Scope, id: str, said: Said, key: str | None = None) -> Added:
    """Keep a turn for good; when this returns, it survives a crash, and its words are found.

    By meaning it is found as soon as the worker has embedded it. A caller that does not know whether it was
    answered may ask again with the same `key`: the same words are then kept once.
    """
    new = _new(id, said, key)
    with engine.live.writing() as storage:
        conversation = known(engine, scope, id)
        (turn,) = storage.append(id, [new])
        waits = keep_or_tell(engine, conversation, turn)
    engine.changes.tell(ConversationNews(id, conversation.room))
    engine.bell.ring()
    return Added(turn, waits)


def _new(conversation: str, said: Said, key: str | None) -> NewTurn:
    response = accepting.text("response", said.response)
    return NewTurn(
        id=_id(conversation, said, key),
        query=accepting.needed("query", accepting.text("query", said.query)),
        response=response if response.strip() else "",
        at=said.at or datetime.now(UTC),
        user_id=accepting.name("user_id", said.user_id, _MAX_ID_CHARS),
        user_name=accepting.line("user_name", said.user_name, accepting.MAX_NAME_CHARS),
        parent=accepting.name("parent_turn_id", said.parent, _MAX_ID_CHARS),
        metadata=accepting.metadata(said.metadata),
    )


def _id(conversation: str, said: Said, key: str | None) -> str:
    if key is None:
        return str(uuid.uuid4())
    named = [conversation, key, said.query, said.response, said.user_id, said.parent]
    return str(uuid.uuid5(_KEYED, json.dumps(named)))
