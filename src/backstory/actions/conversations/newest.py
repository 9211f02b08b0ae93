"""Listing live conversations for a person: the newest first, deleted ones too if they are wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest

from backstory.actions.conversations.known import pages
from backstory.engine import Engine
from backstory.model.live import ConversationCriteria, LiveConversation


@dataclass(frozen=True, slots=True)
class Newest:
    """The conversations that changed last, and how many there are in all."""

    conversations: Sequence[LiveConversation]
    total: int


def newest_conversations(engine: Engine, criteria: ConversationCriteria, most: int) -> Newest:
    """Those that meet the criteria and changed last, straight from where they are kept."""
    found = [each for page in pages(engine.live.storage.find, criteria) for each in page]
    return Newest(nlargest(most, found, key=lambda each: (each.updated_at, each.id)), len(found))
