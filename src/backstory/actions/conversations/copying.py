"""What search knows of live conversations: a copy of them in the records, beside the transcripts.

The storage is the log of what was said. The copy follows it; what it lacks can be brought at any time.
Whoever writes it is inside `LiveStorages.writing`, so that turns come in their order.
"""

import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from backstory.actions.conversations.accepting import MAX_NAME_CHARS
from backstory.engine import Engine, Transaction
from backstory.errors import StoreCorrupt, StoreError
from backstory.model.conversation import Conversation, KeptTurn, Message, Role
from backstory.model.keeping import NewMessage, key_of
from backstory.model.live import (
    LiveConversation,
    LiveTurn,
    TurnWindow,
)
from backstory.model.project import ALL_PROJECTS
from backstory.model.transcript import Title, TitleSource
from backstory.ranking.turns import conversation_passage, cues_of, live_labels, message_passage
from backstory.transcripts.titles import title_line

#: What the ids of messages are made from.
_MESSAGES: Final = uuid.UUID("3f3f0bd8-91a5-4d8e-8a3e-6f6c1c9b7d10")

#: Turns copied in one transaction, so that no other writer waits long.
_AT_ONCE: Final = 100

#: Transactions that a writer waits for, each of 0.1 s: a file from elsewhere may bring 100,000 turns at once.
_TIMES: Final = 5

#: Turns forgotten in one transaction, for the same reason: they take 75 ms.
_FORGOTTEN_AT_ONCE: Final = 500

#: Where the records hold which opening of the store found the copy whole.
_WHOLE_FOR: Final = "live_copy_whole_for"

#: Where the records hold the name of the place that the copy was made of.
_COPY_OF: Final = "live_copy_of"


def keep(engine: Engine, conversation: LiveConversation, turns: Sequence[LiveTurn] = ()) -> bool:
    """Copy what the copy lacks of a conversation, of which `turns` are at hand; whether it is whole then.

    It is not if more is lacking than a writer should wait for, or if the copy is of another place.
    """
    for _ in range(_TIMES):
        with engine.live.writing() as storage:
            now = storage.get(conversation.id)
            if now is None or now.deleted_at:  # since the caller looked: there is nothing to be copied
                return True
            if not is_of_this_place(engine):
                return False
            _, is_whole = keep_some(engine, now, turns)
        if is_whole:
            return True
    return False


def keep_next(engine: Engine, conversation: LiveConversation, turn: LiveTurn) -> bool:
    """Copy a turn that was just appended, by who is inside `writing` still; whether the copy is whole then.

    As `keep` does, in one transaction instead of four.
    """
    with engine.records.writing(lazily=True) as records:
        copied = records.conversations.get(ALL_PROJECTS, conversation.id)
        is_next = copied is not None and copied.turns == turn.number - 1 == conversation.turns
        if is_next and _is_of_this_place(engine, records):
            _write(engine, records, copied, _copy(engine, conversation, copied, [turn]), [turn])
            return True
    return keep(engine, conversation, [turn])


def keep_or_tell(
    engine: Engine, conversation: LiveConversation, turn: LiveTurn | None = None
) -> Sequence[str]:
    """Copy what the copy lacks; if that fails, what has to wait and why. The worker does what is left.

    With a turn, the caller has just appended it, and is inside `writing` still.
    """
    try:
        if keep_next(engine, conversation, turn) if turn else keep(engine, conversation):
            return ()
        why = "the worker has still to copy what was said before"
    except StoreError as error:
        why = str(error)
    note_behind(engine)
    return (f"not found by search yet: {why}",)


def forget(engine: Engine, id: str) -> None:
    """Let search know nothing of a conversation any more, unless it was taken back meanwhile."""
    is_left = True
    while is_left:
        with engine.live.writing() as storage:
            there = storage.get(id)
            is_left = forget_some(engine, id) if there is None or there.deleted_at else False


def forget_some(engine: Engine, id: str) -> bool:
    """Let search know less of a conversation, as much less as one transaction takes; whether some is left."""
    with engine.records.writing() as records:
        return records.conversations.shorten(id, _FORGOTTEN_AT_ONCE)


def is_behind(engine: Engine) -> bool:
    """Whether the copy was not compared with the storage since the store was opened, or since it failed."""
    with engine.records.reading() as records:
        return records.store.get(_WHOLE_FOR) != engine.owner


def note_behind(engine: Engine) -> None:
    """Have the worker compare the copy with the storage, now."""
    note_unfinished(engine)
    engine.bell.ring()


def note_unfinished(engine: Engine) -> None:
    """Have the worker compare the copy with the storage, when it comes round again."""
    with suppress(StoreError):  # the next start compares in any case, and the next turn brings this one
        _note(engine, _WHOLE_FOR, "nobody")


def note_whole(engine: Engine) -> None:
    """Remember that the copy is whole, as long as the store is open."""
    _note(engine, _WHOLE_FOR, engine.owner)


def is_of_this_place(engine: Engine) -> bool:
    """Whether the copy was made of where conversations are now.

    Two places may know one conversation differently: it was moved, and written in both since.
    """
    with engine.records.reading() as records:
        return _is_of_this_place(engine, records)


def _is_of_this_place(engine: Engine, records: Transaction) -> bool:
    return records.store.get(_COPY_OF) in (None, engine.live.name)


def note_place(engine: Engine, name: str) -> None:
    """Remember of which place the copy is."""
    _note(engine, _COPY_OF, name)


def _note(engine: Engine, key: str, value: str) -> None:
    with engine.records.writing() as records:
        records.store.put(key, value)


def keep_some(
    engine: Engine, conversation: LiveConversation, turns: Sequence[LiveTurn] = ()
) -> tuple[int, bool]:
    """Copy the next turns, as many as one transaction takes: how many, and whether the copy is whole then."""
    with engine.records.writing(lazily=True) as records:
        copied = records.conversations.get(ALL_PROJECTS, conversation.id)
        had = copied.turns if copied else 0
        new = [turn for turn in turns if turn.number > had]
        if not new or new[0].number > had + 1:
            new = _read(engine, conversation, had + 1)
        if not new and had < conversation.turns:
            raise StoreCorrupt(
                f"of the {conversation.turns} turns of conversation {conversation.id} only {had} can be read",
                hint="restore a backup; what can be read stays as it is",
            )
        written = _write(engine, records, copied, _copy(engine, conversation, copied, new), new)
    return written - had, written == conversation.turns


def copied_as(engine: Engine, id: str) -> Conversation | None:
    """What search knows of a conversation, if it knows it."""
    with engine.records.reading() as records:
        return records.conversations.get(ALL_PROJECTS, id)


def _read(engine: Engine, conversation: LiveConversation, first: int) -> list[LiveTurn]:
    last = min(first + _AT_ONCE - 1, conversation.turns)
    window = TurnWindow(first, last)
    return engine.live.storage.turns(conversation.id, window) if first <= last else []


def _write(
    engine: Engine,
    records: Transaction,
    copied: Conversation | None,
    conversation: Conversation,
    turns: Sequence[LiveTurn],
) -> int:
    """Add turns to a copy; how many turns it has then."""
    messages = {turn.number: _messages(turn) for turn in turns}
    new = [
        NewMessage(each, message_passage(each, conversation, live_labels(turn)), cues_of(each))
        for turn in turns
        for each in messages[turn.number]
    ]
    kept = [
        KeptTurn(turn.number, turn.at, turn.at, last_uuid=turn.id, messages=_ids(messages[turn.number]))
        for turn in turns
    ]
    passage = conversation_passage(conversation, key_of(conversation.project, conversation.id))
    return records.conversations.append(
        copied, conversation, kept, new, passage, most_waiting=engine.queue_max
    )


def _ids(messages: Sequence[Message]) -> dict[Role, str]:
    return {each.role: each.id for each in messages}


def _copy(
    engine: Engine, conversation: LiveConversation, copied: Conversation | None, new: Sequence[LiveTurn]
) -> Conversation:
    """A conversation as search knows it with new turns; the records count them themselves."""
    begun = conversation.created_at
    before = copied or Conversation(
        conversation.id,
        conversation.project,
        conversation.interface_type,
        started_at=begun,
        ended_at=begun,
        is_between_people=True,
        room=conversation.room,
        is_live=True,
    )
    times = [turn.at for turn in new]
    return replace(
        before,
        title=_title(engine, conversation, before, new),
        started_at=min([before.started_at or begun, *times]),
        ended_at=max([before.ended_at or begun, *times]),
        is_between_people=before.is_between_people and not any(turn.response for turn in new),
    )


def _title(
    engine: Engine, conversation: LiveConversation, before: Conversation, new: Sequence[LiveTurn]
) -> Title:
    """The title that was given, else how the first turn begins."""
    if conversation.title:
        return Title(conversation.title, TitleSource.CUSTOM)
    if before.turns and before.title.source is not TitleSource.CUSTOM:
        return before.title
    first = new if new and new[0].number == 1 else _read(engine, conversation, 1)
    line = title_line(first[0].query) if first else ""
    return Title(line, TitleSource.FIRST_WORDS) if line else Title()


def _messages(turn: LiveTurn) -> list[Message]:
    """What both sides said in a turn. The records say at which places."""
    said = {Role.USER: turn.query, Role.ASSISTANT: turn.response}
    return [
        Message(
            id=str(uuid.uuid5(_MESSAGES, json.dumps([turn.conversation, turn.id, role.value]))),
            conversation=turn.conversation,
            turn=turn.number,
            place=0,
            role=role,
            text=text,
            at=turn.at,
            speaker=turn.user_name[:MAX_NAME_CHARS] if role is Role.USER else "",
        )
        for role, text in said.items()
        if text
    ]
