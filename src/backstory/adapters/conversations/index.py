"""What the JSONL files come to: each conversation as it stands, and where its turns and summaries lie.

Texts stay in the files. A line may be taken in again from another place: then it lies there from now on.
"""

from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from backstory.adapters.conversations.heads import Heads
from backstory.adapters.conversations.lines import Changed, Content, Header, Summarized
from backstory.adapters.conversations.rules import shown
from backstory.model.live import LiveConversation, LiveTurn, TurnWindow

#: Bits for the place inside a file; those above tell the file.
_OFFSET_BITS: Final = 40
_OFFSETS: Final = (1 << _OFFSET_BITS) - 1


class Place(NamedTuple):
    """Where a line lies."""

    file: int
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Where the next line begins."""
        return self.offset + self.length


class _Places:
    """Places by number, from 1. They take 12 bytes each; as tuples they would take 150."""

    def __init__(self) -> None:
        self._starts = array("Q")
        self._lengths = array("I")

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Place:
        start = self._starts[number - 1]
        return Place(start >> _OFFSET_BITS, start & _OFFSETS, self._lengths[number - 1])

    def put(self, number: int, place: Place) -> bool:
        """Remember a place; whether it is that of a further number, which can only be the next."""
        if not 1 <= number <= len(self) + 1:
            raise ValueError(f"number {number} comes after number {len(self)}")
        start = place.file << _OFFSET_BITS | place.offset
        if number <= len(self):
            self._starts[number - 1], self._lengths[number - 1] = start, place.length
            return False
        self._starts.append(start)
        self._lengths.append(place.length)
        return True


@dataclass(slots=True)
class _Said:
    turns: _Places = field(default_factory=_Places)
    numbers: dict[str, int] = field(default_factory=dict)  # of the turns, by their ids
    summaries: _Places = field(default_factory=_Places)
    version: int = 0
    changed: Place | None = None  # where the change of that version lies


class Index:
    """Conversations and places, made of lines in the order in which they were written.

    Turns that were taken in are there once they are settled, all at once: counting them one by one took half
    of the time of opening.
    """

    def __init__(self) -> None:
        self.heads = Heads()
        self._said: dict[str, _Said] = {}
        self._unsettled: dict[str, datetime] = {}  # when the latest of their new turns was said
        self._superseded: Counter[int] = Counter()

    def take(self, content: Content, place: Place) -> None:
        """Add what a line says; raises `ValueError` if it does not fit what came before it."""
        match content:
            case LiveTurn():
                self._take_turn(content, place)
            case LiveConversation():
                self._take_conversation(content)
            case Summarized():
                self._take_summary(content, place)
            case Changed():
                self._take_change(content, place)
            case Header():
                pass

    def settle(self) -> None:
        """Let the conversations have the turns that were taken in."""
        for id, at in self._unsettled.items():
            said, conversation = self._known(id)
            latest = max(conversation.updated_at, at)
            self.heads.put(replace(conversation, turns=len(said.turns), updated_at=latest))
        self._unsettled.clear()

    def turns(self, id: str, window: TurnWindow) -> list[Place]:
        """Where those turns lie that a window shows; raises `NotFound` if the conversation is not there."""
        count = self.heads.known(id).turns
        said = self._said[id]
        return [said.turns[number] for number in shown(window, count, said.numbers.get)]

    def summaries(self, id: str, newest: int) -> list[Place]:
        """Where the newest summaries of a conversation lie, oldest first."""
        kept = self._said[id].summaries
        return [kept[number] for number in range(max(len(kept) - newest, 0) + 1, len(kept) + 1)]

    def count_summaries(self, id: str) -> int:
        """How many summaries a conversation has."""
        return len(self._said[id].summaries)

    def version(self, id: str) -> int:
        """How often a conversation was changed."""
        return self._said[id].version

    def is_superseded(self, content: Content) -> bool:
        """Whether nothing is lost with a line: a later change says all that it says."""
        return isinstance(content, Changed) and content.version < self.version(content.conversation)

    def superseded_bytes(self, file: int) -> int:
        """How much of a file is superseded."""
        return self._superseded[file]

    def _take_turn(self, turn: LiveTurn, place: Place) -> None:
        id = turn.conversation
        said, _ = self._known(id)
        if said.turns.put(turn.number, place):
            said.numbers[turn.id] = turn.number
            self._unsettled[id] = max(self._unsettled.get(id, turn.at), turn.at)

    def _take_conversation(self, conversation: LiveConversation) -> None:
        if conversation.id not in self._said:
            self._said[conversation.id] = _Said()
            self.heads.put(conversation)

    def _take_summary(self, line: Summarized, place: Place) -> None:
        said, conversation = self._known(line.conversation)
        if said.summaries.put(line.number, place):
            self.heads.put(replace(conversation, summarized_to=line.summary.last_turn))

    def _take_change(self, change: Changed, place: Place) -> None:
        said, conversation = self._known(change.conversation)
        if said.changed and change.version > said.version:
            self._superseded[said.changed.file] += said.changed.length
        said.version, said.changed = change.version, place
        self.heads.put(change.applied(conversation))

    def _known(self, id: str) -> tuple[_Said, LiveConversation]:
        conversation = self.heads.get(id)
        if conversation is None:
            raise ValueError(f"the conversation {id} was not begun")
        return self._said[id], conversation
