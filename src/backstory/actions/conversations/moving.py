"""Bringing one live conversation from where it is to another place, with its turns and summaries.

Which conversations those are, and that nobody writes meanwhile, is left to `migrate`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from backstory.engine import Engine
from backstory.errors import InputError, StoreError
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)

#: Turns read and written by one call. A turn has 1 KB mostly, and 2 MB at most.
_AT_ONCE: Final = 100

#: More than a conversation has.
_EVERY: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Moved:
    """What the other place did not have before. `is_whole`: it has everything now."""

    conversations: int = 0
    turns: int = 0
    summaries: int = 0
    is_whole: bool = True


class Move:
    """From one place to another. What is there already stays."""

    def __init__(self, engine: Engine, source: str, target: str) -> None:
        self._names = source, target
        self._source = engine.live.named(source)
        self._target = engine.live.named(target)

    def bring(self, id: str, *, most_turns: int = _EVERY) -> Moved:
        """Let the target have a conversation as the source has it, or come nearer to that by so many turns.

        Raises `StoreError` if it cannot be made the same, and `InputError` if its room is taken there.
        """
        conversation = self._source.get(id)
        there = self._target.get(id)
        if conversation is None or (
            there and replace(there, summaries=()) == replace(conversation, summaries=())
        ):
            return Moved()
        self._free_room(conversation)
        with self._entered(conversation) as begun:
            self._check_same_beginning(conversation, begun)
            turns = self._bring_turns(conversation, begun.turns, most_turns)
            if begun.turns + turns < conversation.turns:
                return Moved(int(there is None), turns, is_whole=False)
            summaries = self._bring_summaries(conversation, begun)
            self._bring_head(conversation, begun)
        self._verify(conversation)
        return Moved(int(there is None), turns, summaries)

    def _free_room(self, conversation: LiveConversation) -> None:
        """See that nobody else has the room for good: who had it before is brought up to date first."""
        other = None if conversation.deleted_at else self._in_room(conversation)
        if other and self._source.get(other.id) is None:
            raise InputError(
                f"the room {conversation.room} has the conversation {conversation.id} in {self._names[0]},"
                f" and another, {other.id}, in {self._names[1]}",
                hint="delete the first, or take away the second, and try again",
            )
        if other:
            self.bring(other.id)

    @contextmanager
    def _entered(self, conversation: LiveConversation) -> Iterator[LiveConversation]:
        """Let a conversation be in its room of the target for as long as it is written.

        Nothing is appended to a deleted one. Whoever has its room by now waits outside.
        """
        storage, at = self._target, conversation.created_at
        other = self._in_room(conversation)
        if other:
            storage.change(other.id, ConversationChange(at, deleted=True))
        try:
            storage.create(_new(conversation))
            entered = storage.change(conversation.id, ConversationChange(at, deleted=False))
            if entered is None:
                raise self._differs(conversation)
            yield entered
        finally:
            if conversation.deleted_at:
                storage.change(conversation.id, ConversationChange(conversation.deleted_at, deleted=True))
            if other:
                storage.change(other.id, ConversationChange(at, deleted=False))

    def _in_room(self, conversation: LiveConversation) -> LiveConversation | None:
        """Who else has the room of a conversation in the target; nobody, if it could enter."""
        storage = self._target
        present = storage.get(conversation.id) or storage.create(_new(conversation))
        if present.id != conversation.id:
            return present
        wanted = ConversationCriteria(
            conversation.project, conversation.interface_type, conversation.room, limit=1
        )
        return next(iter(storage.find(wanted).conversations), None) if present.deleted_at else None

    def _check_same_beginning(self, conversation: LiveConversation, begun: LiveConversation) -> None:
        """Refuse to mix two histories: what the target has must be how the source begins."""
        last = min(begun.turns, conversation.turns)
        same = begun.turns <= conversation.turns and begun.summarized_to <= conversation.summarized_to
        if same and last:
            window = TurnWindow(last, last)
            same = [turn.id for turn in self._target.turns(conversation.id, window)] == [
                turn.id for turn in self._turns(conversation, last, last)
            ]
        if not same:
            raise self._differs(conversation)

    def _bring_turns(self, conversation: LiveConversation, had: int, most: int) -> int:
        last = min(conversation.turns, had + most)
        for first in range(had + 1, last + 1, _AT_ONCE):
            turns = self._turns(conversation, first, min(first + _AT_ONCE - 1, last))
            self._target.append(conversation.id, [_again(turn) for turn in turns])
        return max(last - had, 0)

    def _turns(self, conversation: LiveConversation, first: int, last: int) -> list[LiveTurn]:
        return self._source.turns(conversation.id, TurnWindow(first, last))

    def _bring_summaries(self, conversation: LiveConversation, begun: LiveConversation) -> int:
        known = self._source.get(conversation.id, summaries=_EVERY) or conversation
        new = [each for each in known.summaries if each.first_turn > begun.summarized_to]
        return sum(self._target.summarize(conversation.id, each) for each in new)

    def _bring_head(self, conversation: LiveConversation, begun: LiveConversation) -> None:
        gone = {key: None for key in begun.metadata if key not in conversation.metadata}
        change = ConversationChange(
            conversation.updated_at, conversation.title, {**gone, **conversation.metadata}
        )
        self._target.change(conversation.id, change)

    def _verify(self, conversation: LiveConversation) -> None:
        there = self._target.get(conversation.id)
        if there is None or _counts(there) != _counts(conversation):
            raise self._differs(conversation)

    def _differs(self, conversation: LiveConversation) -> StoreError:
        source, target = self._names
        return StoreError(
            f"the conversation {conversation.id} is not the same in {source} and in {target}:"
            f" {conversation.turns} turns there, not what {target} has under its id",
            hint=f"it was written in both places; move away what {target} holds, and try again",
        )


def _counts(conversation: LiveConversation) -> tuple[int, int, bool]:
    return conversation.turns, conversation.summarized_to, conversation.deleted_at is None


def _new(conversation: LiveConversation) -> NewConversation:
    return NewConversation(
        conversation.id,
        conversation.project,
        conversation.interface_type,
        conversation.room,
        conversation.created_at,
        conversation.title,
        conversation.metadata,
    )


def _again(turn: LiveTurn) -> NewTurn:
    return NewTurn(
        turn.id,
        turn.query,
        turn.response,
        turn.at,
        turn.user_id,
        turn.user_name,
        turn.parent,
        turn.metadata,
    )
