"""The life of a memory as an agent lives it: every step in a store that was closed and opened since the last.

What each tool does by itself, and what it refuses, is shown by the tests of that tool.
"""

import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from mcp import Client

from backstory.actions.memory.get import get_memory
from backstory.actions.memory.restore import restore_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.now import graph_of
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.graph import NodeRef, NodeType, Walk
from backstory.model.memory import Memory, MemoryId
from backstory.model.project import Project
from backstory.model.search import MemoryQuery
from backstory.ranking.memories import passage_of
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .calling import call, failure

pytestmark = pytest.mark.anyio

SHOP = Project("shop")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Agent:
    """Somebody who asks one thing and leaves: the store is opened for each call, and closed after it."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._settings = read_settings(
            {
                "BACKSTORY_HOME": str(home),
                "BACKSTORY_MIN_FREE_MB": "1",
                "BACKSTORY_ALLOWED_ROOTS": str(folder),
            }
        )

    @contextmanager
    def store(self) -> Iterator[Engine]:
        with open_engine(self._settings) as engine:
            yield engine

    async def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        with self.store() as engine:
            async with Client(create_server(_face(engine))) as client:
                return await call(client, tool, **arguments)

    async def refused(self, tool: str, **arguments: object) -> str:
        """What is said of a call that cannot be done."""
        with self.store() as engine:
            async with Client(create_server(_face(engine))) as client:
                return await failure(client, tool, arguments)

    async def found(self, query: str) -> list[str]:
        """The ids of what a search finds by words."""
        hits = (await self("memory_search", query=query))["hits"]
        return [hit["id"] for hit in hits if any("words" in by for by in hit["found_by"])]


def _face(engine: Engine) -> Face:
    return Face(engine, toolsets=("all",), default_project=SHOP.name)


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    return Agent(home, tmp_path)


async def test_a_memory_is_added_changed_found_forgotten_and_brought_back_over_restarts(agent: Agent) -> None:
    wanted = await agent(
        "memory_add",
        type="requirement",
        content="A payment that is sent twice is booked once.",
        metadata={"requirement_id": "REQ-SHOP-12"},
    )
    added = await agent(
        "memory_add",
        type="design",
        content="Retries wait one second.",
        metadata={"title": "Retries", "related_requirements": ["REQ-SHOP-12"]},
    )
    id = added["id"]

    assert (await agent("memory_get", id=id))["content"] == "Retries wait one second."
    assert await agent.found("how long do retries wait?") == [id]

    updated = await agent(
        "memory_update", id=id, content="Retries wait with jitter.", importance=0.9, expected_version=1
    )
    stale = await agent.refused("memory_update", id=id, content="Retries never wait.", expected_version=1)

    assert updated["version"] == 2
    assert "Retries wait one second." in stale
    assert "Retries wait with jitter." in stale
    shown = await agent("memory_get", id=id)
    assert (shown["content"], shown["importance"], shown["version"]) == ("Retries wait with jitter.", 0.9, 2)
    assert shown["metadata"] == {"title": "Retries", "related_requirements": ["REQ-SHOP-12"]}
    assert [each["id"] for each in shown["relationships"]] == [wanted["id"]]

    await agent("memory_delete", id=id)

    assert await agent.found("jitter") == []
    assert f"memory restore {id}" in await agent.refused("memory_get", id=id)
    assert (await agent("memory_get", id=wanted["id"]))["relationships"] == []

    with agent.store() as engine:
        restore_memory(engine, SHOP, id)

    assert await agent.found("jitter") == [id]
    again = await agent("memory_get", id=wanted["id"])
    assert [(each["id"], each["direction"]) for each in again["relationships"]] == [(id, "in")]
    steps = (await agent("memory_history", id=id))["steps"]
    assert [each["operation"] for each in steps] == ["restored", "deleted", "updated", "added"]
    assert steps[2]["changes"][0]["old"] == "Retries wait one second."


async def test_what_conflicts_is_told_merged_and_taken_apart_again_over_restarts(agent: Agent) -> None:
    tabs = await agent("memory_add", type="preference", content="Indent with tabs.", metadata=indent("tabs"))
    blanks = await agent(
        "memory_add", type="preference", content="Indent with blanks.", metadata=indent("blanks")
    )
    first = await agent("memory_add", type="design", content="Sessions are signed cookies.")
    second = await agent("memory_add", type="design", content="Sessions are signed cookies!")

    assert [(each["kind"], each["id"]) for each in blanks["conflicts"]] == [("contradiction", tabs["id"])]
    assert [(each["kind"], each["id"]) for each in second["conflicts"]] == [("duplicate", first["id"])]

    plan = await agent("memory_consolidate")
    assert len(await agent.found("signed cookies")) == 2
    done = await agent("memory_consolidate", dry_run=False)
    (merge,) = done["merges"]
    (kept,) = await agent.found("signed cookies")
    (gone,) = {first["id"], second["id"]} - {kept}

    assert plan["merges"][0]["keep"] == kept
    assert kept in await agent.refused("memory_get", id=gone)

    await agent("memory_consolidate", undo=merge["merge"])

    assert set(await agent.found("signed cookies")) == {first["id"], second["id"]}
    steps = (await agent("memory_history", id=kept))["steps"]
    assert [each["operation"] for each in steps] == ["unmerged", "merged", "added"]


def indent(value: str) -> dict[str, str]:
    return {"key": "indentation", "value": value, "scope": "Project"}


async def test_a_store_that_is_read_in_elsewhere_is_the_same_store(agent: Agent, tmp_path: Path) -> None:
    kept = (await agent("memory_add", type="design", content="Retries wait one second."))["id"]
    link = {"type": "RELATES_TO", "to": kept}
    gone = await agent("memory_add", type="design", content="Carts are kept.", relationships=[link])
    await agent("memory_update", id=kept, content="Retries wait with jitter.")
    await agent("memory_delete", id=gone["id"])
    alike = [await keep(agent, "design", f"Sessions are signed cookies{end}") for end in ".!"]
    (merge,) = (await agent("memory_consolidate", dry_run=False))["merges"]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    await agent("export_memory", path=str(first))

    other = Agent(tmp_path / "elsewhere", tmp_path)
    await other("import_memory", path=str(first))
    await other("export_memory", path=str(second))

    assert second.read_bytes() == first.read_bytes()
    assert await other.found("jitter") == [kept]
    with other.store() as engine:
        restore_memory(engine, SHOP, gone["id"])
    assert [each["id"] for each in (await other("memory_get", id=kept))["relationships"]] == [gone["id"]]
    await other("memory_consolidate", undo=merge["merge"])
    assert set(await other.found("signed cookies")) == set(alike)


async def test_what_implements_tests_and_explains_a_requirement_is_linked_with_it(agent: Agent) -> None:
    requirement = await keep(agent, "requirement", "Sent twice, booked once.", requirement_id="REQ-SHOP-12")
    pattern = await keep(agent, "code_pattern", "Calls carry a key.", pattern_name="keyed-calls")
    component = await keep(
        agent, "component", "Payments.", name="payments", dependencies=["orders"], base_pattern="keyed-calls"
    )
    await agent(
        "memory_update",
        id=requirement,
        metadata={"implementing_components": ["payments"], "status": "Verified"},
    )
    design = await keep(
        agent,
        "design",
        "The order's id is the key.",
        related_requirements=["REQ-SHOP-12"],
        affected_components=["payments"],
    )
    failed = await keep(
        agent,
        "test_history",
        "The test of refunds failed.",
        test_name="test_refunds",
        status="Failed",
        related_requirements=["REQ-SHOP-12"],
        affected_component="payments",
        fix_applied="The refund takes the order's lock first.",
    )
    orders = await keep(agent, "component", "Orders.", name="orders")

    assert await linked(agent, requirement) == {
        ("IMPLEMENTS_REQ", "in", component),
        ("RELATES_TO", "in", design),
        ("TESTS", "in", failed),
    }
    assert await linked(agent, component) == {
        ("IMPLEMENTS_REQ", "out", requirement),
        ("USES_PATTERN", "out", pattern),
        ("FOLLOWS_DESIGN", "out", design),
        ("TESTS", "in", failed),
        ("DEPENDS_ON", "out", orders),
    }
    with agent.store() as engine:
        walk = engine.graph.related(
            graph_of(engine, SHOP), [NodeRef(NodeType.PATTERN, pattern)], Walk(depth=2)
        )
    assert {(reached.node.memory_id, reached.depth) for reached in walk.nodes} == {
        (pattern, 0),
        (component, 1),
        *((each, 2) for each in (requirement, design, failed, orders)),
    }


async def keep(agent: Agent, type_: str, content: str, **metadata: object) -> str:
    return str((await agent("memory_add", type=type_, content=content, metadata=metadata))["id"])


async def linked(agent: Agent, id: str) -> set[tuple[str, str, str]]:
    links = (await agent("memory_get", id=id))["relationships"]
    return {(each["type"], each["direction"], each["id"]) for each in links}


async def test_every_id_is_a_uuid_of_version_4_also_of_what_was_sent_with_a_key(agent: Agent) -> None:
    one = await keep(agent, "design", "Retries wait.")
    many = await agent("memory_bulk_add", memories=[{"type": "design", "content": text} for text in "ab"])
    with agent.store() as engine:
        asked = {"type": "design", "content": "Carts are kept."}
        keyed = perform(_face(engine), "memory_add", asked, Caller(key="k"), Work()).structured

    assert keyed is not None
    ids = [one, keyed["id"], *(each["id"] for each in many["memories"])]
    assert {uuid.UUID(id).version for id in ids} == {4}


def test_what_was_kept_decades_ago_is_still_there(agent: Agent) -> None:
    long_ago = datetime(1986, 4, 26, tzinfo=UTC)
    id = MemoryId(str(uuid.uuid4()))
    memory = Memory(id, SHOP, "design", "Turbines run down slowly.", {}, 0.0, 1, long_ago, long_ago)
    with agent.store() as engine, engine.records.writing() as records:
        records.memories.add(memory, passage_of(memory))

    with agent.store() as engine:
        while upkeep(engine, Work()):
            pass

    with agent.store() as engine:
        assert get_memory(engine, SHOP, id).memory.content == memory.content
        assert [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery("turbines")).hits] == [id]


async def test_nothing_that_is_remembered_leaves_the_machine(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def connect(_: socket.socket, address: object) -> NoReturn:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)
    monkeypatch.setattr(socket.socket, "sendto", connect)

    id = await keep(agent, "design", "We decided that retries wait with jitter.")
    await agent("memory_update", id=id, importance=1.0)
    await agent("memory_extract", text="We decided to use uv for all packages from now on.")
    await agent("memory_consolidate", dry_run=False)

    assert await agent.found("why do clients wait?") == [id]
    assert tried == []
