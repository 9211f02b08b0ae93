"""Live conversations in memory: as long as the process lives, and no longer.

The plainest form of what every storage does; the others must answer as it does.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backstory.adapters.conversations.heads import Heads
from backstory.adapters.conversations.rules import (
    begun,
    changed,
    follows,
    grown,
    numbered_on,
    room_taken,
    shown,
)
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    ConversationPage,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.summary import Summary


@dataclass
class _Said:
    turns: list[LiveTurn] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # of the turns, by their ids
    summaries: list[Summary] = field(default_factory=list)

    def known(self, id: str) -> LiveTurn | None:
        return self.turns[self.numbers[id] - 1] if id in self.numbers else None


class InMemoryConversationStorage:
    """Keeps conversations in memory."""

    def __init__(self) -> None:
        self._heads = Heads()
        self._said: dict[str, _Said] = {}
        self._lock = threading.Lock()

    def create(self, new: NewConversation) -> LiveConversation:
        """Begin a conversation, unless it or another is in its room."""
        conversation = begun(new)
        with self._lock:
            if held := self._heads.get(new.id) or self._heads.in_room_of(new):
                return held
            self._heads.put(conversation)
            self._said[new.id] = _Said()
            return conversation

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Keep turns, all or none."""
        with self._lock:
            conversation = self._heads.present(id)
            said = self._said[id]
            kept, added = numbered_on(conversation, turns, said.known)
            said.turns += added
            said.numbers |= {turn.id: turn.number for turn in added}
            self._heads.put(grown(conversation, added))
            return kept

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        with self._lock:
            conversation = self._heads.get(id)
            if conversation is None or not summaries:
                return conversation
            return replace(conversation, summaries=tuple(self._said[id].summaries[-summaries:]))

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows."""
        with self._lock:
            count = self._heads.known(id).turns
            said = self._said[id]
            return [said.turns[number - 1] for number in shown(window, count, said.numbers.get)]

    def summarize(self, id: str, summary: Summary) -> bool:
        """Keep the summary of the turns after the last summarized one."""
        with self._lock:
            conversation = self._heads.present(id)
            if not follows(conversation, summary):
                return False
            self._said[id].summaries.append(summary)
            self._heads.put(replace(conversation, summarized_to=summary.last_turn))
            return True

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Change a conversation's title, metadata, or whether it is deleted."""
        with self._lock:
            conversation = self._heads.get(id)
            if conversation is None:
                return None
            other = self._heads.in_room_of(conversation)
            if change.deleted is False and other and other.id != id:
                raise room_taken(conversation, other.id)
            self._heads.put(changed(conversation, change))
            return self._heads.get(id)

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        with self._lock:
            return self._heads.find(criteria)
