"""A request on its way: whether it was sent, taken back, or answered.

Sending it is left to `forward`.
"""

import os
import threading

from backstory.bridge.lanes import Turn
from backstory.bridge.messages import Message
from backstory.bridge.wire import Connection


class TakenBack(Exception):
    """The client no longer wants the answer."""


class Pending:
    """One request of the client, from the line it came in to its answer."""

    def __init__(self, message: Message, turn: Turn) -> None:
        self.message = message
        self.turn = turn
        self.key = os.urandom(16).hex()  # the same for each attempt, so that nothing is done twice
        self.is_settled = False  # nothing more is said to the client about it
        self.is_subscribed = False  # it is a subscription, and the client knows that it began
        self._accepted = threading.Event()
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def sending_on(self, connection: Connection) -> None:
        """Note that the request goes out now; raises `TakenBack` if it should not."""
        with self._lock:
            if self.is_settled:
                raise TakenBack
            self._connection = connection

    def accepted(self) -> None:
        """Note that the process has the request."""
        self._accepted.set()

    def await_accepted(self, seconds: float) -> None:
        """Wait until the process has the request, so that what follows does not overtake it."""
        self._accepted.wait(seconds)

    def take_back(self) -> bool:
        """Drop the request; whether the process may have it and must be told.

        Of a modern request it is told by the end of the connection.
        """
        with self._lock:
            self.is_settled = True
            connection = self._connection
        if connection is None:
            return False
        if self.message.version is not None:
            connection.break_off()
            return False
        return True
