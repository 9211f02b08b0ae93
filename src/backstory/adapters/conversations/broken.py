"""Live conversations whose storage is damaged: whoever asks for one is told so, and all else goes on."""

from collections.abc import Sequence
from typing import NoReturn

from backstory.errors import StoreCorrupt
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


class BrokenConversationStorage:
    """Keeps nothing, and says why."""

    def __init__(self, damage: StoreCorrupt) -> None:
        self._damage = damage

    def create(self, new: NewConversation) -> LiveConversation:
        """Refuse."""
        self._refuse(new)

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Refuse."""
        self._refuse(id, turns)

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """Refuse."""
        self._refuse(id, summaries)

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """Refuse."""
        self._refuse(id, window)

    def summarize(self, id: str, summary: Summary) -> bool:
        """Refuse."""
        self._refuse(id, summary)

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Refuse."""
        self._refuse(id, change)

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """Refuse."""
        self._refuse(criteria)

    def _refuse(self, *_: object) -> NoReturn:
        raise StoreCorrupt(str(self._damage), hint=self._damage.hint)
