"""What the worker does for live conversations by itself, one bounded step at a time."""

from typing import Final

from backstory.actions.conversations.catching_up import CaughtUp, catch_up
from backstory.actions.conversations.copying import is_behind, note_place, note_unfinished, note_whole
from backstory.actions.conversations.summarizing import summarize_due
from backstory.engine import Engine, Work
from backstory.errors import BackstoryError, StoreError
from backstory.model.passage import Index
from backstory.model.upkeep import Target

#: Turns copied in one step.
_COPIED: Final = 500


def step(engine: Engine, work: Work) -> bool:
    """Do one step of whatever waits; False when nothing does.

    What fails keeps nothing else from its turn; it is told when there is nothing else to do.
    """
    failures = []
    for do in (_catch_up, _take_up, summarize_due):
        try:
            if do(engine, work):
                return True
        except StoreError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return False


def _catch_up(engine: Engine, work: Work) -> bool:
    """Once after the store was opened, and whenever a copy failed."""
    if not is_behind(engine):
        return False
    note_whole(engine)  # before: whoever fails to copy meanwhile takes it back
    try:
        caught = catch_up(engine, work, most_turns=_COPIED)
    except BackstoryError:
        note_unfinished(engine)
        raise
    if caught.is_whole:
        note_place(engine, engine.live.name)
    else:
        note_unfinished(engine)
    return caught != CaughtUp()


def _take_up(engine: Engine, _: Work) -> bool:
    """Let messages that had to wait for a backfill wait like others, once half of these are done."""
    if engine.backfilling.locked():
        return False
    with engine.records.reading() as records:
        if not records.marks.count_deferred():
            return False
        waiting = records.marks.count_waiting(Target.VECTORS, Index.TURNS, engine.queue_max)
    if waiting > engine.queue_max // 2:
        return False
    with engine.records.writing() as records:
        return records.marks.take_up(engine.queue_max - waiting) > 0
