"""The thread that does upkeep while requests are served.

It repeats bounded steps while there is something to do, then waits until it is woken or a while
has passed. A failure is logged and tried again later; marks remember what is left.
"""

import logging
import threading
from typing import Final, Self

from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import BackstoryError, Cancelled

#: Work left behind by an outage is taken up again at the latest after this time.
IDLE_S: Final = 5.0

_log = logging.getLogger(__name__)


class Worker:
    """Upkeep in the background, from `with` to the end of its block."""

    def __init__(self, engine: Engine, *, idle_s: float = IDLE_S) -> None:
        self._engine = engine
        self._idle_s = idle_s
        self._work = Work()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backstory-upkeep", daemon=True)
        self.last_error: BackstoryError | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wake(self) -> None:
        """Look for work now rather than later."""
        self._woken.set()

    def stop(self) -> None:
        """Finish the present step and end the thread."""
        self._stopping.set()
        self._work.cancel()
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self._step():
                self._woken.wait(self._idle_s)
                self._woken.clear()

    def _step(self) -> bool:
        try:
            more = upkeep(self._engine, self._work)
        except Cancelled:
            return False
        except BackstoryError as error:
            if repr(error) != repr(self.last_error):
                _log.warning("upkeep failed and will be tried again: %s", error)
            self.last_error = error
            return False
        self.last_error = None
        return more
