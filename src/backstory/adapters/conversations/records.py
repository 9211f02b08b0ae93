"""Live conversations in the records: each call is one transaction of the store that search reads too."""

from collections.abc import Sequence
from dataclasses import replace

from backstory.adapters.conversations.rules import (
    begun,
    changed,
    follows,
    grown,
    no_conversation,
    numbered_on,
    room_taken,
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
from backstory.records.records import Records, Transaction


class RecordsConversationStorage:
    """Keeps conversations in the records."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def create(self, new: NewConversation) -> LiveConversation:
        """Begin a conversation, unless it or another is in its room."""
        conversation = begun(new)
        with self._records.writing() as transaction:
            live = transaction.live
            held = live.get(new.id) or live.in_room(new.project, new.interface_type, new.room)
            if held is None:
                live.begin(conversation)
            return held or conversation

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Keep turns, all or none."""
        with self._records.writing() as transaction:
            conversation = _present(transaction, id)
            named = [name for new in turns for name in (new.id, new.parent) if name]
            kept, added = numbered_on(conversation, turns, transaction.live.turns_by_id(id, named).get)
            transaction.live.append(grown(conversation, added), added)
            return kept

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        with self._records.reading() as transaction:
            return transaction.live.get(id, summaries=summaries)

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows."""
        with self._records.reading() as transaction:
            if transaction.live.get(id) is None:
                raise no_conversation(id)
            return transaction.live.turns(id, window)

    def summarize(self, id: str, summary: Summary) -> bool:
        """Keep the summary of the turns after the last summarized one."""
        with self._records.writing() as transaction:
            conversation = _present(transaction, id)
            if not follows(conversation, summary):
                return False
            transaction.live.add_summary(replace(conversation, summarized_to=summary.last_turn), summary)
            return True

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Change a conversation's title, metadata, or whether it is deleted."""
        with self._records.writing() as transaction:
            now = transaction.live.get(id)
            if now is None:
                return None
            other = transaction.live.in_room(now.project, now.interface_type, now.room)
            if change.deleted is False and other and other.id != id:
                raise room_taken(now, other.id)
            then = changed(now, change)
            transaction.live.put(then)
            return then

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        with self._records.reading() as transaction:
            return transaction.live.find(criteria)


def _present(transaction: Transaction, id: str) -> LiveConversation:
    conversation = transaction.live.get(id)
    if conversation is None or conversation.deleted_at:
        raise no_conversation(id)
    return conversation
