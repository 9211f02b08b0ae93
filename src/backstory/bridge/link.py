"""The way to the process as it is now: found, started when a request needs it, found again.

Which process it is may change at any time. What is sent to it is left to `forward` and `session`.
"""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from backstory.bridge.messages import percent_encoded
from backstory.bridge.process import NotStarted, Process, ensure, running, token
from backstory.bridge.whereabouts import Whereabouts
from backstory.bridge.wire import Connections

#: How often somebody who must not start the process looks whether it is there.
LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """The process as it was found once: who it is, and how it is spoken to."""

    process: Process
    headers: Mapping[str, str]
    connections: Connections


class Link:
    """Knows the process, and forgets it when somebody found it gone."""

    def __init__(self, where: Whereabouts, directory: str | None) -> None:
        self.where = where
        self._who = {"Backstory-Bridge": os.urandom(16).hex()}
        if directory:
            self._who["Backstory-Directory"] = percent_encoded(directory)
        self._lock = threading.Lock()
        self._reached: Reached | None = None
        self._failure = ""
        self._failed_at = 0.0

    @property
    def last(self) -> Reached | None:
        """The process as it was last known; nobody looks whether it is still there."""
        return self._reached

    def reach(self) -> Reached:
        """The process, started if need be; raises `NotStarted`."""
        asked_at = time.monotonic()
        with self._lock:
            if self._failure and self._failed_at > asked_at:
                raise NotStarted(self._failure)  # it was tried while this thread waited for its turn
            if self._reached is None:
                self._reached = self._found(self._ensure())
            return self._reached

    def find(self) -> Reached | None:
        """The process if it runs; it is not started for this."""
        with self._lock:
            if self._reached is None and (process := running(self.where)):
                self._reached = self._found(process)
            return self._reached

    def await_process(self, gone: Reached | None = None) -> Reached:
        """Wait until the process runs because somebody needed it; `gone` is looked for anew, not at once."""
        if gone is not None:
            self.lose(gone)
            time.sleep(LOOK_S)
        while True:
            if reached := self.find():
                return reached
            time.sleep(LOOK_S)

    def lose(self, gone: Reached) -> None:
        """Look for the process again next time; the token is read again, too."""
        with self._lock:
            if self._reached is gone:
                self._reached = None
        gone.connections.close()

    def _ensure(self) -> Process:
        try:
            return ensure(self.where)
        except NotStarted as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            raise

    def _found(self, process: Process) -> Reached:
        headers = {"Authorization": f"Bearer {token(self.where)}", **self._who}
        return Reached(process, headers, Connections(process.url))
