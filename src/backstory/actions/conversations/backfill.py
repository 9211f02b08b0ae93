"""Letting search find by meaning what had to wait: turns that came faster than they could be embedded.

What is left to do is in the records, so it can be stopped at any time and run again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from backstory.actions.conversations.catching_up import catch_up
from backstory.actions.projection.now import project_batch, shortage
from backstory.engine import Engine, Work
from backstory.errors import InputError, StoreFull
from backstory.model.passage import Index
from backstory.model.project import Scope
from backstory.model.upkeep import Target

#: How long somebody who cancels may have to wait for it.
_NAP_S: Final = 0.1

#: More than can wait.
_EVERY: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How many messages are let in at once, and how many a second at most."""

    batch: int = 10
    per_second: float | None = None

    def pause_s(self, done: int) -> float:
        """How long to wait after so many messages."""
        return done / self.per_second if self.per_second else 0.0


@dataclass(frozen=True, slots=True)
class Backfilled:
    """Turns that were copied into search, messages that were embedded, and those that wait still."""

    kept: int = 0
    embedded: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Queue:
    """Messages that wait for their vectors: those that the worker takes, and those that are held back."""

    waiting: int
    deferred: int

    @property
    def length(self) -> int:
        return self.waiting + self.deferred


def backfill(engine: Engine, scope: Scope, pace: Pace, work: Work) -> Backfilled:
    """Copy what the storage has and search lacks, then embed what waits, the oldest first.

    What waits is of all projects: the queue is one. Raises `InputError` if somebody else is at it.
    """
    kept = catch_up(engine, work, scope=scope).turns
    with _alone(engine):
        embedded, waiting = _embed(engine, pace, work)
    return Backfilled(kept, embedded, waiting)


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    if not engine.backfilling.acquire(blocking=False):
        raise InputError("a backfill is under way already", hint="wait until it is done, or stop it first")
    try:
        yield
    finally:
        engine.backfilling.release()


def _embed(engine: Engine, pace: Pace, work: Work) -> tuple[int, int]:
    """Embed what waits, at a pace: how many messages, and how many wait still."""
    queue, embedded = _queue(engine), 0
    while queue.length:
        work.step(embedded, embedded + queue.length, "embedding messages that had to wait")
        if not _embed_some(engine, pace.batch, queue):
            break
        before, queue = queue, _queue(engine)
        done = max(before.length - queue.length, 0)  # others may have added some
        embedded += done
        waiting = partial(work.step, embedded, embedded + queue.length, "waiting, so as to keep the pace")
        _rest(pace.pause_s(done), waiting)
    return embedded, queue.length


def _embed_some(engine: Engine, batch: int, queue: _Queue) -> bool:
    """Embed a batch of what waits; False if nothing can be done now."""
    if paused := shortage(engine):
        raise StoreFull(paused, hint="free some space and run it again")
    if queue.waiting < batch:
        with engine.records.writing() as records:
            records.marks.take_up(batch - queue.waiting)
    return project_batch(engine, Target.VECTORS) > 0


def _queue(engine: Engine) -> _Queue:
    with engine.records.reading() as records:
        waiting = records.marks.count_waiting(Target.VECTORS, Index.TURNS, _EVERY)
        return _Queue(waiting, records.marks.count_deferred())


def _rest(seconds: float, step: Callable[[], None]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _NAP_S))
        step()
