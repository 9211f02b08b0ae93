"""HTTP/1.1 to a process on this machine, over plain sockets.

Small on purpose: `http.client` brings the email parser and TLS with it, which is 25 ms of every
start of the bridge. Knows connections that are used again, answers that are read as they come, and
how to break off from another thread. What is sent, and what an answer means, is left to others.
"""

import io
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

#: On one machine a connection is made in a millisecond or never.
CONNECT_TIMEOUT_S: Final = 5.0

#: A larger body is announced, and sent once the process wants it. One that it refuses for its size
#: would otherwise be answered into a connection on which we still send, and the answer be lost.
ANNOUNCED_FROM: Final = 1 << 20

#: More connections are opened when more is asked at once, and closed after use.
KEPT_CONNECTIONS: Final = 8


class BrokenOff(ConnectionError):
    """The connection ended before the answer did."""


class Answer:
    """An answer whose body has yet to be read."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.status, self.headers = _head(file)
        self._raw = _Body(file, self.headers)
        self.body = io.BufferedReader(self._raw, 1 << 16)

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def leaves_the_connection_usable(self) -> bool:
        """Whether the body was read to its end, and another request may follow."""
        return self._raw.ended and self.headers.get("connection", "").lower() != "close"


class Connection:
    """One connection, made when it is first needed.

    An answer may take as long as the work does, unless there is a limit to the patience.
    """

    def __init__(self, url: str, patience_s: float | None = None) -> None:
        self._netloc = url.removeprefix("http://").rstrip("/")
        self._patience_s = patience_s
        self._socket: socket.socket | None = None
        self._file: io.BufferedReader | None = None
        self._answer: Answer | None = None
        self._owes_a_body = False
        self._is_broken_off = False

    def ask(self, start: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        """Send a request (`start` is its method and path) and give the answer once its head is there."""
        if self._socket is not None:
            try:
                return self._exchange(start, headers, body)
            except OSError:
                # The process may close an idle connection while we begin to use it. It has not
                # begun to answer, so the same request is sent on a new one.
                if self._is_broken_off:
                    raise
        self._connect()
        return self._exchange(start, headers, body)

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent on it."""
        if self._is_broken_off or self._owes_a_body or self._socket is None or self._answer is None:
            return False
        # Nothing may come in between two requests: what can be read is the end of the connection.
        return self._answer.leaves_the_connection_usable and not select.select([self._socket], [], [], 0)[0]

    def break_off(self) -> None:
        """End whatever goes on, from any thread; who waits for an answer gets an `OSError`."""
        self._is_broken_off = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection. Only for who asks on it."""
        if self._socket is not None and self._file is not None:
            self._file.close()
            self._socket.close()
            self._socket = self._file = None

    def _connect(self) -> None:
        self.close()
        host, _, port = self._netloc.rpartition(":")
        made = socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S)
        made.settimeout(self._patience_s)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file, self._socket = made.makefile("rb"), made
        if self._is_broken_off:
            raise BrokenOff("broken off while connecting")

    def _exchange(self, start: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if self._socket is None or self._file is None:
            raise BrokenOff("not connected")
        announced = len(body) >= ANNOUNCED_FROM
        head = [f"{start} HTTP/1.1", f"Host: {self._netloc}", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        head += ["Expect: 100-continue"] if announced else []
        opening = "\r\n".join([*head, "", ""]).encode("latin-1")
        self._socket.sendall(opening if announced else opening + body)
        self._answer = Answer(self._file)
        if self._answer.status == 100:
            self._socket.sendall(body)
            self._answer = Answer(self._file)
        elif announced:
            self._owes_a_body = True
        return self._answer


class Connections:
    """The connections to one process: taken for a request, and kept for the next one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._most = KEPT_CONNECTIONS

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for one request; it is kept when the answer was read to its end."""
        taken = self._take()
        try:
            yield taken
        finally:
            with self._lock:
                if kept := taken.is_usable and len(self._idle) < self._most:
                    self._idle.append(taken)
            if not kept:
                taken.close()

    def close(self) -> None:
        """Keep no connection any more."""
        with self._lock:
            self._most = 0
            while self._idle:
                self._idle.pop().close()

    def _take(self) -> Connection:
        with self._lock:
            while self._idle:
                if (found := self._idle.pop()).is_usable:
                    return found
                found.close()
        return Connection(self._url)


def events(body: io.BufferedIOBase) -> Iterator[bytes]:
    """The data of each server-sent event, as soon as it is complete."""
    data: list[bytes] = []
    for line in body:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"data:"):
            data.append(text[5:].removeprefix(b" "))
        elif not text and data:
            yield b"\n".join(data)
            data = []


class _Body(io.RawIOBase):
    """The bytes of a body without what HTTP puts around them."""

    def __init__(self, file: io.BufferedReader, headers: Mapping[str, str]) -> None:
        super().__init__()
        self._file = file
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._left = 0 if self._chunked else int(headers.get("content-length", "0"))
        self.ended = not self._chunked and self._left == 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than Buffer
        if self._chunked and not self._left and not self.ended:
            self._begin_chunk()
        if self.ended:
            return 0
        read = self._file.read1(min(self._left, len(buffer)))
        if not read:
            raise BrokenOff("the body broke off")
        buffer[: len(read)] = read
        self._left -= len(read)
        if not self._left:
            self._end_part()
        return len(read)

    def _begin_chunk(self) -> None:
        self._left = int(_line(self._file).split(b";")[0], 16)
        if not self._left:
            while _line(self._file):
                pass  # trailers say nothing to us
            self.ended = True

    def _end_part(self) -> None:
        if self._chunked:
            _line(self._file)
        else:
            self.ended = True


def _head(file: io.BufferedReader) -> tuple[int, dict[str, str]]:
    try:
        status = int(_line(file).split(b" ", 2)[1])
    except (IndexError, ValueError) as error:
        raise BrokenOff("the answer is not HTTP") from error
    headers = {}
    while line := _line(file):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return status, headers


def _line(file: io.BufferedReader) -> bytes:
    line = file.readline(1 << 16)
    if not line.endswith(b"\n"):
        raise BrokenOff("the answer broke off")
    return line.rstrip(b"\r\n")
