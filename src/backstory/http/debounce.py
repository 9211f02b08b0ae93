"""Waits until a file is left alone for a moment, so that a burst of writes is one change.

It knows names and moments and nothing else: whoever uses it says what time it is, and looks again
when it is told to.
"""

import threading
from collections.abc import Iterable
from pathlib import Path


class Debounce:
    """Names that wait: each until it was quiet for a while, or has waited long enough. For many threads."""

    def __init__(self, quiet_s: float, longest_s: float) -> None:
        self._quiet_s = quiet_s
        self._longest_s = longest_s
        #: For each name when it was first and last told.
        self._told: dict[Path, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def tell(self, paths: Iterable[Path], now: float) -> bool:
        """Note that these changed. True if nothing waited before: only then does `next_at` come earlier."""
        with self._lock:
            were_none = not self._told
            for path in paths:
                first, _ = self._told.get(path, (now, now))
                self._told[path] = (first, now)
            return were_none and bool(self._told)

    def take(self, now: float) -> list[Path]:
        """Those that need not wait any longer, first told first; they wait no more."""
        with self._lock:
            due = [path for path, told in self._told.items() if self._due_at(told) <= now]
            for path in due:
                del self._told[path]
            return due

    def next_at(self) -> float:
        """The moment at which the next one is due if nothing else is told; infinity if none waits."""
        with self._lock:
            return min(map(self._due_at, self._told.values()), default=float("inf"))

    def _due_at(self, told: tuple[float, float]) -> float:
        first, last = told
        return min(last + self._quiet_s, first + self._longest_s)
