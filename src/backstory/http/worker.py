"""The thread that does upkeep while requests are served.

It repeats bounded steps while there is something to do, then waits until somebody leaves work or a while
has passed. A failure is logged and tried again later; the records remember what is left. Which steps
those are is said by who starts it: a summary by a language model may take a minute, and must not keep
what was said from being embedded meanwhile.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, Self

from backstory.actions.conversations import background
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import BackstoryError, Cancelled
from backstory.http.faults import unexpected_told

#: Work left behind by an outage is taken up again at the latest after this time.
IDLE_S: Final = 5.0

_log = logging.getLogger(__name__)

#: One bounded step; False when there is nothing to do.
Step = Callable[[Engine, Work], bool]

#: What goes on while a process serves, each in a thread of its own.
STEPS: Final[Sequence[Step]] = (upkeep, background.step)

#: Told how long a step took that did something, or how it failed.
Watching = Callable[[float, BackstoryError | None], None]


class Worker:
    """Steps in the background, from `with` to the end of its block."""

    def __init__(
        self,
        engine: Engine,
        step: Step,
        *,
        idle_s: float = IDLE_S,
        watching: Watching | None = None,
    ) -> None:
        self._engine = engine
        self._do = step
        self._idle_s = idle_s
        self._watching = watching
        self._work = Work()
        self._woken = engine.bell.ear()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backstory-upkeep", daemon=True)
        self.last_error: BackstoryError | None = None
        #: Whether it found nothing that it could do, and waits.
        self.resting = False

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
        self.wake()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.resting = False
            if not self._step():
                self.resting = True
                self._woken.wait(self._idle_s)
                self._woken.clear()

    def _step(self) -> bool:
        began = time.perf_counter()
        done, failure = False, None
        try:
            with unexpected_told("upkeep"):
                done = self._do(self._engine, self._work)
        except Cancelled:
            return False
        except BackstoryError as error:
            failure = error
        self._note(failure)
        if self._watching and (done or failure):
            self._watching(time.perf_counter() - began, failure)
        return done

    def _note(self, error: BackstoryError | None) -> None:
        if error and repr(error) != repr(self.last_error):
            _log.warning("upkeep failed and will be tried again: %s", error)
        self.last_error = error


@contextmanager
def working(engine: Engine) -> Iterator[None]:
    """All that goes on while a process serves, until the block ends."""
    with ExitStack() as workers:
        for step in STEPS:
            workers.enter_context(Worker(engine, step))
        yield
