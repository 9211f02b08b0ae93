"""Conversations without their turns, at hand in memory: by id, by room, by criteria.

Their turns, and what outlives the process, are left to the storages.
"""

from bisect import bisect_right, insort
from itertools import islice

from backstory.adapters.conversations.rules import meets, no_conversation
from backstory.model.live import ConversationCriteria, ConversationPage, LiveConversation, NewConversation


class Heads:
    """The conversations that a storage has, each as it stands. Not for several threads at once."""

    def __init__(self) -> None:
        self._by_id: dict[str, LiveConversation] = {}
        self._ids: list[str] = []  # in order, since pages go by it
        self._in_rooms: dict[tuple[str, str, str], set[str]] = {}

    def put(self, conversation: LiveConversation) -> None:
        """Keep a conversation, in place of what was kept under its id."""
        if conversation.id not in self._by_id:
            insort(self._ids, conversation.id)
        self._by_id[conversation.id] = conversation
        there = self._in_rooms.setdefault(_place(conversation), set())
        if conversation.deleted_at:
            there.discard(conversation.id)
        else:
            there.add(conversation.id)

    def get(self, id: str) -> LiveConversation | None:
        """The conversation, deleted or not."""
        return self._by_id.get(id)

    def known(self, id: str) -> LiveConversation:
        """The conversation, deleted or not; raises `NotFound` if there is none."""
        if id not in self._by_id:
            raise no_conversation(id)
        return self._by_id[id]

    def present(self, id: str) -> LiveConversation:
        """The conversation; raises `NotFound` if there is none, or a deleted one."""
        conversation = self._by_id.get(id)
        if conversation is None or conversation.deleted_at:
            raise no_conversation(id)
        return conversation

    def in_room_of(self, conversation: LiveConversation | NewConversation) -> LiveConversation | None:
        """The conversation that has the room of this one; it may be the same."""
        ids = self._in_rooms.get(_place(conversation))
        return self._by_id[min(ids)] if ids else None

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        after = islice(self._ids, bisect_right(self._ids, criteria.after), None)
        meeting = (self._by_id[id] for id in after if meets(self._by_id[id], criteria))
        found = list(islice(meeting, criteria.limit + 1))
        return ConversationPage(found[: criteria.limit], more=len(found) > criteria.limit)


def _place(conversation: LiveConversation | NewConversation) -> tuple[str, str, str]:
    return conversation.project.name, conversation.interface_type, conversation.room
