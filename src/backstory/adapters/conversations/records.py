"""Live conversations in the records. (To be written.)"""

from backstory.adapters.conversations.in_memory import InMemoryConversationStorage
from backstory.records.records import Records


class RecordsConversationStorage(InMemoryConversationStorage):
    """Keeps conversations in the records."""

    def __init__(self, records: Records) -> None:
        super().__init__()
        self._records = records
