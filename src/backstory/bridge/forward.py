"""Every message of the client to the process, and everything that comes back.

Requests run beside each other, each on a thread; what has no answer goes in order. A request whose
answer does not come because the process ended is sent to the next one under the same key. Reading
and writing lines is left to `stdio`.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from backstory.bridge.lanes import Lane, Turn, Turns
from backstory.bridge.link import Link, Reached
from backstory.bridge.messages import (
    INTERNAL_ERROR,
    BadLine,
    Message,
    Reply,
    error_answer,
    modern_headers,
    own_answer,
    read_message,
    refusal,
)
from backstory.bridge.missed import missed_by_stream
from backstory.bridge.pending import Pending, TakenBack
from backstory.bridge.process import NotStarted
from backstory.bridge.session import EVENTS, POST_HEADERS, SUBSCRIBE, UNSUBSCRIBE, Session, replies
from backstory.bridge.wire import Answer, BrokenOff

#: More than an agent asks at once; what comes on top waits its turn.
REQUESTS_AT_ONCE: Final = 64

#: One may meet the process as it ends, and one the next as it begins; more is no coincidence.
ATTEMPTS: Final = 5

#: A process that is told to stop breaks answers off for some tenths of a second while it still takes
#: requests. The pause doubles with each attempt at the same process: three seconds in all.
PAUSE_S: Final = 0.1

#: Between a request and its acceptance there are milliseconds, unless the process hangs.
ACCEPTANCE_S: Final = 5.0

LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"


class Forwarding:
    """Takes the client's lines one after another, and writes lines for it from many threads."""

    def __init__(self, link: Link, write: Callable[[bytes], None]) -> None:
        self._link = link
        self._write = write
        self._session = Session()
        self._turns = Turns()
        self._requests = Lane(REQUESTS_AT_ONCE)
        self._notes = Lane(1)
        self._pending: dict[str, Pending] = {}
        self._settled = threading.Condition()
        self._is_listening = False

    def take(self, line: bytes) -> None:
        """Forward one line. Never waits for the process."""
        try:
            message = read_message(line)
        except BadLine as bad:
            self._write(bad.answer)
            return
        if message.is_request:
            self._take_request(message)
        elif (cancelled := self._pending.get(message.cancels or "")) is not None:
            self._take_back(cancelled, message)
        else:
            turn = self._turns.of(message)
            self._notes.put(lambda: self._tell(message, turn))

    def finish(self, seconds: float) -> None:
        """Let what is under way come to its answer, but not for long, and close the session."""
        with self._settled:
            self._settled.wait_for(self._is_quiet, seconds)
        if reached := self._link.last:
            self._session.close(reached)

    def _is_quiet(self) -> bool:
        return all(each.is_subscribed for each in self._pending.values())

    def _take_request(self, message: Message) -> None:
        pending = Pending(message, self._turns.of(message))
        with self._settled:
            self._pending[message.key] = pending
        if message.method == LISTEN:  # it lasts as long as the client, and must not fill the lane
            threading.Thread(target=self._serve, args=(pending,), daemon=True).start()
        else:
            self._requests.put(lambda: self._serve(pending))

    def _take_back(self, pending: Pending, message: Message) -> None:
        turn = self._turns.of(message)

        def tell() -> None:
            pending.await_accepted(ACCEPTANCE_S)
            self._tell(message, turn)

        if pending.take_back():
            self._notes.put(tell)

    def _serve(self, pending: Pending) -> None:
        """Bring a request to its answer, whatever happens to the process meanwhile."""
        try:
            with pending.turn:
                self._try(pending)
        except TakenBack:
            pass
        except NotStarted as error:
            self._answer(pending, error_answer(pending.message.id, INTERNAL_ERROR, str(error)))
        finally:
            if not pending.is_settled:  # also when there is a mistake in this program
                self._answer(pending, self._gave_up(pending))
            with self._settled:
                if self._pending.get(pending.message.key) is pending:
                    del self._pending[pending.message.key]
                self._settled.notify_all()

    def _try(self, pending: Pending) -> None:
        before: Reached | None = None
        for attempt in range(ATTEMPTS):
            reached = self._link.reach()
            if before is not None and before.process.id == reached.process.id:
                time.sleep(PAUSE_S * 2**attempt)
            try:
                self._attempt(pending, reached, is_last=attempt == ATTEMPTS - 1)
            except OSError:
                if not pending.is_settled:
                    self._link.lose(reached)
            if pending.is_subscribed:
                self._subscribe_again(pending, reached)
            if pending.is_settled:
                return
            before = reached

    def _subscribe_again(self, pending: Pending, gone: Reached) -> None:
        """Have a subscription anew whenever the process runs. It is not started for this.

        It may have stopped because nobody needed it.
        """
        while not pending.is_settled:
            gone = self._link.await_process(gone)
            with suppress(OSError):
                self._attempt(pending, gone, is_last=True)

    def _attempt(self, pending: Pending, reached: Reached, *, is_last: bool) -> None:
        """Send a request and bring back its answer; raises `OSError` when it should be tried again."""
        message = pending.message
        is_of_session = message.version is None and message.method != "initialize"
        in_session = self._session.headers(reached) if is_of_session else {}
        own = {"Idempotency-Key": pending.key, **modern_headers(message), **in_session}
        with reached.connections.connection() as connection:
            pending.sending_on(connection)
            answer = connection.ask("POST /mcp", {**reached.headers, **POST_HEADERS, **own}, message.line)
            pending.accepted()
            if answer.status == 404 and in_session and not is_last:
                self._session.forget(in_session)
                raise BrokenOff("the process does not know the session")
            if answer.status == 401 and not is_last:
                raise BrokenOff("the process has another token")
            if answer.status >= 400:
                line = refusal(message.id, answer.status, answer.body.read())
            else:
                line = self._relay(pending, reached, answer)
        # Only now: the client may ask again at once, and then finds the connection free.
        self._answer(pending, line)

    def _relay(self, pending: Pending, reached: Reached, answer: Answer) -> bytes:
        """Pass on what comes for a request, up to its answer."""
        for reply in replies(answer):
            if not reply.is_answer:
                self._relay_note(pending, reply)
                continue
            if pending.is_subscribed and reply.result is not None:
                raise BrokenOff("the process ends, and the subscription with it")
            if reply.result is not None:
                self._remember(pending.message, reached, answer, reply)
            line = own_answer(pending.message.id, answer.status, reply)
            if answer.is_stream:
                # Its end comes half a millisecond later: the client should not wait for it, but
                # the connection can only be used again when it was read.
                self._answer(pending, line)
                answer.body.read()
            return line
        raise BrokenOff("the answer did not come")

    def _remember(self, message: Message, reached: Reached, answer: Answer, reply: Reply) -> None:
        """Note what must be said again when the session is opened again."""
        if message.method == "initialize":
            self._session.opened(message, reached, answer, reply)
        elif message.method in {SUBSCRIBE, UNSUBSCRIBE}:
            self._session.subscribed(message)

    def _relay_note(self, pending: Pending, reply: Reply) -> None:
        if reply.method == ACKNOWLEDGED and pending.message.method == LISTEN:
            if pending.is_subscribed:  # again, after a restart of which the client knows nothing
                for line in missed_by_stream(pending.message):
                    self._write(line)
                return
            pending.is_subscribed = True
        if not pending.is_settled:
            self._write(reply.line)

    def _answer(self, pending: Pending, line: bytes) -> None:
        if not pending.is_settled:
            pending.is_settled = True
            self._write(line)

    def _gave_up(self, pending: Pending) -> bytes:
        logs = self._link.where.logs
        text = f"the process did not answer, {ATTEMPTS} times in a row; its log in {logs} may tell why"
        return error_answer(pending.message.id, INTERNAL_ERROR, text)

    def _tell(self, message: Message, turn: Turn) -> None:
        """Send what has no answer. If the process is gone, so is what it was about."""
        with suppress(OSError), turn:
            if message.method == "notifications/initialized":
                self._session.announced(message)
            if reached := self._link.find():
                self._post(message, reached)
        if message.method == "notifications/initialized" and not self._is_listening:
            self._is_listening = True
            threading.Thread(target=self._listen, daemon=True).start()

    def _post(self, message: Message, reached: Reached) -> None:
        own = modern_headers(message) or self._session.headers(reached)
        if own:  # a client without a session says nothing of the legacy era
            with reached.connections.connection() as connection:
                headers = {**reached.headers, **POST_HEADERS, **own}
                connection.ask("POST /mcp", headers, message.line).body.read()

    def _listen(self) -> None:
        """Pass on what the process says by itself to a client of the legacy era, over restarts."""
        reached = self._link.await_process()
        is_again = False
        while True:
            with suppress(OSError):
                if not self._listen_to(reached, is_again=is_again):
                    return
            is_again = True
            reached = self._link.await_process(reached)

    def _listen_to(self, reached: Reached, *, is_again: bool) -> bool:
        """Listen until the stream ends; whether there is such a stream for this client."""
        in_session = self._session.headers(reached)
        if not in_session:
            return False
        with reached.connections.connection() as connection:
            answer = connection.ask("GET /mcp", {**reached.headers, "Accept": EVENTS, **in_session})
            if answer.status == 404:
                self._session.forget(in_session)
            if answer.is_stream:
                for line in self._session.missed() if is_again else ():
                    self._write(line)
                for reply in replies(answer):
                    self._write(reply.line)
        return answer.status != 405
