"""What every request has to pass before anything else sees it.

One ASGI layer around the whole app, so that no route is forgotten. In this order: Host and Origin
are exact (a page in a browser can reach this machine under a name of its own), the token is right,
the body is not too large, the caller does not ask too fast. Which routes there are is left to `app`.
"""

import json
import math
import secrets
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backstory.http.addresses import Entrance
from backstory.http.logs import logger
from backstory.http.rates import Buckets, Rate

#: Answered without a token, in one word: whether the process lives says nothing about its data.
OPEN_PATHS: Final = frozenset({"/health", "/ready"})
MCP_PATH: Final = "/mcp"

#: A bridge serves one agent and a command of the CLI one person; they are ours, and wait for their answers.
#: A call takes more than a millisecond, so only a loop that does not wait can come to 1,000 a second.
OUR_OWN: Final = Rate(burst=2_000, per_second=1_000)

#: A body of 4 MB comes over loopback in milliseconds. Without an end, a client that announces more than it
#: sends would hold its place for ever.
BODY_S: Final = 30.0

#: How long the rest of a refused request is read and thrown away.
LINGER_S: Final = 1.0

#: JSON-RPC leaves -32000 to -32099 to servers.
REFUSED: Final = -32000

_AUTHORISED: Final = "backstory.authorised"

_log = logger("http")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the guard holds requests to. Without a token everybody is let in: for tests alone."""

    entrances: Mapping[int, Entrance]
    token: str | None
    max_bytes: int
    requests_per_minute: int | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer in place of the app's."""

    status: int
    kind: str
    message: str
    hint: str
    headers: tuple[tuple[str, str], ...] = ()
    #: Whether the request's body was not read to its end, so that the connection cannot be used again.
    unread: bool = True


class _Refused(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.kind)
        self.refusal = refusal


NO_HOST: Final = Refusal(
    421, "host", "this process does not go by that name", "use the address in process.json, as in its url"
)
NO_ORIGIN: Final = Refusal(
    403, "origin", "pages of other origins may not send requests", "call from a program, not from a page"
)
NO_TOKEN: Final = Refusal(
    401,
    "token",
    "a token is needed, and it must be the right one",
    "send 'Authorization: Bearer …' with the text of the file named token in the data folder",
    (("WWW-Authenticate", 'Bearer realm="backstory"'),),
)
NO_PATH: Final = Refusal(404, "path", "there is nothing here", "only /metrics is served on this port")
TOO_LARGE: Final = Refusal(
    413, "size", "the request is too large", "send less at once, or raise BACKSTORY_MAX_REQUEST_BYTES"
)
TOO_SLOW: Final = Refusal(
    408, "time", "the request did not come to its end", "send as much as Content-Length says"
)


class Guard:
    """Lets through what keeps the rules, and answers the rest itself."""

    def __init__(self, app: ASGIApp, rules: Rules, buckets: Buckets | None = None) -> None:
        self._app = app
        self._rules = rules
        self._buckets = buckets or Buckets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":  # websockets are not spoken here: the connection is closed
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        # White space around a value does not belong to it; not every parser takes it off.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        try:
            headers = _Headers(scope["headers"])
            self._check_address(scope, headers)
            scope[_AUTHORISED] = self._check_token(scope, headers)
            body = await self._body(headers, receive)
            self._check_rate(scope, headers)
        except _Refused as refused:
            refusal = refused.refusal
            context = {"why": refusal.kind, "status": refusal.status}
            _log.warning("request refused", operation="guard", context=context)
            await _respond(scope, receive, send, refusal)
        else:
            if body is not None:
                await self._app(scope, _replaying(body, receive), send)

    def _check_address(self, scope: Scope, headers: "_Headers") -> None:
        entrance = self._rules.entrances.get((scope.get("server") or ("", 0))[1])
        if entrance is None or headers.only("host") not in entrance.hosts:
            raise _Refused(NO_HOST)
        if headers.has("origin") and headers.only("origin") not in entrance.origins:
            raise _Refused(NO_ORIGIN)
        if entrance.paths is not None and scope["path"] not in entrance.paths:
            raise _Refused(NO_PATH)

    def _check_token(self, scope: Scope, headers: "_Headers") -> bool:
        if self._rules.token is None:
            return True
        if not headers.has("authorization") and scope["method"] == "GET" and scope["path"] in OPEN_PATHS:
            return False
        scheme, _, given = (headers.only("authorization") or "").partition(" ")
        right = secrets.compare_digest(given.strip().encode(), self._rules.token.encode())
        if scheme.lower() != "bearer" or not right:
            raise _Refused(NO_TOKEN)
        return True

    async def _body(self, headers: "_Headers", receive: Receive) -> bytes | None:
        """The whole body; None when the client went away in the middle of it."""
        declared = headers.only("content-length") or "0"
        if not declared.isdecimal() or int(declared) > self._rules.max_bytes:
            raise _Refused(TOO_LARGE)
        try:
            with anyio.fail_after(BODY_S):
                return await _read(receive, self._rules.max_bytes)
        except TimeoutError:
            raise _Refused(TOO_SLOW) from None

    def _check_rate(self, scope: Scope, headers: "_Headers") -> None:
        """Hold callers to their rate; only what makes work counts."""
        path, limit = scope["path"], self._rules.requests_per_minute
        if scope["method"] != "POST":
            return
        bridge = headers.only("backstory-bridge")
        if path.startswith("/local/") or (path == MCP_PATH and bridge):
            wait = self._buckets.take(f"bridge {bridge}", OUR_OWN)
        elif path == MCP_PATH and limit:
            wait = self._buckets.take(self._caller(scope, headers), Rate(limit, limit / 60))
        else:
            return
        if wait:
            raise _Refused(_too_fast(wait))

    def _caller(self, scope: Scope, headers: "_Headers") -> str:
        if session := headers.only("mcp-session-id"):
            return f"session {session}"
        if self._rules.token is not None:
            return "token"
        return f"peer {(scope.get('client') or ('', 0))[0]}"


def is_authorised(scope: Scope) -> bool:
    """Whether the request carried the token."""
    return bool(scope.get(_AUTHORISED))


def error_body(path: str, refusal: Refusal) -> dict[str, object]:
    """The error as the route's clients expect it."""
    if path == MCP_PATH:
        told = {"code": REFUSED, "message": refusal.message, "data": {"hint": refusal.hint}}
        return {"jsonrpc": "2.0", "id": None, "error": told}
    return {"error": {"kind": refusal.kind, "message": refusal.message, "hint": refusal.hint}}


class _Headers:
    """A request's headers. One that comes twice says nothing: which of the two would be meant?"""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in raw:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def has(self, name: str) -> bool:
        return name in self._values

    def only(self, name: str) -> str | None:
        values = self._values.get(name, [])
        return values[0] if len(values) == 1 else None


async def _respond(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    body = json.dumps(error_body(scope["path"], refusal)).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **({"Connection": "close"} if refusal.unread else {}),
        **dict(refusal.headers),
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # A connection that is closed with something unread in it is reset, and the client may lose the answer.
    with anyio.move_on_after(LINGER_S):
        while refusal.unread and (await receive()).get("more_body", False):
            pass
    await send({"type": "http.response.body", "body": b""})


async def _read(receive: Receive, most: int) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > most:
            raise _Refused(TOO_LARGE)
        if not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    messages: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> Message:
        return messages.popleft() if messages else await receive()

    return replay


def _too_fast(wait_s: float) -> Refusal:
    return Refusal(
        429,
        "rate",
        "requests come too fast",
        "wait as long as Retry-After says, or raise BACKSTORY_REQUESTS_PER_MINUTE",
        (("Retry-After", str(math.ceil(wait_s))),),
        unread=False,
    )
