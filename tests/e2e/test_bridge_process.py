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
from tests.e2e.bridges import INITIALIZE, LISTED_ANEW, Answer, Bridge, as_server, call, request

BRIDGES = 10

UPDATED = "notifications/resources/updated"


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
            acknowledged = bridges[turn].answer()
            with suppress(ProcessLookupError):
                os.kill(_running(where).pid, signal.SIGKILL)
            answers = [acknowledged] + [each.answer() for each in bridges if each is not bridges[turn]]
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


class Watching:
    """A client behind a bridge that watches a conversation."""

    def __init__(self, bridge: Bridge, era: str) -> None:
        self.bridge = bridge
        self.era = era
        self.heard: list[Answer] = []
        if era == "legacy":
            bridge.open_session()
        created = self.ask("create_conversation", interface_type="cli", room_id="1", project="shop")
        self.id = created["structuredContent"]["conversation_id"]
        self.uri = f"conversations://get/{self.id}"
        if era == "legacy":
            self._await("sub", request("sub", "resources/subscribe", era, uri=self.uri))
        else:
            bridge.send(request("sub", "subscriptions/listen", notifications=self.wanted))
            assert bridge.receive()["method"] == "notifications/subscriptions/acknowledged"
        self.heard = []

    @property
    def wanted(self) -> Answer:
        return {"resourceSubscriptions": [self.uri], "resourcesListChanged": True}

    def ask(self, tool: str, **arguments: object) -> Answer:
        """What a tool answers; what is heard meanwhile is kept."""
        return self._await(tool, call(tool, tool, self.era, **arguments))

    def _await(self, id: str, message: Answer) -> Answer:
        self.bridge.send(message)
        while (answer := self.bridge.receive()).get("id") != id:
            self.heard.append(answer)
        result: Answer = answer["result"]
        return result

    def grow(self) -> None:
        """Write turns until one is heard of, which may be before or after its answer."""
        self.heard = []
        while UPDATED not in self.methods:
            self.ask("add_turn", conversation_id=self.id, query="What now?", project="shop")
        assert {each["params"].get("uri") for each in self.heard} <= {self.uri, None}

    @property
    def methods(self) -> set[str]:
        return {each["method"] for each in self.heard}


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_who_watches_a_conversation_hears_of_it_through_the_bridge_and_over_a_restart(
    where: Whereabouts, era: str
) -> None:
    with Bridge(where.home) as bridge:
        watching = Watching(bridge, era)
        watching.grow()

        os.kill(_running(where).pid, signal.SIGKILL)
        watching.heard = []
        watching.ask("backstory_help")  # for this the process is started again
        # What happened meanwhile was told to nobody, so all that is watched may be different.
        while watching.methods != {LISTED_ANEW, UPDATED}:
            watching.heard.append(bridge.receive())
        watching.grow()
