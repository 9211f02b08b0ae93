"""Taking times: one long piece of work, or the spread of many short ones."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


class Stopwatch:
    """Adds up the seconds of the blocks it ran in."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time until the block ends."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Spread:
    """How long one call takes: usually, and when it is slow."""

    p50_ms: float
    p95_ms: float


def seconds(call: Callable[[], Result]) -> tuple[float, Result]:
    """How long a call took, and what it gave."""
    watch = Stopwatch()
    with watch.running():
        result = call()
    return watch.seconds, result


def spread(calls: Iterable[Callable[[], object]]) -> Spread:
    """Make the calls one after another, each timed by itself."""
    taken_ms = sorted(1000 * seconds(call)[0] for call in calls)
    return Spread(percentile(taken_ms, 0.5), percentile(taken_ms, 0.95))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the ordered values does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
