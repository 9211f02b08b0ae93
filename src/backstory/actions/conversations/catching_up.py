"""Comparing what search knows of live conversations with what was said, and bringing what it lacks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from backstory.actions.conversations.copying import copied_as, forget_some, is_of_this_place, keep_some
from backstory.actions.conversations.known import pages
from backstory.engine import Engine, Work
from backstory.errors import StoreCorrupt
from backstory.model.conversation import Conversation
from backstory.model.live import ConversationCriteria, ConversationNews, LiveConversation, TurnWindow
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.model.transcript import TitleSource

#: Conversations that are compared at once.
_PAGE: Final = 200

#: More turns than there are.
_EVERY: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """What the copy lacked, and how many conversations it had too many. `is_whole`: nothing more is left."""

    conversations: int = 0
    turns: int = 0
    forgotten: int = 0
    is_whole: bool = True

    def __add__(self, other: "CaughtUp") -> "CaughtUp":
        return CaughtUp(
            self.conversations + other.conversations,
            self.turns + other.turns,
            self.forgotten + other.forgotten,
            other.is_whole,
        )


def catch_up(
    engine: Engine, work: Work, *, scope: Scope = ALL_PROJECTS, most_turns: int = _EVERY
) -> CaughtUp:
    """Let the copy hold what the storage holds, no more and no less; stops after so many turns.

    Raises `StoreCorrupt` if some conversations cannot be read, once the others are copied.
    """
    done = CaughtUp()
    damaged: list[StoreCorrupt] = []
    for id in _different(engine, scope):
        if done.turns >= most_turns:
            return replace(done, is_whole=False)
        try:
            done = _mend(engine, work, id, done, most_turns)
        except StoreCorrupt as error:
            damaged.append(error)
    if damaged:
        raise damaged[0]
    return done


def _different(engine: Engine, scope: Scope) -> Iterator[str]:
    """The conversations that are not the same in the storage and in the copy, as far as a glance tells.

    If the copy is of another place, a glance is not enough.
    """
    seen: set[str] = set()
    agree = _agree if is_of_this_place(engine) else partial(_agree_wholly, engine)
    for page in pages(engine.live.storage.find, ConversationCriteria(scope, deleted=None, limit=_PAGE)):
        seen.update(each.id for each in page)
        with engine.records.reading() as records:
            copies = records.conversations.find(ALL_PROJECTS, [each.id for each in page])
        yield from [each.id for each in page if not agree(each, copies.get(each.id))]
    if scope is ALL_PROJECTS:
        yield from (id for id in _copied_ids(engine) if id not in seen)


def _copied_ids(engine: Engine) -> Iterator[str]:
    after = ""
    while True:
        with engine.records.reading() as records:
            page = records.conversations.live_lengths(after, _PAGE)
        if not page:
            return
        yield from (id for id, _ in page)
        after = page[-1][0]


def _agree(conversation: LiveConversation | None, copied: Conversation | None) -> bool:
    """Whether both say the same, judged by their lengths; it takes no time."""
    if conversation is None or conversation.deleted_at or copied is None:
        return copied is None and (conversation is None or conversation.deleted_at is not None)
    given = copied.title.text if copied.title.source is TitleSource.CUSTOM else ""
    return (conversation.project, conversation.turns, conversation.title) == (
        copied.project,
        copied.turns,
        given,
    )


def _agree_wholly(engine: Engine, conversation: LiveConversation, copied: Conversation | None) -> bool:
    return _agree(conversation, copied) and not _is_other(engine, conversation, copied)


def _mend(engine: Engine, work: Work, id: str, done: CaughtUp, most_turns: int) -> CaughtUp:
    """Bring a copy nearer to its conversation, until they agree or there are turns enough."""
    done = replace(done, is_whole=False)
    while not done.is_whole and done.turns < most_turns:
        work.step(done.turns, None, "copying conversations into search")
        done += _mend_some(engine, id)
    return done


def _mend_some(engine: Engine, id: str) -> CaughtUp:
    """Copy some turns, or forget the copy. Both sides are read again: others may have written meanwhile."""
    with engine.live.writing() as storage:
        conversation, copied = storage.get(id), copied_as(engine, id)
        is_gone = conversation is None or conversation.deleted_at is not None
        is_other = conversation is not None and _is_other(engine, conversation, copied)
        if _agree(conversation, copied) and not is_other:
            return CaughtUp()
        if conversation is None or is_gone or is_other:
            is_left = forget_some(engine, id)
            mended = CaughtUp(forgotten=int(not is_left), is_whole=is_gone and not is_left)
        else:
            turns, is_whole = keep_some(engine, conversation)
            mended = CaughtUp(int(is_whole), turns, is_whole=is_whole)
        room = conversation.room if conversation else copied.room if copied else ""
    engine.changes.tell(ConversationNews(id, room, is_listed_anew=True))
    return mended


def _is_other(engine: Engine, conversation: LiveConversation, copied: Conversation | None) -> bool:
    """Whether a copy cannot be continued: it has what was never said, or stands in another project."""
    if copied is None:
        return False
    if copied.turns > conversation.turns or copied.project != conversation.project:
        return True
    last = TurnWindow(copied.turns, copied.turns)
    with engine.records.reading() as records:
        there = records.conversations.turn(copied.id, copied.turns)
    return there is not None and any(
        turn.id != there.turn.last_uuid for turn in engine.live.storage.turns(conversation.id, last)
    )
