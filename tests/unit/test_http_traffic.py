"""What is in flight, when the process is idle, and how requests come to their end."""

import anyio
import pytest
from anyio.abc import TaskGroup
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backstory.http.idle import Idle
from backstory.http.traffic import Traffic

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Client:
    """Sends one request and notes what comes back."""

    def __init__(self, app: ASGIApp, method: str = "POST", headers: list[tuple[bytes, bytes]] | None = None):
        self._app = app
        self._scope: Scope = {"type": "http", "path": "/mcp", "method": method, "headers": headers or []}
        self.answer: list[Message] = []
        self.done = anyio.Event()

    async def __call__(self) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            self.answer.append(message)

        await self._app(self._scope, receive, send)
        self.done.set()


class Slow:
    """An app that begins its answer and goes on when it is told to."""

    def __init__(self) -> None:
        self.go_on = anyio.Event()
        self.began = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        self.began.set()
        await self.go_on.wait()
        await send({"type": "http.response.body", "body": b"all"})


def idle(traffic: Traffic, *, is_busy: bool = False) -> Idle:
    return Idle(60, traffic, lambda: is_busy)


async def test_a_process_that_nobody_asks_is_idle_when_the_time_is_over() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    told = []
    for clock.now in (0, 59, 60, 600):
        told.append(idle(traffic).is_over)

    assert told == [False, False, True, True]


async def test_a_request_begins_the_time_anew() -> None:
    clock, app = Clock(), Slow()
    traffic = Traffic(clock)
    app.go_on.set()
    clock.now = 59
    await Client(traffic.around(app))()
    clock.now = 118

    assert not idle(traffic).is_over
    clock.now = 119
    assert idle(traffic).is_over


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_request_in_flight_or_an_open_stream_is_not_idle(method: str) -> None:
    clock, app = Clock(), Slow()
    traffic = Traffic(clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Client(traffic.around(app), method))
        await app.began.wait()
        clock.now = 600
        busy = idle(traffic).is_over
        app.go_on.set()

    assert not busy
    assert not idle(traffic).is_over  # the time begins when it ends


async def test_a_process_that_has_something_to_do_is_not_idle() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    clock.now = 600

    assert not idle(traffic, is_busy=True).is_over
    assert idle(traffic).is_over


async def test_without_a_limit_it_is_never_over() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    clock.now = 1e9

    assert not Idle(None, traffic, lambda: False).is_over


async def draining(tasks: TaskGroup, traffic: Traffic) -> anyio.Event:
    """Begin to drain; the event is set when it has ended."""
    ended = anyio.Event()

    async def run() -> None:
        await traffic.drain(600)
        ended.set()

    tasks.start_soon(run)
    await anyio.lowlevel.checkpoint()
    return ended


async def test_a_call_in_flight_is_waited_for() -> None:
    app, traffic = Slow(), Traffic()
    client = Client(traffic.around(app))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client)
        await app.began.wait()
        ended = await draining(tasks, traffic)
        waited = not ended.is_set()
        app.go_on.set()

    assert waited
    assert client.answer[-1]["body"] == b"all"


async def test_a_call_that_takes_too_long_is_ended() -> None:
    app, traffic = Slow(), Traffic()
    client = Client(traffic.around(app))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client)
        await app.began.wait()
        await traffic.drain(0)

    assert client.answer[-1] == {"type": "http.response.body", "body": b""}
    assert traffic.in_flight == 0


@pytest.mark.parametrize(
    ("method", "headers"), [("GET", []), ("POST", [(b"mcp-method", b"subscriptions/listen")])]
)
async def test_a_stream_is_not_waited_for(method: str, headers: list[tuple[bytes, bytes]]) -> None:
    app, traffic = Slow(), Traffic()
    client = Client(traffic.around(app), method, headers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client)
        await app.began.wait()
        await traffic.drain(600)

    assert client.answer[-1] == {"type": "http.response.body", "body": b""}
