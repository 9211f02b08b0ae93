"""How fast one caller may ask: a bucket of tokens for each, filled at a steady pace."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

#: Callers remembered. Whoever comes back after being forgotten finds a full bucket.
MAX_CALLERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """So many at once, and so many more each second."""

    burst: float
    per_second: float


class Buckets:
    """A bucket for each caller."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, rate: Rate) -> float:
        """Take one; 0 if there was one, else the seconds until there is."""
        now = self._clock()
        with self._lock:
            level, at = self._levels.pop(caller, (rate.burst, now))
            level = min(rate.burst, level + (now - at) * rate.per_second)
            taken = level >= 1
            self._levels[caller] = (level - 1 if taken else level, now)
            if len(self._levels) > MAX_CALLERS:
                self._levels.popitem(last=False)
        return 0.0 if taken else (1 - level) / rate.per_second
