"""Reading a conversation: one turn, or a page of turns, whole."""

from collections.abc import Sequence
from dataclasses import dataclass

from backstory.engine import Engine
from backstory.errors import InputError, NotFound
from backstory.model.conversation import Conversation, TurnText
from backstory.model.project import Scope, is_inside
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT


@dataclass(frozen=True, slots=True)
class ReadTurn:
    """One turn of a conversation that has `total` turns."""

    conversation: Conversation
    text: TurnText
    total: int


@dataclass(frozen=True, slots=True)
class ReadConversation:
    """A page of a conversation's turns.

    `subagents` are the conversations inside the scope of agents that worked for it.
    """

    conversation: Conversation
    turns: Sequence[TurnText]
    total: int
    subagents: Sequence[Conversation] = ()


def read_turn(engine: Engine, scope: Scope, id: str, number: int) -> ReadTurn:
    """One turn, whole; raises `NotFound` when the scope has no such conversation, or it no such turn."""
    with engine.records.reading() as records:
        conversation = records.conversations.live(scope, id)
        turn = records.conversations.turn(id, number)
    if turn is None:
        raise NotFound(
            f"conversation {id} has no turn {number}",
            hint=f"its turns are numbered 1 to {conversation.turns}",
        )
    return ReadTurn(conversation, turn, conversation.turns)


def read_conversation(
    engine: Engine, scope: Scope, id: str, *, offset: int = 0, limit: int = DEFAULT_LIMIT
) -> ReadConversation:
    """A page of a conversation's turns, each whole; raises `NotFound` when the scope does not have it."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit {limit} is not between 1 and {MAX_LIMIT}", hint=f"use {DEFAULT_LIMIT}")
    if offset < 0:
        raise InputError(f"offset {offset} is below 0", hint="begin at 0")
    with engine.records.reading() as records:
        conversation = records.conversations.live(scope, id)
        turns = records.conversations.turns(id, offset=offset, limit=limit)
        subagents = records.conversations.subagents(id)
    seen = [each for each in subagents if is_inside(scope, each.project)]
    return ReadConversation(conversation, turns, conversation.turns, seen)
