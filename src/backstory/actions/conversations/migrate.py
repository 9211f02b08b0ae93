"""Moving live conversations to another place, all of them, with nothing lost on the way.

They are moved while others go on writing; what came meanwhile is moved while nobody writes, and from then
on they are there. It can be stopped at any time and run again: what is moved stays moved.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from backstory.actions.conversations.copying import is_of_this_place, note_behind, note_place
from backstory.actions.conversations.known import pages
from backstory.actions.conversations.moving import Move, Moved
from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.model.live import ConversationCriteria

#: Where live conversations can be kept.
PLACES: Final = ("records", "jsonl", "memory")

#: Where the records hold the place that was moved to last.
CHOICE: Final = "conversation_storage"

#: Turns moved while a writer waits.
_TURNS: Final = 500


@dataclass(frozen=True, slots=True)
class Migrated:
    """What the other place did not have before."""

    conversations: int = 0
    turns: int = 0
    summaries: int = 0

    def with_more(self, moved: Moved) -> "Migrated":
        """This, and what was moved since."""
        return Migrated(
            self.conversations + moved.conversations,
            self.turns + moved.turns,
            self.summaries + moved.summaries,
        )


def migrate_conversations(engine: Engine, to: str, work: Work) -> Migrated:
    """Let live conversations be in another place from now on; it has all of them, deleted ones too.

    What the other place holds already stays there. Raises `StoreError` if it has another history of one of
    them, and `InputError` if it has another conversation in the same room, or somebody else moves them.
    """
    if to not in PLACES:
        raise InputError(
            f"there is no place {to!r} for conversations", hint=f"use one of: {', '.join(PLACES)}"
        )
    source = engine.live.name
    if source == to:
        return Migrated()
    move = Move(engine, source, to)
    done = Migrated()
    for id in _ids(engine):
        moved = Moved(is_whole=False)
        while not moved.is_whole:
            work.step(done.turns, None, f"moving conversations to {to}")
            with _writing_in(engine, source):
                moved = move.bring(id, most_turns=_TURNS)
            done = done.with_more(moved)
    with _writing_in(engine, source):
        for id in _ids(engine):
            work.step(done.turns, None, f"moving to {to} what came meanwhile")
            done = done.with_more(move.bring(id))
        _keep_choice(engine, to)  # before: a process that dies here must not come back to the old place
        if is_of_this_place(engine):
            note_place(engine, to)
        engine.live.use(to)
    note_behind(engine)  # the other place may hold more than came from here
    return done


@contextmanager
def _writing_in(engine: Engine, source: str) -> Iterator[None]:
    """Keep others from writing; what they would write is in the source still."""
    with engine.live.writing():
        if engine.live.name != source:  # else what is old there would take the place of what is new here
            raise InputError(
                f"somebody else has moved the conversations to {engine.live.name} meanwhile",
                hint="run it again, if they shall be elsewhere",
            )
        yield


def _ids(engine: Engine) -> Iterator[str]:
    """The deleted ones first: they may have been in the rooms of others."""
    find = engine.live.storage.find
    for deleted in (True, False):
        for page in pages(find, ConversationCriteria(deleted=deleted)):
            yield from (each.id for each in page)


def _keep_choice(engine: Engine, to: str) -> None:
    if to == "memory":  # nothing would be there the next time
        return
    with engine.records.writing() as records:
        records.store.put(CHOICE, to)
