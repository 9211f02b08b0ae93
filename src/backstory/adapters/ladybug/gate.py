"""A gate that many may hold together, or one alone. It knows nothing of databases."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Gate:
    """Shared by the readers of a thing, taken alone by whoever changes it.

    Everybody comes in in the order of arrival, so nobody waits for ever. A thread must not come in
    twice.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._inside = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the gate together with others."""
        with self._changed:
            self._wait_until(lambda: not self._alone)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the gate with nobody else inside; waits until that is so."""
        with self._changed:
            self._wait_until(self._is_empty)
            self._alone = True
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone_if_empty(self) -> Iterator[bool]:
        """Hold the gate alone if nobody is inside or waits; else give False, and no hold."""
        with self._changed:
            entered = self._is_empty() and not self._queue
            self._alone = self._alone or entered
        try:
            yield entered
        finally:
            if entered:
                self._leave()

    def _is_empty(self) -> bool:
        return not self._alone and not self._inside

    def _wait_until(self, may_enter: Callable[[], bool]) -> None:
        ticket = object()
        self._queue.append(ticket)
        try:
            self._changed.wait_for(lambda: self._queue[0] is ticket and may_enter())
        finally:
            self._queue.remove(ticket)
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._alone = False
            self._changed.notify_all()
