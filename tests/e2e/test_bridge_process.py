"""Bridges and the real process: who starts it, who survives its end, and what is kept."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it has no stubs
import pytest
from mcp import Client

from backstory.bridge.locking import waiting_lock
from backstory.bridge.process import Process, running
from backstory.bridge.whereabouts import Whereabouts
from tests.e2e.bridges import INITIALIZE, Answer, Bridge, as_server, call

BRIDGES = 10


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Whereabouts]:
    made = Whereabouts(tmp_path / "home")
    yield made
    if process := running(made):
        os.kill(process.pid, signal.SIGTERM)
    _await_the_end(made)


def _await_the_end(where: Whereabouts) -> None:
    with waiting_lock(where.owner_lock):
        pass


def _running(where: Whereabouts) -> Process:
    process = running(where)
    assert process is not None
    return process


def _add(number: int, era: str) -> Answer:
    return call(number, "memory_add", era, type="design", content=f"Fact number {number}.", project="shop")


def _contents(bridge: Bridge) -> list[str]:
    """What the store holds, in order."""
    found = bridge.ask(call("all", "memory_search", query="fact number", project="shop", limit=100))
    hits: list[dict[str, str]] = found["result"]["structuredContent"]["hits"]
    return sorted(hit["content"] for hit in hits)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_starts_the_process_and_is_served(where: Whereabouts, mode: str) -> None:
    async with Client(as_server(where.home), mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool(
            "memory_add", {"type": "design", "content": "We use SQLite.", "project": "shop"}
        )
        found = await client.call_tool("memory_search", {"query": "SQLite", "project": "shop"})

    assert {"memory_add", "memory_search", "backstory_help"} <= tools
    assert "We use SQLite." in json.dumps(found.structured_content)


def test_bridges_that_start_at_the_same_moment_start_one_process(where: Whereabouts) -> None:
    with ExitStack() as stack:
        bridges = [stack.enter_context(Bridge(where.home)) for _ in range(4)]
        for number, bridge in enumerate(bridges):
            bridge.send({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": INITIALIZE})
        answers = [bridge.receive() for bridge in bridges]

    assert [answer["id"] for answer in answers] == [0, 1, 2, 3]
    assert all("result" in answer for answer in answers)
    assert not (where.logs / "start.log").read_text()


def test_a_killed_process_is_replaced_under_all_its_bridges_and_nothing_is_lost_or_doubled(
    where: Whereabouts,
) -> None:
    with ExitStack() as stack:
        bridges = [stack.enter_context(Bridge(where.home)) for _ in range(BRIDGES)]
        eras = ["legacy" if number % 2 else "modern" for number in range(BRIDGES)]
        for bridge in bridges:
            bridge.open_session()
        first = _running(where)

        for turn in range(3):
            for number, bridge in enumerate(bridges):
                bridge.send(_add(turn * BRIDGES + number, eras[number]))
            # The process dies with some of the adds done, some begun and some on their way.
            acknowledged = bridges[turn].receive()
            with suppress(ProcessLookupError):
                os.kill(_running(where).pid, signal.SIGKILL)
            answers = [acknowledged] + [each.receive() for each in bridges if each is not bridges[turn]]
            assert not [answer for answer in answers if answer.get("result", {}).get("isError", True)]

        assert _contents(bridges[0]) == sorted(f"Fact number {number}." for number in range(3 * BRIDGES))
        assert _running(where).id != first.id


def test_a_process_that_was_asked_to_stop_is_started_again_by_the_next_request(where: Whereabouts) -> None:
    with Bridge(where.home) as bridge:
        bridge.open_session()
        first = _running(where)
        process = psutil.Process(first.pid)
        process.terminate()  # still stopping, perhaps, when the next request comes

        assert not bridge.ask(_add(1, "legacy"))["result"]["isError"]

        process.wait()
        assert not bridge.ask(_add(2, "legacy"))["result"]["isError"]
        assert _running(where).id != first.id


def test_no_process_is_left_behind_a_bridge_that_was_killed_in_a_call(where: Whereabouts) -> None:
    with Bridge(where.home, BACKSTORY_IDLE_STOP_S="1") as bridge:
        bridge.open_session()
        bridge.send(_add(1, "legacy"))
        bridge.process.kill()

    _await_the_end(where)
    assert running(where) is None
