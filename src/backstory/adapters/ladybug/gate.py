"""A gate that many may hold together, or one alone. It knows nothing of databases."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Shared by users of a thing, taken alone by whoever changes its shape or puts it away.

    Nobody new comes in while somebody waits to be alone, so waiting ends. A thread must not
    come in twice.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the gate together with others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
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
            self._waiting += 1
            try:
                self._changed.wait_for(self._is_empty)
            finally:
                self._waiting -= 1
            self._alone = True
        yield from self._leave_when_done()

    @contextmanager
    def alone_if_empty(self) -> Iterator[bool]:
        """Hold the gate alone if nobody is inside now; gives False, and no hold, if somebody is."""
        with self._changed:
            if not self._is_empty() or self._waiting:
                entered = False
            else:
                entered = self._alone = True
        if not entered:
            yield False
            return
        try:
            yield True
        finally:
            self._open_again()

    def _is_empty(self) -> bool:
        return not self._alone and not self._inside

    def _leave_when_done(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._open_again()

    def _open_again(self) -> None:
        with self._changed:
            self._alone = False
            self._changed.notify_all()
