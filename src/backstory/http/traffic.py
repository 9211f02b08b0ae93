"""The requests that are being served: how many, since when there is none, and how they come to an end.

Calls come to an end by themselves and are given time for it. Streams, by which a client listens for
news, do not; they are ended when the process stops.
"""

import time
from collections.abc import Callable
from typing import Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: A POST that listens, in the protocol's newer era; a GET does in the older one.
LISTENING: Final = b"subscriptions/listen"


class Traffic:
    """An ASGI layer that knows what is in flight."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._calls: set[anyio.CancelScope] = set()
        self._streams: set[anyio.CancelScope] = set()
        self._no_call = anyio.Event()
        self.stopping = False

    def around(self, app: ASGIApp) -> ASGIApp:
        """The app, watched."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                await self._serve(app, scope, receive, send)
            else:
                await app(scope, receive, send)

        return watched

    @property
    def in_flight(self) -> int:
        """How many requests are being served, streams included."""
        return len(self._calls) + len(self._streams)

    @property
    def idle_s(self) -> float:
        """How long nothing has been in flight."""
        return 0.0 if self.in_flight else self._clock() - self._last

    async def drain(self, grace_s: float) -> None:
        """Let calls come to an end for a while; then end what is left."""
        self.stopping = True
        with anyio.move_on_after(grace_s):
            while self._calls:
                self._no_call = anyio.Event()
                await self._no_call.wait()
        for scope in self._calls | self._streams:
            scope.cancel()

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        kind = self._streams if _is_stream(scope) else self._calls
        answer = _Answer(send)
        try:
            with anyio.CancelScope() as cancelling:
                kind.add(cancelling)
                await app(scope, receive, answer)
        finally:
            kind.discard(cancelling)
            self._last = self._clock()
            if not self._calls:
                self._no_call.set()
        await answer.end()


class _Answer:
    """Passes an answer on, and brings one to its end that was broken off, as streams are at a stop."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._open = False

    async def __call__(self, message: Message) -> None:
        await self._send(message)
        self._open = message["type"] == "http.response.start" or bool(message.get("more_body"))

    async def end(self) -> None:
        if self._open:
            await self._send({"type": "http.response.body", "body": b""})


def _is_stream(scope: Scope) -> bool:
    if scope["path"] != "/mcp":
        return False
    return scope["method"] == "GET" or (b"mcp-method", LISTENING) in scope["headers"]
