"""What is kept of one conversation, as rows, and what has to be projected again when it becomes another.

Pure: reading and writing the rows is left to `conversations`.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from backstory.model.conversation import Conversation, KeptTurn
from backstory.model.keeping import Link, NewMessage, chain_of, windows_in
from backstory.model.passage import Passage
from backstory.records.conversation_rows import (
    conversation_columns,
    message_columns,
    touch_columns,
    turn_columns,
)

Columns = dict[str, Any]
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class State:
    """A conversation's rows. `messages` and `touches` are of those that it holds itself."""

    conversation: Columns | None = None
    passage: Passage | None = None
    turns: Mapping[int, Columns] = field(default_factory=dict)
    messages: Mapping[str, Columns] = field(default_factory=dict)
    touches: Mapping[tuple[str, str], Columns] = field(default_factory=dict)
    chain: Sequence[Link] = ()

    @classmethod
    def wanted(
        cls,
        conversation: Conversation,
        passage: Passage,
        turns: Sequence[KeptTurn],
        own: Mapping[str, NewMessage],
    ) -> Self:
        """The rows that a conversation should have, given which of its messages it holds itself."""
        chain = chain_of(turns)
        labels = {name: list(values) for name, values in passage.labels.items()}
        rows = [row for new in own.values() for row in touch_columns(new)]
        return cls(
            conversation_columns(conversation, passage.id),
            replace(passage, labels=labels, numbers=dict(passage.numbers)),
            {turn.number: turn_columns(conversation.id, turn) for turn in turns},
            {link.id: message_columns(own[link.id], link) for link in chain if link.id in own},
            {(row["message"], row["path"]): row for row in rows},
            chain,
        )

    def without(self, ids: Set[str]) -> Self:
        """The state when another conversation holds some of its messages."""
        return replace(
            self,
            messages={id: row for id, row in self.messages.items() if id not in ids},
            touches={key: row for key, row in self.touches.items() if key[0] not in ids},
        )


def reworded(before: State, after: State) -> set[str]:
    """Messages that are still held, and whose passages are not the same any more."""
    held = before.messages.keys() & after.messages.keys()
    if labels_of(before) != labels_of(after):
        return set(held)
    return {id for id in held if _said(before.messages[id]) != _said(after.messages[id])}


def to_index(before: State, after: State) -> set[str]:
    """Messages whose entries are not the same any more: of their own, or for those around them."""
    return differing(_windows(before), _windows(after)) | reworded(before, after)


def to_label(before: State, after: State) -> set[str]:
    """Messages that other conversations than before may name; new ones are named by this one alone."""
    old, new = ({link.id for link in state.chain} for state in (before, after))
    added = after.messages.keys() - before.messages.keys()
    named = old | new if labels_of(before) != labels_of(after) else old ^ new
    return (named | reworded(before, after)) - added


def to_link(before: State, after: State) -> set[str]:
    """Messages whose nodes or edges are not the same any more."""
    touched = {message for message, _ in differing(before.touches, after.touches)}
    return touched | differing(_neighbours(before.chain), _neighbours(after.chain))


def differing(before: Mapping[_Key, object], after: Mapping[_Key, object]) -> set[_Key]:
    """The keys of what is new, other or gone."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def labels_of(state: State) -> Mapping[str, Sequence[str]]:
    """What the index knows of the conversation, and so of each of its messages."""
    return state.passage.labels if state.passage else {}


def _windows(state: State) -> dict[str, list[str]]:
    """The messages around each message that is held, by which it is found too."""
    return {id: window for id, window in windows_in(state.chain).items() if id in state.messages}


def _neighbours(chain: Sequence[Link]) -> dict[str, tuple[int, str, str]]:
    """The turn of each message, the message before it and the one after it."""
    ids = ["", *(link.id for link in chain), ""]
    around = zip(chain, ids, ids[2:], strict=False)
    return {link.id: (link.turn, previous, following) for link, previous, following in around}


def _said(columns: Columns) -> tuple[Any, ...]:
    """What a message's passage is made from, beside its text."""
    return columns["role"], columns["speaker"], columns["at"]
