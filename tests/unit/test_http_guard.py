"""What the guard does that is hard to provoke over a socket."""

import json
from dataclasses import replace

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from backstory.http import guard
from backstory.http.addresses import Entrance
from backstory.http.guard import Guard, Rules

pytestmark = pytest.mark.anyio

RULES = Rules({8765: Entrance(frozenset({"localhost:8765"}))}, "t" * 43, 1000, None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("the request came through")


def request(**more: object) -> Scope:
    headers = [(b"host", b"localhost:8765"), (b"authorization", b"Bearer " + b"t" * 43)]
    asked = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "server": ("::1", 8765)}
    return {**asked, **more}


async def answered(scope: Scope, *messages: Message) -> list[Message]:
    """What the guard sends when these messages come, and then none any more."""
    waiting, sent = list(messages), []

    async def receive() -> Message:
        if not waiting:
            await anyio.sleep_forever()
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await Guard(app, RULES)(scope, receive, send)
    return sent


async def test_a_body_that_never_comes_to_its_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.0)
    monkeypatch.setattr(guard, "LINGER_S", 0.0)

    start, body, *_ = await answered(request(), {"type": "http.request", "body": b"{", "more_body": True})

    assert start["status"] == 408
    assert json.loads(body["body"])["error"]["message"]


async def test_a_client_that_goes_away_while_it_sends_gets_no_answer() -> None:
    assert await answered(request(), {"type": "http.disconnect"}) == []


async def test_a_port_that_is_not_ours_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "LINGER_S", 0.0)

    for server in (("::1", 1), None):
        start, *_ = await answered(request(server=server))
        assert start["status"] == 421


async def test_a_websocket_is_not_answered() -> None:
    assert await answered({"type": "websocket", "path": "/mcp", "headers": []}) == []


async def test_without_a_token_callers_are_told_apart_by_their_address() -> None:
    passed: list[object] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope["client"])

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Message) -> None:
        pass

    watching = Guard(note, replace(RULES, token=None, requests_per_minute=1))
    for peer in (("::1", 1), ("::1", 2), ("::2", 1)):
        await watching(request(client=peer), receive, send)

    assert passed == [("::1", 1), ("::2", 1)]
