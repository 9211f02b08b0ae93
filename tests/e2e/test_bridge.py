"""The bridge in front of a server whose tools wait, report and die at a test's command."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.client import ConnectMode
from mcp_types import ElicitResult

from tests.e2e.bridges import (
    INITIALIZE,
    MODERN_META,
    Bridge,
    Place,
    as_server,
    call,
    note,
    request,
    text_of,
)

ERAS = ["modern", "legacy"]
MODES: list[ConnectMode] = ["auto", "legacy"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server that every test may use, and none may end."""
    made = Place(tmp_path_factory.mktemp("shared") / "home")
    yield made
    made.kill()


@pytest.fixture
def bridge(place: Place) -> Iterator[Bridge]:
    with Bridge(place.home) as made:
        yield made


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Place]:
    """A server that the test may end."""
    made = Place(tmp_path / "home")
    yield made
    made.kill()


@pytest.fixture
def mortals_bridge(mortal: Place) -> Iterator[Bridge]:
    with Bridge(mortal.home) as made:
        yield made


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_calls_tools_and_sees_progress(place: Place, mode: ConnectMode) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with Client(as_server(place.home), mode=mode) as client:
        assert {"echo", "wait"} <= {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool("steps", {"number": 3}, progress_callback=on_progress)

    assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_many_calls_at_once_each_get_their_own_answer(place: Place, mode: ConnectMode) -> None:
    answers: dict[int, str] = {}

    async with Client(as_server(place.home), mode=mode) as client, anyio.create_task_group() as group:

        async def ask(number: int) -> None:
            result = await client.call_tool("echo", {"text": f"ünï {number}"})
            answers[number] = result.model_dump()["content"][0]["text"]

        for number in range(100):
            group.start_soon(ask, number)

    assert answers == {number: f"ünï {number}" for number in range(100)}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_the_process_learns_where_the_client_works(
    place: Place, tmp_path: Path, mode: ConnectMode
) -> None:
    folder = tmp_path / "häuser & gärten 100%"
    folder.mkdir()

    async with Client(as_server(place.home, folder), mode=mode) as client:
        told = [await client.call_tool("headers", {}) for _ in range(2)]

    first, second = (json.loads(each.model_dump()["content"][0]["text"]) for each in told)
    assert first["backstory-directory"].endswith("/h%C3%A4user%20%26%20g%C3%A4rten%20100%25")
    assert first["backstory-bridge"] == second["backstory-bridge"]
    assert first["idempotency-key"] != second["idempotency-key"]


@pytest.mark.anyio
async def test_the_process_can_ask_the_client_back(place: Place) -> None:
    async def answer(context: object, params: object) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with Client(as_server(place.home), mode="legacy", elicitation_callback=answer) as client:
        told = await client.call_tool("greet", {})

    assert told.model_dump()["content"][0]["text"] == "Hello Ada"


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_ends_in_the_process_and_is_never_answered(
    place: Place, bridge: Bridge, era: str
) -> None:
    bridge.open_session()
    bridge.send(call("long", "wait", era, name=f"long {era}"))
    place.hear(f"begun long {era}")

    bridge.send(note("notifications/cancelled", requestId="long", reason="no longer needed"))

    place.hear(f"cancelled long {era}")
    assert text_of(bridge.ask(call("next", "echo", era, text="here"))) == "here"
    assert bridge.end() == 0
    assert bridge.process.stdout is not None
    assert bridge.process.stdout.read() == b""


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_cancelled_in_the_same_breath_does_not_go_on(
    mortal: Place, mortals_bridge: Bridge, era: str
) -> None:
    mortals_bridge.open_session()

    mortals_bridge.send(
        call(7, "wait", era, name="a"),
        note("notifications/cancelled", requestId=7),
        call("7", "echo", era, text="another id"),
    )

    assert mortals_bridge.receive()["id"] == "7"
    assert mortals_bridge.end() == 0
    mortal.server.terminate()
    assert mortal.server.stdout is not None
    assert mortal.server.stdout.read() in ["", "begun a\ncancelled a\n"]


def test_a_slow_call_holds_up_no_other(place: Place, bridge: Bridge) -> None:
    bridge.open_session()
    bridge.send(*(call(number, "wait", ERAS[number % 2], name=f"slow {number}") for number in range(10)))
    place.hear(*(f"begun slow {number}" for number in range(10)))

    assert text_of(bridge.ask(call("quick", "echo", text="here"))) == "here"


def test_what_is_sent_before_the_session_is_open_waits_for_it(bridge: Bridge) -> None:
    bridge.send(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        note("notifications/initialized"),
        request(2, "tools/list", "legacy"),
        call(3, "echo", "legacy", text="early"),
    )

    answers = {answer["id"]: answer for answer in (bridge.receive() for _ in range(3))}
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[2]["result"]["tools"]
    assert text_of(answers[3]) == "early"


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_kills_the_process_is_made_again_under_the_same_key(
    mortal: Place, mortals_bridge: Bridge, tmp_path: Path, era: str
) -> None:
    mortals_bridge.open_session()
    with mortal.replacing():
        mortals_bridge.send(call(1, "die_at_first", era, folder=str(tmp_path)))
        assert mortal.server.wait() == -signal.SIGKILL

    first, second = text_of(mortals_bridge.receive()).split()

    assert first == second


@pytest.mark.parametrize("era", ERAS)
def test_the_next_process_may_have_the_address_of_the_last_and_another_token(
    mortal: Place, mortals_bridge: Bridge, era: str
) -> None:
    mortals_bridge.open_session()
    assert text_of(mortals_bridge.ask(call(1, "echo", era, text="before"))) == "before"
    port = json.loads(mortal.where.process.read_text())["url"].rpartition(":")[2]

    with mortal.replacing(FIXTURE_PORT=port, FIXTURE_TOKEN="another"):
        pass

    assert text_of(mortals_bridge.ask(call(2, "echo", era, text="after"))) == "after"


@pytest.mark.parametrize("era", ERAS)
def test_who_listens_goes_on_listening_after_a_restart(
    mortal: Place, mortals_bridge: Bridge, era: str
) -> None:
    if era == "modern":
        mortals_bridge.send(request("sub", "subscriptions/listen", notifications={"toolsListChanged": True}))
        assert mortals_bridge.receive()["method"] == "notifications/subscriptions/acknowledged"
    else:
        mortals_bridge.open_session()
    _await_a_change(mortals_bridge, era)

    with mortal.replacing():
        pass

    _await_a_change(mortals_bridge, era)


def _await_a_change(bridge: Bridge, era: str) -> None:
    """Change the tools until it is told; nothing but that is told meanwhile.

    Once is not enough: who listens does so beside the calls, and what happened before is not repeated.
    """
    methods: set[str] = set()
    while not methods:
        bridge.send(call("change", "change", era))
        while "method" in (message := bridge.receive()):
            methods.add(message["method"])
        assert text_of(message) == "changed"
    assert methods == {"notifications/tools/list_changed"}


def test_a_refused_request_is_answered_with_its_own_id(bridge: Bridge) -> None:
    unknown_method = bridge.ask(request(1, "no/such/method"))
    unknown_version = bridge.ask(
        {
            **request("v", "tools/list"),
            "params": {"_meta": {**MODERN_META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}},
        }
    )
    without_session = bridge.ask(request(3, "tools/list", "legacy"))

    assert unknown_method["error"]["code"] == -32601
    assert unknown_version["error"]["code"] == -32022
    assert "2026-07-28" in unknown_version["error"]["data"]["supported"]
    assert "session" in without_session["error"]["message"].lower()


def test_a_tool_whose_name_no_header_can_carry_is_answered(bridge: Bridge) -> None:
    for name in ("größe", " edge ", "=?base64?eA==?=", "line\r\nX-Injected: yes"):
        assert bridge.ask(call(name, name))["result"]["isError"]


def test_a_line_that_is_too_long_for_the_process_is_answered_and_the_next_one_too(bridge: Bridge) -> None:
    for era in ERAS:
        answer = bridge.ask(call(era, "echo", era, text="x" * 10_000_000))
        assert "413" in answer["error"]["message"]

    assert text_of(bridge.ask(call(2, "echo", text="y" * 3_000_000))) == "y" * 3_000_000


def test_lines_that_are_no_messages_are_refused_and_the_next_one_is_answered(bridge: Bridge) -> None:
    bridge.write(b"no JSON\n\n[]\n42\n\xff\n{}\n" + b"[" * 100_000 + b"\n")

    codes = [bridge.receive()["error"]["code"] for _ in range(6)]

    assert codes == [-32700, -32600, -32600, -32700, -32600, -32700]
    assert text_of(bridge.ask(call(1, "echo", text="still here"))) == "still here"


def test_a_line_that_would_fill_the_memory_is_refused_and_the_next_one_is_answered(bridge: Bridge) -> None:
    for _ in range(70):
        bridge.write(b"x" * (1 << 20))
    bridge.write(b"\n")

    assert bridge.receive()["error"]["code"] == -32600
    assert text_of(bridge.ask(call(1, "echo", text="still here"))) == "still here"


def test_half_a_line_at_the_end_is_dropped(bridge: Bridge) -> None:
    bridge.write(json.dumps(call(1, "echo", text="half")).encode()[:-9])

    assert bridge.end() == 0
    assert bridge.process.stdout is not None
    assert bridge.process.stdout.read() == b""


def test_a_last_line_without_an_end_is_answered_before_the_bridge_ends(bridge: Bridge) -> None:
    bridge.write(json.dumps(call(1, "echo", text="whole")).encode())

    assert bridge.end() == 0
    assert text_of(bridge.receive()) == "whole"


def test_the_bridge_ends_with_its_client_while_calls_are_open(place: Place, bridge: Bridge) -> None:
    bridge.open_session()
    bridge.send(*(call(era, "wait", era, name=f"left {era}") for era in ERAS))
    place.hear(*(f"begun left {era}" for era in ERAS))

    assert bridge.end() == 0

    place.hear(*(f"cancelled left {era}" for era in ERAS))


def test_the_bridge_ends_when_nobody_reads_its_answers(bridge: Bridge) -> None:
    assert bridge.process.stdout is not None
    bridge.process.stdout.close()

    bridge.send(call(1, "echo", text="to nobody"))

    assert bridge.process.wait() == 0


def test_the_bridge_can_be_terminated(bridge: Bridge) -> None:
    bridge.open_session()

    bridge.process.terminate()

    assert bridge.process.wait() == 0


def test_the_bridge_loads_little() -> None:
    """Each of these costs an agent that waits for its tools more than all of the bridge does."""
    loading = "import sys; import backstory.bridge.stdio; print(*sys.modules)"

    loaded = subprocess.run(
        [sys.executable, "-c", loading], capture_output=True, text=True, check=True
    ).stdout

    assert not {"asyncio", "click", "email", "http.client", "logging", "pydantic", "ssl"} & set(
        loaded.split()
    )


def test_a_process_that_refuses_the_token_is_named(mortal: Place) -> None:
    mortal.where.token.write_text("something else")
    with Bridge(mortal.home) as bridge:
        error = bridge.ask(call(1, "echo", text="x"))["error"]

    assert str(mortal.server.pid) in error["message"]
    assert "token" in error["message"]


def test_why_the_process_cannot_start_is_told(tmp_path: Path) -> None:
    with Bridge(tmp_path / "home", MCP_PORT="nonsense") as bridge:
        error = bridge.ask(call(1, "echo", text="x"))["error"]

    assert "MCP_PORT" in error["message"]
    assert str(tmp_path / "home" / "logs" / "start.log") in error["message"]


def test_a_home_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")

    with Bridge(tmp_path / "home") as bridge:
        error = bridge.ask(call(1, "echo", text="x"))["error"]

    assert str(tmp_path / "home") in error["message"]
