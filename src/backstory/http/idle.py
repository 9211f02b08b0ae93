"""When nobody needs the process any more. The next program that does starts it again."""

from collections.abc import Callable
from dataclasses import dataclass

from backstory.http.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Idle:
    """Tells whether the process has been idle for so long that it may end; without a limit it never has."""

    limit_s: float | None
    traffic: Traffic
    #: Whether the process does something by itself: upkeep, or reading transcripts in.
    is_busy: Callable[[], bool]

    @property
    def is_over(self) -> bool:
        """Whether it is time: no request for so long, no open stream, and nothing to do."""
        return self.limit_s is not None and self.traffic.idle_s >= self.limit_s and not self.is_busy()
