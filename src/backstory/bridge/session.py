"""The session of a client of the legacy era.

The client opens it once. When the process no longer knows it, because it restarted or forgot, it is
opened again with the client's own words, subscriptions included, and the client never learns of it.
Which requests belong to the session is left to `forward`.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

from backstory.bridge.link import Reached
from backstory.bridge.messages import Message, Reply, read_reply
from backstory.bridge.missed import missed_in_session
from backstory.bridge.wire import Answer, BrokenOff, Connection, events

EVENTS: Final = "text/event-stream"
SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
POST_HEADERS: Final = {
    "Accept": f"application/json, {EVENTS}",
    "Content-Type": "application/json",
}

#: The client is gone; the process forgets the session by itself if this does not reach it.
FAREWELL_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Opened:
    process_id: str
    headers: Mapping[str, str]
    capabilities: object


class Session:
    """What the client said to open the session, and where it is open now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._initialize: Message | None = None
        self._initialized: Message | None = None
        self._watched: dict[str, Message] = {}
        self._opened: _Opened | None = None

    def opened(self, message: Message, reached: Reached, answer: Answer, reply: Reply) -> None:
        """Remember the session that the client's own `initialize` opened."""
        with self._lock:
            self._initialize, self._initialized, self._watched = message, None, {}
            self._opened = _opened(reached, answer, reply)

    def announced(self, message: Message) -> None:
        """Remember that the client said it is initialized."""
        with self._lock:
            self._initialized = message

    def subscribed(self, message: Message) -> None:
        """Remember what the client watches, or that it does not any more."""
        uri = str(message.params.get("uri"))
        with self._lock:
            if message.method == SUBSCRIBE:
                self._watched[uri] = message
            else:
                self._watched.pop(uri, None)

    def missed(self) -> list[bytes]:
        """What the client is told once it is listened for again, in lines."""
        with self._lock:
            return list(missed_in_session(self._opened and self._opened.capabilities, self._watched))

    def headers(self, reached: Reached) -> Mapping[str, str]:
        """What a message of the session carries; opens it again if this process does not know it."""
        with self._lock:
            if self._initialize is None:
                return {}
            if self._opened is None or self._opened.process_id != reached.process.id:
                after = [*([self._initialized] if self._initialized else []), *self._watched.values()]
                self._opened = _open_again(self._initialize, after, reached)
            return self._opened.headers

    def forget(self, headers: Mapping[str, str]) -> None:
        """The process does not know the session with these headers."""
        with self._lock:
            if self._opened is not None and self._opened.headers == headers:
                self._opened = None

    def close(self, reached: Reached) -> None:
        """Tell the process that the client is gone, if it can be told quickly."""
        opened = self._opened
        if opened is not None and opened.process_id == reached.process.id:
            with suppress(OSError), closing(Connection(reached.process.url, FAREWELL_S)) as connection:
                connection.ask("DELETE /mcp", {**reached.headers, **opened.headers})


def replies(answer: Answer) -> Iterator[Reply]:
    """The messages in an answer, as they come; raises `BrokenOff` when one is cut short."""
    try:
        for body in events(answer.body) if answer.is_stream else [answer.body.read()]:
            yield read_reply(body)
    except ValueError as error:
        raise BrokenOff(f"what the process answered is no message: {error}") from error


def _open_again(initialize: Message, after: Iterable[Message], reached: Reached) -> _Opened:
    with reached.connections.connection() as connection:
        answer = connection.ask("POST /mcp", {**reached.headers, **POST_HEADERS}, initialize.line)
        opened = _opened(reached, answer, _result(answer))
    headers = {**reached.headers, **POST_HEADERS, **opened.headers}
    for message in after:
        with reached.connections.connection() as connection:
            connection.ask("POST /mcp", headers, message.line).body.read()
    return opened


def _result(answer: Answer) -> Reply:
    for reply in replies(answer):
        if reply.result is not None:
            answer.body.read()
            return reply
    raise BrokenOff(f"the process did not open the session again (it answered {answer.status})")


def _opened(reached: Reached, answer: Answer, reply: Reply) -> _Opened:
    result = reply.result or {}
    headers = {"MCP-Protocol-Version": str(result.get("protocolVersion"))}
    if session_id := answer.headers.get("mcp-session-id"):
        headers["Mcp-Session-Id"] = session_id
    return _Opened(reached.process.id, headers, result.get("capabilities"))
