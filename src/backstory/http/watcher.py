"""The thread that reads transcripts in as agents write them.

Three things tell it what to do. Events of the system name files that changed, within milliseconds
(`file_events`). A look at all files, every minute, finds what no event told; where the system tells
nothing, looks every few seconds take the place of events (`file_looks`). And a pass over all
transcripts, at the start and every hour, takes up what failed. A file is read once it is left alone
for a moment (`debounce`); reading itself is left to the action.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Self

from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import Ingested, ingest_paths, ingest_transcripts
from backstory.actions.transcripts.retention import forget_old
from backstory.engine import Engine, Work
from backstory.errors import BackstoryError, Cancelled
from backstory.http.debounce import Debounce
from backstory.http.faults import unexpected_told
from backstory.http.file_events import FileEvents
from backstory.http.file_looks import Looks, look_below
from backstory.http.logs import logger
from backstory.http.worker import Watching

#: Where all files are looked at every few seconds, it takes at most this share of the time.
LOOKING: Final = 0.02

_log = logger("watcher")

By = Literal["events", "polling", "off"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is waited for what."""

    #: An agent writes the lines of an answer within a second; what it writes is searchable soon after.
    quiet_s: float = 2.0
    #: A file that is written all the time is read this often.
    longest_s: float = 6.0
    #: Between two looks whether the folders are still those that are watched, or at all files if need be.
    check_s: float = 5.0
    #: Between two looks at all files while events are told: 100 ms for 10,000 of them.
    look_s: float = 60.0
    pass_s: float = 3600.0
    #: After a failure the next pass comes this soon.
    retry_s: float = 60.0


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """How transcripts are watched, and how it goes."""

    by: By
    #: The folders that are there.
    roots: Sequence[Path]
    last_pass_at: datetime | None
    last_error: BackstoryError | None
    at_work: bool


class Watcher:
    """Reads transcripts in, from `with` to the end of its block."""

    def __init__(
        self,
        engine: Engine,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        *,
        roots: Sequence[Path] | None = None,
        make_observer: Callable[[], BaseObserver] = Observer,
        watching: Watching | None = None,
    ) -> None:
        """`roots` are watched in place of the engine's places: one folder may be above many of them."""
        self._watching = watching
        self._engine = engine
        self._pace = pace
        self._given_roots = roots
        self._work = Work()
        self._changed = Debounce(pace.quiet_s, pace.longest_s)
        self._events = FileEvents(self._tell, make_observer)
        self._looks: Looks | None = None
        self._check_at = self._look_at = self._pass_at = float("-inf")
        self._by: By = "off"
        self._at_work = False
        self._last_pass_at: datetime | None = None
        self._last_error: BackstoryError | None = None
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backstory-watcher", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def status(self) -> WatchStatus:
        """How it is now."""
        there = [root for root in self._roots() if root.is_dir()]
        return WatchStatus(self._by, there, self._last_pass_at, self._last_error, self._at_work)

    def wake(self) -> None:
        """Pass over all transcripts now rather than later."""
        self._pass_at = float("-inf")
        self._woken.set()

    def stop(self) -> None:
        """End the thread; what it reads is left where it is, in good order."""
        self._stopping.set()
        self._work.cancel()
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            self._attempt()
            next_at = min(self._check_at, self._pass_at, self._changed.next_at())
            self._woken.wait(max(0.0, next_at - time.monotonic()))
        self._events.close()
        self._by = "off"

    def _attempt(self) -> None:
        began = time.monotonic()
        try:
            with unexpected_told("watching"):
                self._step(began)
        except Cancelled:
            return
        except BackstoryError as error:
            self._report(began, error)
            if repr(error) != repr(self._last_error):
                _log.warning(
                    "transcripts were not read and will be tried again",
                    operation="ingest",
                    context={"error": type(error).__name__},
                )
            self._last_error = error
            self._pass_soon()
        else:
            if self._at_work:
                self._report(began, None)
        finally:
            self._at_work = False

    def _report(self, began: float, error: BackstoryError | None) -> None:
        if self._watching:
            self._watching(time.monotonic() - began, error)

    def _step(self, now: float) -> None:
        is_pass = now >= self._pass_at
        if is_pass or now >= self._check_at:
            # At every pass anew: the library may have lost folders, or the system may have room again.
            self._check(now, anew=is_pass)
        if is_pass:
            self._pass(now)
        if paths := self._wanted(self._changed.take(now)):
            self._at_work = True
            self._note(ingest_paths(self._engine, paths, self._work))

    def _check(self, now: float, *, anew: bool) -> None:
        """Look at all files if it is time, and see that events are told if they can be had."""
        self._check_at = now + self._pace.check_s
        roots = self._roots()
        anew = anew or (self._by == "events" and not self._events.is_watching(roots))
        if not anew and now < self._look_at:
            return
        looks = self._look(roots, now)
        took_s = time.monotonic() - now
        if anew:
            self._listen(roots, looks.folders)
        # Soon after it was listened anew: something may have changed in between.
        soon_s = self._pace.look_s if self._by == "events" and not anew else self._pace.check_s
        self._look_at = now + min(self._pace.look_s, max(soon_s, took_s / LOOKING))

    def _look(self, roots: Sequence[Path], now: float) -> Looks:
        before, self._looks = self._looks, look_below(roots)
        if before is not None:  # else a pass follows, which reads all there is
            self._changed.tell(self._looks.changed_since(before), now)
        return self._looks

    def _listen(self, roots: Sequence[Path], folders: Sequence[str]) -> None:
        before = self._by
        try:
            self._events.watch(roots, folders)
            self._by = "events"
        except OSError as error:
            self._by = "polling"
            if before != "polling":
                _log.warning(
                    "the system does not tell of changes; all transcripts are looked at instead",
                    operation="watch",
                    context={"folders": len(folders), "errno": error.errno},
                )

    def _pass(self, now: float) -> None:
        self._pass_at = now + self._pace.pass_s
        self._at_work = True
        self._note(ingest_transcripts(self._engine, Wish(), self._work))
        if days := self._engine.transcripts.retention_days:
            forget_old(self._engine, days, self._work)
        self._last_pass_at, self._last_error = datetime.now(UTC), None

    def _pass_soon(self) -> None:
        self._pass_at = min(self._pass_at, time.monotonic() + self._pace.retry_s)

    def _note(self, ingested: Ingested) -> None:
        if ingested.degraded:
            self._pass_soon()
        if ingested.read or ingested.gone:
            told = {
                "files": ingested.read,
                "messages": ingested.messages_added,
                "gone": ingested.gone,
                "failed": len(ingested.errors),
            }
            _log.info("transcripts were read", operation="ingest", context=told)

    def _tell(self, paths: Sequence[Path]) -> None:
        """Read these when they are left alone."""
        if self._changed.tell(paths, time.monotonic()):
            self._woken.set()

    def _wanted(self, paths: Sequence[Path]) -> list[Path]:
        places = set(self._engine.transcripts.roots)
        return [path for path in paths if not places.isdisjoint([path, *path.parents])]

    def _roots(self) -> Sequence[Path]:
        return self._engine.transcripts.roots if self._given_roots is None else self._given_roots
