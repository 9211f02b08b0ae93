"""Conversations that grow at their end, turn by turn: what that costs does not depend on how long they are.

They go in the same way. Live ones do: nothing that was said in them ever changes, and no other conversation
names it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any, Final

from sqlalchemy import BindParameter, bindparam, delete, func, insert, select

from backstory.model.conversation import Conversation, KeptTurn, Role
from backstory.model.graph import NodeType
from backstory.model.keeping import Link, NewMessage, chain_of, key_of, linked
from backstory.model.passage import Index, Passage
from backstory.model.project import ALL_PROJECTS
from backstory.model.upkeep import Target
from backstory.records import schema
from backstory.records.conversation_reads import ConversationReads
from backstory.records.conversation_rows import conversation_columns, message_columns, turn_columns
from backstory.records.conversation_writes import rewrite
from backstory.records.marks import Marks
from backstory.records.paging import batched
from backstory.records.passages import Passages
from backstory.records.projects import Projects

_CONVERSATIONS: Final = schema.conversations
_MESSAGES: Final = schema.messages
_TURNS: Final = schema.turns

# When a conversation is marked, the words of all its turns are written anew: turn by turn 100,000 turns would
# be written 50,000 times over. With these they are written 11 times over, and the newest turns of a long
# conversation are found by their own entries alone until it has grown by a tenth.
_MARKED_EACH_TIME: Final = 20
_MARKED_AGAIN_AT: Final = 1.1

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_INSERT: Final = insert(_CONVERSATIONS)
_INSERT_TURN: Final = insert(_TURNS)
_INSERT_MESSAGE: Final = insert(_MESSAGES)
_DELETE: Final = delete(_CONVERSATIONS).where(_CONVERSATIONS.c.id == bindparam("of"))
_LAST_TURNS: Final = (
    select(_TURNS.c.number, _TURNS.c.user_message, _TURNS.c.assistant_message, _TURNS.c.tool_message)
    .where(_TURNS.c.conversation == bindparam("of"))
    .order_by(_TURNS.c.number.desc())
    .limit(bindparam("most"))
)
_DELETE_TURNS: Final = delete(_TURNS).where(
    _TURNS.c.conversation == bindparam("of"), _TURNS.c.number > bindparam("left")
)
_DELETE_MESSAGES: Final = delete(_MESSAGES).where(_MESSAGES.c.id.in_(_IDS))
_LIVE_LENGTHS: Final = (
    select(_CONVERSATIONS.c.id, _CONVERSATIONS.c.turns)
    .where(_CONVERSATIONS.c.is_live, _CONVERSATIONS.c.id > bindparam("after"))
    .order_by(_CONVERSATIONS.c.id)
    .limit(bindparam("most"))
)
_LIVE_COUNTS: Final = select(func.count(), func.coalesce(func.sum(_CONVERSATIONS.c.turns), 0)).where(
    _CONVERSATIONS.c.is_live
)


class GrowingConversations(ConversationReads):
    """What search knows of live conversations."""

    def append(
        self,
        known: Conversation | None,
        conversation: Conversation,
        turns: Sequence[KeptTurn],
        messages: Sequence[NewMessage],
        passage: Passage,
        *,
        most_waiting: int,
    ) -> int:
        """Let a live conversation be another one, with these turns at its end; how many it has now.

        `known` is what this transaction has for it. A turn that is there already is left alone, and one that
        would leave a gap is left out. What is counted goes on from what is kept. Messages that are more than
        may wait for their vectors wait for a backfill.
        """
        before = known or _nothing_of(conversation)
        added = _following(before, turns)
        chain = _chain(before, added)
        after = _grown(before, conversation, added, chain)
        if known and _columns(known) == _columns(after):
            return after.turns
        is_found_anew = _found_by(known) != _found_by(after) or _has_grown(before.turns, after.turns)
        self._write_head(known, after, passage if is_found_anew else None)
        self._write_turns(after, added, chain, {new.message.id: new for new in messages})
        sessions = [passage.id] if is_found_anew else []
        self._mark(passage, sessions, [link.id for link in chain], most_waiting)
        return after.turns

    def shorten(self, id: str, most: int) -> bool:
        """Let up to so many turns at the end of a live conversation be no more; whether it has others.

        It goes with its first turn. Who lets go of a long one asks again and again, so that others can write
        meanwhile: 20,000 turns take three seconds.
        """
        before = self.get(ALL_PROJECTS, id)
        if before is None:
            return False
        last = self._connection.execute(_LAST_TURNS, {"of": id, "most": most}).all()
        chain = linked((number, user, assistant, tool) for number, user, assistant, tool in last)
        after = _shorter(before, len(last), chain)
        self._remove(after, [link.id for link in chain])
        return after.turns > 0

    def live_lengths(self, after: str, limit: int) -> list[tuple[str, int]]:
        """The ids of live conversations that come after one, in their order, with how many turns each has."""
        rows = self._connection.execute(_LIVE_LENGTHS, {"after": after, "most": limit})
        return [(id, turns) for id, turns in rows]

    def live_counts(self) -> tuple[int, int]:
        """How many live conversations there are, and how many turns they have."""
        conversations, turns = self._connection.execute(_LIVE_COUNTS).one()
        return conversations, turns

    def _write_head(self, known: Conversation | None, after: Conversation, passage: Passage | None) -> None:
        """Write what a conversation is now; a new one always has a passage, a known one when it differs."""
        columns = _columns(after)
        passages = Passages(self._connection)
        if known:
            if passage:
                passages.replace(passage)
            rewrite(self._connection, columns)
        elif passage:
            Projects(self._connection).enter(after.project)
            passages.add_all([passage])
            self._connection.execute(_INSERT, columns)

    def _write_turns(
        self,
        conversation: Conversation,
        turns: Sequence[KeptTurn],
        chain: Sequence[Link],
        messages: Mapping[str, NewMessage],
    ) -> None:
        Passages(self._connection).add_all([messages[link.id].passage for link in chain])
        if chain:
            rows = [message_columns(messages[link.id], link) for link in chain]
            self._connection.execute(_INSERT_MESSAGE, rows)
        if turns:
            self._connection.execute(_INSERT_TURN, [turn_columns(conversation.id, turn) for turn in turns])

    def _remove(self, conversation: Conversation, messages: list[str]) -> None:
        """Let messages at the end be no more, and the conversation if it has no turns left."""
        key = key_of(conversation.project, conversation.id)
        keys = [] if conversation.turns else [key]
        self._connection.execute(_DELETE_TURNS, {"of": conversation.id, "left": conversation.turns})
        for page in batched(messages):
            self._connection.execute(_DELETE_MESSAGES, {"ids": page})
        if keys:
            self._connection.execute(_DELETE, {"of": conversation.id})
        else:
            rewrite(self._connection, _columns(conversation))
        Passages(self._connection).remove([*messages, *keys])
        Marks(self._connection).set_all(_places(keys, key, messages), conversation.project)

    def _mark(self, passage: Passage, sessions: list[str], ids: list[str], most_waiting: int) -> None:
        marks = Marks(self._connection)
        free = most_waiting - marks.count_waiting(Target.VECTORS, Index.TURNS, most_waiting)
        marks.set_all(_places(sessions, passage.id, ids), passage.project)
        marks.defer(ids[free:])


def _nothing_of(conversation: Conversation) -> Conversation:
    """What a conversation is before anything was said in it."""
    return replace(conversation, started_at=None, ended_at=None, turns=0, messages=0, human_utterances=0)


def _following(before: Conversation, turns: Sequence[KeptTurn]) -> list[KeptTurn]:
    """Those of the turns that come next, one after the other."""
    given = {turn.number: turn for turn in turns}
    return [given[number] for number in takewhile(given.__contains__, count(before.turns + 1))]


def _chain(before: Conversation, turns: Sequence[KeptTurn]) -> list[Link]:
    return [link._replace(place=before.messages + link.place) for link in chain_of(turns)]


def _grown(
    before: Conversation, conversation: Conversation, turns: Sequence[KeptTurn], chain: Sequence[Link]
) -> Conversation:
    began = [before.started_at, conversation.started_at, *(turn.started_at for turn in turns)]
    ended = [before.ended_at, conversation.ended_at, *(turn.ended_at for turn in turns)]
    return replace(
        conversation,
        started_at=min((at for at in began if at), default=None),
        ended_at=max((at for at in ended if at), default=None),
        turns=before.turns + len(turns),
        messages=before.messages + len(chain),
        human_utterances=before.human_utterances + sum(link.role is Role.USER for link in chain),
    )


def _shorter(before: Conversation, turns: int, chain: Sequence[Link]) -> Conversation:
    return replace(
        before,
        turns=before.turns - turns,
        messages=before.messages - len(chain),
        human_utterances=before.human_utterances - sum(link.role is Role.USER for link in chain),
    )


def _places(sessions: list[str], key: str, messages: list[str]) -> Mapping[tuple[Target, str], list[str]]:
    """What has to be projected of conversations and of messages, and where."""
    return {
        (Target.VECTORS, Index.SESSIONS.value): sessions,
        (Target.VECTORS, Index.TURNS.value): messages,
        (Target.GRAPH, NodeType.CONVERSATION.value): [key],
        (Target.GRAPH, NodeType.CONVERSATION_MESSAGE.value): messages,
    }


def _columns(conversation: Conversation) -> dict[str, Any]:
    return conversation_columns(conversation, key_of(conversation.project, conversation.id))


def _found_by(conversation: Conversation | None) -> tuple[str, ...] | None:
    """What an entry of a conversation is found by, beside what was said in it and when."""
    if conversation is None:
        return None
    return conversation.title.text, conversation.interface_type, conversation.room


def _has_grown(before: int, after: int) -> bool:
    """Whether so many turns more are worth writing all their words again."""
    if after <= _MARKED_EACH_TIME:
        return after > before
    return _powers(after) > _powers(before)


def _powers(turns: int) -> int:
    return int(math.log(max(turns, 1), _MARKED_AGAIN_AT))
