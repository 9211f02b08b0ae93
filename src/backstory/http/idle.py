"""When nobody needs the process any more. The next program that does starts it again."""

from dataclasses import dataclass

from backstory.http.traffic import Traffic
from backstory.http.worker import Worker


@dataclass(frozen=True, slots=True)
class Idle:
    """Tells whether the process has been idle for so long that it may end; without a limit it never has."""

    limit_s: float | None
    traffic: Traffic
    worker: Worker

    @property
    def is_over(self) -> bool:
        """Whether it is time: no request for so long, no open stream, and no upkeep to do."""
        return self.limit_s is not None and self.worker.resting and self.traffic.idle_s >= self.limit_s
