"""Transcripts are read in while agents write them: on a real store, with real files and real events.

The actions that read are the real ones, behind a stand-in that tells when they are done, and can fail
or wait. Times are short; nothing here depends on how short.
"""

import ctypes
import errno
import json
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, EventEmitter

from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import Ingested, ingest_paths, ingest_transcripts
from backstory.engine import Engine, TranscriptPlaces, Work
from backstory.errors import BackstoryError, StoreUnavailable
from backstory.http.watcher import Pace, Watcher
from backstory.model.conversation import Conversation
from backstory.model.project import ALL_PROJECTS
from backstory.wiring import open_engine
from tests.e2e.hosting import settings_for

#: Events are what is waited for: looks and passes come too late to help.
BY_EVENTS = Pace(quiet_s=0.02, longest_s=1, check_s=600, look_s=600, pass_s=600, retry_s=600)
#: The folders, and all files where need be, are looked at all the time.
BY_LOOKS = replace(BY_EVENTS, check_s=0.02, look_s=0.02)

PATIENCE_S = 60


@dataclass
class Reading:
    """Stands before the actions that read; `fails` and `waits` make the next pass do so."""

    fails: Exception | None = None
    waits: bool = False
    begun: threading.Event = field(default_factory=threading.Event)
    passes: "queue.Queue[Ingested | Exception]" = field(default_factory=queue.Queue)
    changes: "queue.Queue[set[Path]]" = field(default_factory=queue.Queue)
    seen: list[Path] = field(default_factory=list)

    def all(self, engine: Engine, wish: Wish, work: Work) -> Ingested:
        self.begun.set()
        while self.waits:
            work.step(0, None, "waits to be stopped")
        if failure := self.fails:
            self.fails = None
            self.passes.put(failure)
            raise failure
        done = ingest_transcripts(engine, wish, work)
        self.passes.put(done)
        return done

    def some(self, engine: Engine, paths: Collection[Path], work: Work) -> Ingested:
        done = ingest_paths(engine, paths, work)
        self.changes.put(set(paths))
        return done

    def a_pass(self) -> Ingested | Exception:
        """Wait for the next pass."""
        return self.passes.get(timeout=PATIENCE_S)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so; it is looked at again whenever changes were read."""
        while not is_so():
            self.seen += self.changes.get(timeout=PATIENCE_S)

    def until_read(self, path: Path) -> None:
        """Wait until changes of this path were read."""
        self.until(lambda: path in self.seen)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    stand_in = Reading()
    monkeypatch.setattr("backstory.http.watcher.ingest_transcripts", stand_in.all)
    monkeypatch.setattr("backstory.http.watcher.ingest_paths", stand_in.some)
    return stand_in


@dataclass(frozen=True)
class Place:
    """A folder of transcripts of one test, and the store that they are read into."""

    engine: Engine
    root: Path

    def session(self, name: str = "first") -> str:
        """The id of a session that no other test has."""
        return str(uuid5(NAMESPACE_URL, f"{self.root}/{name}"))

    def transcript(self, name: str = "first", folder: str = "-home-me-shop") -> Path:
        return self.root / folder / f"{self.session(name)}.jsonl"

    def kept(self) -> dict[str, Conversation]:
        """What is kept of this test's sessions, by their names."""
        with self.engine.records.reading() as records:
            found = {
                name: records.conversations.get(ALL_PROJECTS, self.session(name))
                for name in ("first", "other")
            }
        return {name: each for name, each in found.items() if each}

    def turns(self) -> int:
        """How many turns are kept of the first session; none if it is not known."""
        return self.kept()["first"].turns if "first" in self.kept() else 0

    def is_gone(self) -> bool:
        """Whether it is known that the first session's file is not there any more."""
        return self.kept()["first"].source_gone_at is not None


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One for all tests: making it takes longer than all of them."""
    with open_engine(settings_for(tmp_path_factory.mktemp("watching") / "home")) as engine:
        yield engine


@pytest.fixture
def place(store: Engine, tmp_path: Path) -> Place:
    root = tmp_path / "projects"
    (root / "-home-me-shop").mkdir(parents=True)
    return Place(replace(store, transcripts=TranscriptPlaces(claude_folders=[root])), root)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = {each.name for each in threading.enumerate() if each not in before and each.is_alive()}
    assert not {name for name in left if "watcher" in name or "Thread-" in name}


def say(path: Path, *texts: str) -> Path:
    """Append a question each to a transcript, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for text in texts:
            record = {
                "type": "user",
                "uuid": f"{path.stem}-{text}",
                "sessionId": path.stem,
                "timestamp": "2026-03-01T10:00:00.000Z",
                "cwd": "/home/me/shop",
                "message": {"role": "user", "content": text},
            }
            file.write(json.dumps(record) + "\n")
    return path


def test_what_is_there_is_read_at_the_start(place: Place, reading: Reading) -> None:
    say(place.transcript(), "why is the cart empty?")

    with Watcher(place.engine, BY_EVENTS) as watcher:
        reading.a_pass()
        status = watcher.status

    assert place.turns() == 1
    assert (status.by, list(status.roots), status.last_error) == ("events", [place.root], None)
    assert watcher.status.by == "off"


def test_a_transcript_is_read_as_it_begins_and_grows(place: Place, reading: Reading) -> None:
    path = place.transcript()

    with Watcher(place.engine, BY_EVENTS):
        reading.a_pass()
        say(path, "why is the cart empty?")
        reading.until(lambda: place.turns() == 1)
        say(path, "and the login?")
        reading.until(lambda: place.turns() == 2)


def test_a_transcript_in_a_new_folder_is_read(place: Place, reading: Reading) -> None:
    with Watcher(place.engine, BY_EVENTS):
        reading.a_pass()
        say(place.transcript(folder="-home-me-bank"), "where is the money?")
        reading.until(lambda: place.turns() == 1)


def test_a_storm_of_writes_is_read_once(place: Place, reading: Reading) -> None:
    path = place.transcript()

    with Watcher(place.engine, replace(BY_EVENTS, quiet_s=1, longest_s=600)):
        reading.a_pass()
        for number in range(200):
            say(path, f"line {number}")
        reading.until_read(path)
        reading.until_read(say(place.transcript("other"), "afterwards"))

    assert reading.seen.count(path) == 1
    assert place.turns() == 200


def test_a_transcript_that_never_rests_is_read_all_the_same(place: Place, reading: Reading) -> None:
    with Watcher(place.engine, replace(BY_EVENTS, quiet_s=600, longest_s=0.1)):
        reading.a_pass()
        for number in range(10_000):
            say(place.transcript(), f"line {number}")
            with suppress(queue.Empty):
                changed = reading.changes.get(timeout=0.01)
                break

    assert changed == {place.transcript()}


def test_other_files_are_left_alone(place: Place, reading: Reading) -> None:
    with Watcher(place.engine, BY_EVENTS):
        reading.a_pass()
        for name in ("notes.md", "sessions-index.json", "a.jsonl.tmp"):
            (place.root / "-home-me-shop" / name).write_text("{}\n")
        reading.until_read(say(place.transcript(), "why?"))

    assert set(reading.seen) == {place.transcript()}


@pytest.mark.parametrize("pace", [BY_EVENTS, BY_LOOKS], ids=["told", "looked for"])
def test_a_deleted_folder_takes_nothing_that_was_said_with_it(
    pace: Pace, place: Place, reading: Reading
) -> None:
    path = say(place.transcript(), "why is the cart empty?")

    with Watcher(place.engine, pace):
        reading.a_pass()
        shutil.rmtree(path.parent)
        reading.until(place.is_gone)

    assert place.turns() == 1


def test_a_folder_moved_away_is_known_to_be_gone(place: Place, reading: Reading, tmp_path: Path) -> None:
    path = say(place.transcript(), "why is the cart empty?")

    with Watcher(place.engine, BY_EVENTS):
        reading.a_pass()
        path.parent.rename(tmp_path / "elsewhere")
        reading.until(place.is_gone)


def test_a_renamed_folder_keeps_its_conversations(place: Place, reading: Reading) -> None:
    path = say(place.transcript(), "why is the cart empty?")
    moved = place.root / "-home-me-store" / path.name

    with Watcher(place.engine, BY_EVENTS):
        reading.a_pass()
        path.parent.rename(moved.parent)
        reading.until_read(moved)
        say(moved, "and now?")
        reading.until(lambda: place.turns() == 2)

    assert list(place.kept()) == ["first"]
    assert not place.is_gone()


def test_a_root_that_appears_later_is_watched(place: Place, reading: Reading) -> None:
    shutil.rmtree(place.root)

    with Watcher(place.engine, replace(BY_EVENTS, check_s=0.02)) as watcher:
        reading.a_pass()
        roots = watcher.status.roots
        say(place.transcript(), "why?")
        reading.until(lambda: place.turns() == 1)
        say(place.transcript(), "and now?")
        reading.until(lambda: place.turns() == 2)

    assert list(roots) == []


def test_a_root_that_is_made_anew_is_watched_again(place: Place, reading: Reading) -> None:
    path = say(place.transcript(), "why?")

    with Watcher(place.engine, replace(BY_EVENTS, check_s=0.02)):
        reading.a_pass()
        shutil.rmtree(place.root)
        reading.until(place.is_gone)
        say(path, "why?", "and now?")
        reading.until(lambda: place.turns() == 2)
        say(path, "still there?")
        reading.until(lambda: place.turns() == 3)

    assert not place.is_gone()


def test_a_linked_folder_is_looked_into(place: Place, reading: Reading, tmp_path: Path) -> None:
    outside = say(tmp_path / "outside" / place.transcript().name, "why?")
    (place.root / "-home-me-linked").symlink_to(outside.parent)
    (place.root / "-home-me-linked" / "circle").symlink_to(place.root)

    with Watcher(place.engine, BY_LOOKS) as watcher:
        reading.a_pass()
        say(outside, "and now?")
        reading.until(lambda: place.turns() == 2)
        assert watcher.status.by == "events"


class _Refused(EventEmitter):
    """Is not allowed to listen."""

    def on_thread_start(self) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")


def none_to_be_had() -> BaseObserver:
    raise OSError(errno.EMFILE, "inotify instance limit reached")


@pytest.mark.parametrize("make_observer", [none_to_be_had, lambda: BaseObserver(_Refused)])
def test_files_are_looked_at_where_the_system_does_not_tell(
    make_observer: Callable[[], BaseObserver], place: Place, reading: Reading
) -> None:
    with Watcher(place.engine, replace(BY_LOOKS, look_s=600), make_observer=make_observer) as watcher:
        reading.a_pass()
        status = watcher.status
        say(place.transcript(), "why?")
        reading.until(lambda: place.turns() == 1)

    assert (status.by, status.last_error) == ("polling", None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts watches")
def test_watches_are_not_taken_where_they_are_too_few(
    place: Place, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        ctypes.set_errno(errno.ENOSPC)
        return -1

    observers: list[BaseObserver] = []
    monkeypatch.setattr("backstory.http.file_events.inotify_add_watch", refused)

    with Watcher(place.engine, BY_EVENTS, make_observer=noting(observers)) as watcher:
        reading.a_pass()
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - not a folder like others
        watcher.wake()
        reading.a_pass()
        after = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        status = watcher.status

    assert status.by == "polling"
    assert observers == []
    assert after <= before


def test_events_are_tried_again_at_the_next_pass(place: Place, reading: Reading) -> None:
    full = [OSError(errno.EMFILE, "inotify instance limit reached")]

    def full_at_first() -> BaseObserver:
        if full:
            raise full.pop()
        return Observer()

    with Watcher(place.engine, BY_EVENTS, make_observer=full_at_first) as watcher:
        reading.a_pass()
        first = watcher.status.by
        watcher.wake()
        reading.a_pass()
        reading.until_read(say(place.transcript(), "why?"))

    assert first == "polling"


def test_an_observer_that_dies_is_replaced(place: Place, reading: Reading) -> None:
    observers: list[BaseObserver] = []

    with Watcher(place.engine, replace(BY_EVENTS, check_s=0.02), make_observer=noting(observers)) as watcher:
        reading.a_pass()
        observers[0].stop()
        reading.until_read(say(place.transcript(), "why?"))
        assert watcher.status.by == "events"

    assert len(observers) > 1


class _Silent(EventEmitter):
    """Loses every event."""

    def queue_events(self, timeout: float) -> None:
        self.stopped_event.wait(timeout)


def test_what_no_event_told_is_found_by_looking(place: Place, reading: Reading) -> None:
    with Watcher(place.engine, BY_LOOKS, make_observer=lambda: BaseObserver(_Silent)) as watcher:
        reading.a_pass()
        reading.until_read(say(place.transcript(), "why?"))
        assert watcher.status.by == "events"


def test_what_is_not_in_a_place_is_left_alone(place: Place, reading: Reading) -> None:
    shop = TranscriptPlaces(claude_folders=[place.root / "-home-me-shop"])

    with Watcher(replace(place.engine, transcripts=shop), BY_EVENTS, roots=[place.root]):
        reading.a_pass()
        say(place.transcript("other", "-home-me-bank"), "where is the money?")
        reading.until_read(say(place.transcript(), "why?"))

    assert set(reading.seen) == {place.transcript()}
    assert list(place.kept()) == ["first"]


def test_it_stops_in_the_middle_of_reading(place: Place, reading: Reading) -> None:
    reading.waits = True

    with Watcher(place.engine, BY_EVENTS) as watcher:
        reading.begun.wait(PATIENCE_S)
        during = watcher.status
    after = watcher.status

    assert (during.at_work, after.at_work) == (True, False)
    assert after.last_error is None


@pytest.mark.parametrize(
    "failure", [StoreUnavailable("canary"), ZeroDivisionError("canary")], ids=["foreseen", "not foreseen"]
)
def test_what_failed_is_told_without_its_text_and_tried_again(
    failure: Exception,
    place: Place,
    reading: Reading,
    caplog: pytest.LogCaptureFixture,
) -> None:
    say(place.transcript(), "why?")
    reading.fails = failure

    with Watcher(place.engine, replace(BY_EVENTS, retry_s=0.02)) as watcher:
        failed = reading.a_pass()
        reading.a_pass()

    assert failed is failure
    assert place.turns() == 1
    assert watcher.status.last_error is None
    assert type(failure).__name__ in caplog.text
    assert "canary" not in caplog.text


def test_a_failure_is_remembered_until_a_pass_goes_well(place: Place, reading: Reading) -> None:
    reading.fails = StoreUnavailable("down", hint="start it")

    with Watcher(place.engine, BY_EVENTS) as watcher:
        reading.a_pass()
    after_failure = watcher.status

    assert isinstance(after_failure.last_error, BackstoryError)
    assert after_failure.last_pass_at is None


def test_whoever_wakes_it_gets_a_pass(place: Place, reading: Reading) -> None:
    with Watcher(place.engine, BY_EVENTS) as watcher:
        reading.a_pass()
        watcher.wake()
        reading.a_pass()

    assert watcher.status.last_pass_at is not None


def noting(observers: list[BaseObserver]) -> Callable[[], Any]:
    """Makes real observers, and notes them."""

    def make() -> BaseObserver:
        observers.append(Observer())
        return observers[-1]

    return make
