"""Live conversations in memory: as long as the process lives, and no longer.

The plainest form of what every storage does; the others must answer as it does.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backstory.errors import InputError, NotFound
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
from backstory.model.project import is_inside
from backstory.model.summary import Summary


def no_conversation(id: str) -> NotFound:
    """What to say of a conversation that is not there."""
    return NotFound(
        f"there is no live conversation {id}", hint="begin one with create_conversation and use its id"
    )


def no_parent(parent: str) -> NotFound:
    """What to say of a parent that is not there."""
    return NotFound(
        f"there is no turn {parent} in this conversation",
        hint="give the id of an earlier turn of it, or leave parent_turn_id out",
    )


def room_taken(conversation: LiveConversation, other: str) -> InputError:
    """What to say when a deleted conversation is taken back and its room has another."""
    return InputError(
        f"the room {conversation.room} has another conversation by now: {other}",
        hint="delete that one first",
    )


def meets(conversation: LiveConversation, criteria: ConversationCriteria) -> bool:
    """Whether a conversation is among those that are wanted, whatever the page."""
    wanted = criteria
    return (
        is_inside(wanted.scope, conversation.project)
        and wanted.interface_type in (None, conversation.interface_type)
        and wanted.room in (None, conversation.room)
        and (wanted.since is None or conversation.updated_at >= wanted.since)
        and (wanted.until is None or conversation.updated_at <= wanted.until)
        and wanted.metadata.items() <= conversation.metadata.items()
        and wanted.deleted in (None, conversation.deleted_at is not None)
        and (
            wanted.unsummarized_over is None
            or conversation.turns - conversation.summarized_to > wanted.unsummarized_over
        )
    )


def changed(conversation: LiveConversation, change: ConversationChange) -> LiveConversation:
    """The conversation as it is after a change."""
    metadata = conversation.metadata
    if change.metadata is not None:
        merged = {**metadata, **change.metadata}
        metadata = {key: value for key, value in merged.items() if value is not None}
    deleted_at = conversation.deleted_at
    if change.deleted is not None:
        deleted_at = (deleted_at or change.at) if change.deleted else None
    return replace(
        conversation,
        title=conversation.title if change.title is None else change.title,
        metadata=metadata,
        deleted_at=deleted_at,
        updated_at=max(conversation.updated_at, change.at),
    )


@dataclass
class _Kept:
    conversation: LiveConversation
    turns: list[LiveTurn] = field(default_factory=list)
    by_id: dict[str, LiveTurn] = field(default_factory=dict)
    summaries: list[Summary] = field(default_factory=list)


class InMemoryConversationStorage:
    """Keeps conversations in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def create(self, new: NewConversation) -> LiveConversation:
        """Begin a conversation, unless it or another is in its room."""
        with self._lock:
            if new.id in self._kept:
                return self._kept[new.id].conversation
            if other := self._in_room(new.project.name, new.interface_type, new.room):
                return other
            begun = LiveConversation(
                new.id,
                new.project,
                new.interface_type,
                new.room,
                created_at=new.created_at,
                updated_at=new.created_at,
                title=new.title,
                metadata=dict(new.metadata),
            )
            self._kept[new.id] = _Kept(begun)
            return begun

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Keep turns, all or none."""
        with self._lock:
            kept = self._present(id)
            known = dict(kept.by_id)
            added = []
            for new in turns:
                if new.id not in known:
                    known[new.id] = numbered(id, new, len(known) + 1, known.get(new.parent))
                    added.append(known[new.id])
            kept.turns += added
            kept.by_id = known
            if added:
                latest = max([kept.conversation.updated_at, *(turn.at for turn in added)])
                kept.conversation = replace(kept.conversation, turns=len(known), updated_at=latest)
            return [known[new.id] for new in turns]

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        with self._lock:
            if id not in self._kept:
                return None
            kept = self._kept[id]
            return replace(kept.conversation, summaries=kept.summaries[-summaries:] if summaries else ())

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows."""
        with self._lock:
            kept = self._present(id)
            shown = kept.turns[max(window.first - 1, 0) : window.last]
            if window.ids is not None:
                ids = set(window.ids)
                shown = [turn for turn in shown if turn.id in ids]
            return shown[-window.newest :] if window.newest else []

    def summarize(self, id: str, summary: Summary) -> bool:
        """Keep the summary of the turns after the last summarized one."""
        with self._lock:
            kept = self._present(id)
            if not follows(kept.conversation, summary):
                return False
            kept.summaries.append(summary)
            kept.conversation = replace(kept.conversation, summarized_to=summary.last_turn)
            return True

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Change a conversation's title, metadata, or whether it is deleted."""
        with self._lock:
            if id not in self._kept:
                return None
            kept = self._kept[id]
            now = kept.conversation
            other = self._in_room(now.project.name, now.interface_type, now.room)
            if change.deleted is False and other and other.id != id:
                raise room_taken(now, other.id)
            kept.conversation = changed(now, change)
            return kept.conversation

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        with self._lock:
            found = [
                self._kept[id].conversation
                for id in sorted(self._kept)
                if id > criteria.after and meets(self._kept[id].conversation, criteria)
            ]
        return ConversationPage(found[: criteria.limit], more=len(found) > criteria.limit)

    def _present(self, id: str) -> _Kept:
        kept = self._kept.get(id)
        if kept is None or kept.conversation.deleted_at:
            raise no_conversation(id)
        return kept

    def _in_room(self, project: str, interface_type: str, room: str) -> LiveConversation | None:
        for kept in self._kept.values():
            held = kept.conversation
            place = (held.project.name, held.interface_type, held.room)
            if place == (project, interface_type, room) and not held.deleted_at:
                return held
        return None


def numbered(id: str, new: NewTurn, number: int, parent: LiveTurn | None) -> LiveTurn:
    """A new turn as it is kept; raises `NotFound` if it has a parent that is not known."""
    if new.parent and parent is None:
        raise no_parent(new.parent)
    return LiveTurn(
        id=new.id,
        conversation=id,
        number=number,
        query=new.query,
        response=new.response,
        at=new.at,
        user_id=new.user_id,
        user_name=new.user_name,
        parent=new.parent,
        thread=parent.thread if parent else new.id,
        metadata=dict(new.metadata),
    )


def follows(conversation: LiveConversation, summary: Summary) -> bool:
    """Whether a summary begins where the last one ended, and sums up turns that there are."""
    begins = summary.first_turn == conversation.summarized_to + 1
    return begins and summary.first_turn <= summary.last_turn <= conversation.turns
