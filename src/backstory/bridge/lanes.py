"""The order in which things are sent: lanes that run jobs, and turns that messages wait for.

What is sent is left to `forward`.
"""

import queue
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final

from backstory.bridge.messages import Message

#: What opens a session. Nothing of the legacy era may overtake it.
HANDSHAKE: Final = frozenset({"initialize", "notifications/initialized"})


class Lane:
    """Runs jobs in the order they came, on at most `width` threads, which are made as they are needed."""

    def __init__(self, width: int) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._room = width

    def put(self, job: Callable[[], None]) -> None:
        """Run the job as soon as a thread is free."""
        self._jobs.put(job)
        with self._lock:
            if not self._idle.acquire(blocking=False) and self._room:
                self._room -= 1
                threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            while True:
                self._jobs.get()()
                self._idle.release()
        finally:  # a job that raises ends its thread, not the lane
            with self._lock:
                self._room += 1


class Turn:
    """The place of one message: entered when those before it are through, left when it is through itself."""

    def __init__(self, before: threading.Event, through: threading.Event) -> None:
        self._before = before
        self._through = through

    def __enter__(self) -> None:
        self._before.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._through.set()


class Turns:
    """Gives out turns in the order in which the messages came."""

    def __init__(self) -> None:
        self._handshake = threading.Event()
        self._handshake.set()

    def of(self, message: Message) -> Turn:
        """A legacy message follows the handshake before it; a modern one follows nothing."""
        through = threading.Event()
        if message.version is not None:
            through.set()
            return Turn(through, through)
        before = self._handshake
        if message.method in HANDSHAKE:
            self._handshake = through
        return Turn(before, through)
