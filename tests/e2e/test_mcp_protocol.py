"""What the server says of itself and its tools, and how long calls report, stop and fail."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, ListToolsResult

import backstory
from backstory.engine import Engine
from backstory.mcp.face import Face
from backstory.mcp.instructions import MOST_BYTES
from backstory.mcp.server import create_server
from backstory.mcp.tools import TOOLS
from backstory.model.kinds.catalogue import KINDS
from backstory.settings import read_settings
from backstory.wiring import open_engine
from tests.e2e.counting import Counting

pytestmark = pytest.mark.anyio

#: What the eight core tools, and all tools, may cost an agent, at four characters a token.
CORE_TOKENS = 2_800
ALL_TOKENS = 8_000

CORE = {
    "memory_search",
    "memory_add",
    "memory_update",
    "get_related",
    "search_conversations",
    "read_conversation",
    "get_context",
    "backstory_help",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One for all: nothing is written here."""
    home = tmp_path_factory.mktemp("home")
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})) as opened:
        yield opened


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def listed(engine: Engine, era: str, *toolsets: str) -> ListToolsResult:
    async with Client(create_server(Face(engine, toolsets=toolsets)), mode=era) as client:
        return await client.list_tools()


def names(tools: ListToolsResult) -> list[str]:
    return [tool.name for tool in tools.tools]


async def test_the_server_says_who_it_is(engine: Engine, era: str) -> None:
    async with Client(create_server(Face(engine)), mode=era) as client:
        info = client.server_info
        instructions = client.instructions

    assert info is not None
    assert (info.name, info.title, info.version) == ("backstory", "Backstory", backstory.__version__)
    assert instructions is not None
    assert len(instructions.encode()) < MOST_BYTES
    for word in (*KINDS, *CORE, "project"):
        assert word in instructions


async def test_the_core_toolset_is_always_offered_and_others_on_wish(engine: Engine, era: str) -> None:
    async def shown(*toolsets: str) -> set[str]:
        offered = names(await listed(engine, era, *toolsets))
        assert offered == [name for name in TOOLS if name in offered]  # always in the same order
        return set(offered)

    assert await shown() == CORE
    assert await shown("core") == CORE
    assert await shown("memory") == CORE | {
        "memory_get",
        "memory_delete",
        "memory_bulk_add",
        "memory_history",
        "memory_extract",
        "memory_consolidate",
        "working_memory",
    }
    assert await shown("maintenance") == CORE | {
        "memory_statistics",
        "ingest_documents",
        "export_memory",
        "import_memory",
    }
    assert await shown("conversations") == CORE | {
        "create_conversation",
        "add_turn",
        "summarize_conversation",
        "get_conversation_history",
        "update_conversation",
        "delete_conversation",
    }
    assert await shown("transcripts") == CORE | {
        "list_conversations",
        "read_turn",
        "conversation_index",
        "conversation_recall",
        "conversation_search",
        "conversation_stats",
        "conversation_export",
        "conversation_timeline",
    }
    assert await shown("all") == set(TOOLS)


async def test_the_list_of_tools_may_be_kept_by_the_client_for_itself(engine: Engine) -> None:
    tools = await listed(engine, "auto")

    assert tools.cache_scope == "private"
    assert tools.ttl_ms > 0


async def test_a_tool_that_is_not_listed_can_be_called(engine: Engine, era: str) -> None:
    async with Client(create_server(Face(engine)), mode=era) as client:
        result = await client.call_tool("memory_statistics", {})

    assert not result.is_error


async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_a_close_one(
    engine: Engine, era: str
) -> None:
    async with Client(create_server(Face(engine)), mode=era) as client:
        with pytest.raises(MCPError, match="memory_search") as raised:
            await client.call_tool("memory_serch", {"query": "x"})

    assert raised.value.code == INVALID_PARAMS


def schemas(value: object) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema; the names of properties are no keywords."""
    if isinstance(value, dict):
        yield value
        for key, each in value.items():
            for below in each.values() if key == "properties" else [each]:
                yield from schemas(below)


async def test_schemas_are_lean(engine: Engine, era: str) -> None:
    for tool in (await listed(engine, era, "all")).tools:
        assert tool.input_schema["additionalProperties"] is False
        for schema in [*schemas(tool.input_schema), *schemas(tool.output_schema)]:
            assert not {"title", "$ref", "$defs"} & set(schema)
            assert {"type": "null"} not in schema.get("anyOf", [])
            assert schema.get("default", 0) is not None


async def test_every_parameter_is_described_and_bounded(engine: Engine, era: str) -> None:
    bounds = {
        "string": "maxLength",
        "integer": "maximum",
        "number": "maximum",
        "array": "maxItems",
        "boolean": "type",
        "object": "type",  # how large it may be is counted in bytes, which a schema cannot say
    }
    for tool in (await listed(engine, era, "all")).tools:
        for schema in schemas(tool.input_schema):
            for parameter in schema.get("properties", {}).values():
                assert parameter["description"]
                assert "enum" in parameter or bounds[parameter["type"]] in parameter


@pytest.mark.parametrize(("toolset", "most"), [("core", CORE_TOKENS), ("all", ALL_TOKENS)])
async def test_tools_cost_an_agent_little(engine: Engine, era: str, toolset: str, most: int) -> None:
    seen = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in (await listed(engine, era, toolset)).tools
    ]

    assert len(json.dumps(seen)) / 4 < most


async def test_search_alone_is_shown_whole_to_an_agent_that_loads_tools_late(
    engine: Engine, era: str
) -> None:
    whole = {tool.name for tool in (await listed(engine, era, "all")).tools if tool.meta}

    assert whole == {"memory_search"}


async def test_annotations_are_honest(engine: Engine, era: str) -> None:
    hints = {tool.name: tool.annotations for tool in (await listed(engine, era, "all")).tools}

    writing = {name for name, each in hints.items() if each and not each.read_only_hint}
    assert writing == {
        "memory_add",
        "memory_update",
        "memory_bulk_add",
        "memory_delete",
        "memory_extract",
        "memory_consolidate",
        "ingest_documents",
        "export_memory",
        "import_memory",
        "conversation_index",
        "create_conversation",
        "add_turn",
        "summarize_conversation",
        "update_conversation",
        "delete_conversation",
    }
    destructive = {name for name, each in hints.items() if each and each.destructive_hint}
    assert destructive == {
        "memory_delete",
        "memory_consolidate",
        "import_memory",
        "delete_conversation",
    }
    idempotent = {name for name, each in hints.items() if each and each.idempotent_hint}
    assert idempotent == (destructive - {"memory_consolidate"}) | {
        "memory_update",
        "ingest_documents",
        "conversation_index",
        "create_conversation",
        "update_conversation",
    }
    assert all(each and each.open_world_hint is False for each in hints.values())


async def test_progress_reaches_the_client_now_and_then_and_at_the_end(engine: Engine, era: str) -> None:
    counting = Counting(engine, steps=2_000)
    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with Client(create_server(counting.face), mode=era) as client:
        result = await client.call_tool("count", {}, progress_callback=on_progress)

    assert result.structured_content == {"steps": 2_000}
    assert [seen[0], seen[-1]] == [(1, 2_000, "counted 1"), (2_000, 2_000, "counted 2000")]
    assert len(seen) < 500


async def test_a_cancelled_call_stops_its_work(engine: Engine, era: str) -> None:
    counting = Counting(engine, steps=None)

    async with Client(create_server(counting.face), mode=era) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "count", {})
            assert await to_thread.run_sync(counting.started.wait, 30)
            group.cancel_scope.cancel()
        assert await to_thread.run_sync(counting.ended.wait, 30)
        still_there = await client.call_tool("backstory_help", {})

    assert counting.calls[0].status == "cancelled"
    assert not still_there.is_error
