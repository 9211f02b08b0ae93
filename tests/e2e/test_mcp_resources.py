"""Conversations read at their addresses, as a client of either era reads them."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.client import ConnectMode
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, TextResourceContents

from backstory.actions.conversations.add_turn import Said as Turn
from backstory.actions.conversations.add_turn import add_turn
from backstory.actions.conversations.change import delete_conversation
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.conversations.summarizing import summarize_now
from backstory.engine import Engine, LiveStorages
from backstory.errors import StoreCorrupt
from backstory.folders import project_of
from backstory.mcp.budget import MOST_TOKENS, USUAL_TOKENS, tokens
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.live import LiveConversation
from backstory.model.project import ALL_PROJECTS, Project
from backstory.wiring import open_engine
from tests.e2e.hosting import Client as HttpClient
from tests.e2e.hosting import hosted, settings_for
from tests.e2e.talk import BANK, MORNING, SHOP, Said, held, keep
from tests.e2e.test_mcp_http import connected

pytestmark = pytest.mark.anyio

ROOM = "!lobby/1:matrix.org"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> ConnectMode:
    mode: ConnectMode = request.param
    return mode


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store for tests that write nothing."""
    with open_engine(settings_for(tmp_path_factory.mktemp("empty"))) as opened:
        yield opened


@asynccontextmanager
async def reading(engine: Engine, era: ConnectMode) -> AsyncIterator[Client]:
    """A client whose project is the shop."""
    async with Client(create_server(Face(engine, default_project="shop")), mode=era) as client:
        yield client


async def read(client: Client, uri: str) -> dict[str, Any]:
    """What is at an address."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert (contents.uri, contents.mime_type) == (uri, "application/json")
    body: dict[str, Any] = json.loads(contents.text)
    return body


def begin(engine: Engine, room: str = ROOM, project: Project = SHOP) -> LiveConversation:
    """A live conversation in which nothing was said yet."""
    return create_conversation(engine, project, Wanted("matrix", room, title=room)).conversation


def say(engine: Engine, conversation: LiveConversation, *queries: str) -> None:
    for query in queries:
        add_turn(engine, ALL_PROJECTS, conversation.id, Turn(query, f"On {query}: yes.", "u1", "Ann"))


def ids(page: dict[str, Any]) -> list[str]:
    return [each["session_id"] for each in page["conversations"]]


async def test_the_list_has_live_conversations_and_transcripts_of_the_project(
    engine: Engine, era: ConnectMode
) -> None:
    keep(engine, held("parser", title="Fixing the parser"), Said("Fix it", "Done"))
    keep(engine, held("vault", project=BANK), Said("Open it"))
    live = begin(engine)
    say(engine, live, "lunch")

    async with reading(engine, era) as client:
        page = await read(client, "conversations://list")
        everywhere = await read(client, "conversations://list?project=*")

    assert ids(page) == [live.id, "parser"]
    assert page["total"] == 2
    assert [(each["is_live"], each.get("room_id")) for each in page["conversations"]] == [
        (True, ROOM),
        (False, None),
    ]
    assert set(ids(everywhere)) == {live.id, "parser", "vault"}


async def test_the_list_is_filtered_and_paged_by_its_next_links(engine: Engine, era: ConnectMode) -> None:
    for day in range(5):
        keep(engine, held(f"day-{day}", began=MORNING + timedelta(days=day)), Said("Hello"))
    keep(engine, held("other", interface_type="codex", began=MORNING + timedelta(days=1)), Said("Hello"))
    span = "from=2026-03-03&to=2026-03-05"
    uri: str | None = f"conversations://list?interface_type=claude-code&{span}&limit=2"

    pages = []
    async with reading(engine, era) as client:
        while uri:
            pages.append(await read(client, uri))
            uri = pages[-1].get("next")

    assert [ids(page) for page in pages] == [["day-3", "day-2"], ["day-1"]]
    assert {page["total"] for page in pages} == {3}


async def test_recent_gives_those_that_were_held_last(engine: Engine, era: ConnectMode) -> None:
    for day in range(12):
        keep(engine, held(f"day-{day}", began=MORNING + timedelta(days=day)), Said("Hello"))

    async with reading(engine, era) as client:
        default = await read(client, "conversations://recent")
        few = await read(client, "conversations://recent?limit=2")

    assert ids(default) == [f"day-{day}" for day in range(11, 1, -1)]
    assert ids(few) == ["day-11", "day-10"]


async def test_a_room_has_its_conversations_and_no_others(engine: Engine, era: ConnectMode) -> None:
    live, elsewhere = begin(engine), begin(engine, room="#other")
    begin(engine, project=BANK)

    async with reading(engine, era) as client:
        encoded = await read(client, "conversations://room/%21lobby%2F1%3Amatrix.org")
        plain = await read(client, f"conversations://room/{ROOM}")
        other = await read(client, "conversations://room/%23other")
        empty = await read(client, "conversations://room/nobody")

    assert ids(encoded) == ids(plain) == [live.id]
    assert ids(other) == [elsewhere.id]
    assert empty == {"total": 0, "conversations": []}


async def test_a_live_conversation_is_read_with_all_that_is_known_of_it(
    engine: Engine, era: ConnectMode
) -> None:
    live = create_conversation(engine, SHOP, Wanted("cli", "1", "Plans", {"team": "blue"})).conversation
    first = add_turn(
        engine, SHOP, live.id, Turn("What now?", "Lunch.", "u1", "Ann", metadata={"mood": "good"})
    ).turn
    second = add_turn(engine, SHOP, live.id, Turn("And then?", parent=first.id)).turn
    summarize_now(engine, SHOP, live.id)

    async with reading(engine, era) as client:
        page = await read(client, f"conversations://get/{live.id}")

    assert (page["session_id"], page["title"], page["metadata"]) == (live.id, "Plans", {"team": "blue"})
    assert (page["is_live"], page["room_id"], page["total_turns"]) == (True, "1", 2)
    (summary,) = page["summaries"]
    assert (summary["first_turn"], summary["last_turn"]) == (1, 2)
    when = [turn.pop("timestamp") for turn in page["turns"]]
    assert len(when) == 2
    assert page["turns"] == [
        {
            "turn_number": 1,
            "user_text": "What now?",
            "assistant_text": "Lunch.",
            "turn_id": first.id,
            "user_id": "u1",
            "user_name": "Ann",
            "metadata": {"mood": "good"},
        },
        {
            "turn_number": 2,
            "user_text": "And then?",
            "turn_id": second.id,
            "parent_turn_id": first.id,
            "thread_id": first.id,
        },
    ]


async def test_a_conversation_is_paged_by_its_next_links(engine: Engine, era: ConnectMode) -> None:
    live = begin(engine)
    say(engine, live, *(f"question {number}" for number in range(1, 6)))
    keep(engine, held("parser"), *(Said(f"Step {number}") for number in range(1, 6)))

    async def turns(client: Client, id: str) -> list[list[int]]:
        pages: list[list[int]] = []
        uri: str | None = f"conversations://get/{id}?limit=2"
        while uri:
            page = await read(client, uri)
            pages.append([turn["turn_number"] for turn in page["turns"]])
            uri = page.get("next")
        return pages

    async with reading(engine, era) as client:
        assert await turns(client, live.id) == [[1, 2], [3, 4], [5]]
        assert await turns(client, "parser") == [[1, 2], [3, 4], [5]]


async def test_no_page_is_longer_than_an_answer_may_be(engine: Engine, era: ConnectMode) -> None:
    live = begin(engine)
    add_turn(engine, SHOP, live.id, Turn("long words " * 50_000, "short"))

    async with reading(engine, era) as client:
        page = await read(client, f"conversations://get/{live.id}")

    assert tokens(json.dumps(page)) < MOST_TOKENS
    assert page["turns"][0]["shortened"] == ["user_text"]


async def test_metadata_gives_way_where_a_page_is_too_long_and_is_whole_where_a_turn_is_read_alone(
    engine: Engine, era: ConnectMode
) -> None:
    live = begin(engine)
    metadata = {"log": 'a "quoted" word, ' * 500}
    for number in range(30):
        add_turn(engine, SHOP, live.id, Turn(f"Step {number}", metadata=metadata))
    add_turn(engine, SHOP, live.id, Turn("The last step", metadata={"step": "last"}))

    async with reading(engine, era) as client:
        page = await read(client, f"conversations://get/{live.id}?limit=100")
        alone = await read(client, f"conversations://get/{live.id}?limit=1")

    assert tokens(json.dumps(page)) < USUAL_TOKENS
    assert [turn.get("metadata") for turn in page["turns"]] == [*([None] * 30), {"step": "last"}]
    assert page["turns"][0]["shortened"] == ["metadata"]
    assert any("limit=1" in note for note in page["notes"])
    assert alone["turns"][0]["metadata"] == metadata
    assert "shortened" not in alone["turns"][0]


async def test_a_hit_of_a_search_leads_to_its_turn(engine: Engine, era: ConnectMode) -> None:
    keep(engine, held("vault", project=BANK), Said("The jittered backoff of the bank"))
    live = begin(engine)
    say(engine, live, "lunch", "jittered backoff")

    async with reading(engine, era) as client:
        found = await read(client, "conversations://search?query=jittered%20backoff&limit=1")
        turn = await read(client, found["hits"][0]["uri"])
        following = await read(client, found["next"]) if "next" in found else {"hits": []}

    (hit,) = found["hits"]
    assert (hit["session_id"], hit["turn_number"]) == (live.id, 2)
    assert [each["user_text"] for each in turn["turns"]] == ["jittered backoff"]
    assert "vault" not in [each["session_id"] for each in following["hits"]]


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("conversations://list?limit=many", "whole number"),
        ("conversations://list?limt=3", "limit"),
        ("conversations://list?from=yesterday", "2026-03-01"),
        ("conversations://list?cursor=abc", "cursor"),
        ("conversations://list/all", "conversations://list{?"),
        ("conversations://get/", "`id`"),
        ("conversations://get/nobody", "list_conversations"),
        ("conversations://get/x?offset=-1", "0 to"),
        ("conversations://search", "`query` is missing"),
        ("conversations://rooms/1", "conversations://room/{roomId}"),
        ("conversations://", "conversations://get/{id}"),
        ("conversations://get/%ff", "UTF-8"),
        ("conversations://schema/design", "backstory://schema/{type}"),
        ("elsewhere://list", "elsewhere://list"),
    ],
)
async def test_a_mistake_is_an_error_of_the_protocol_that_says_what_to_do(
    empty: Engine, era: ConnectMode, uri: str, told: str
) -> None:
    async with reading(empty, era) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)

    assert raised.value.code == INVALID_PARAMS
    assert told in raised.value.message
    assert raised.value.data == {"uri": uri}


async def test_a_deleted_conversation_is_nowhere(engine: Engine, era: ConnectMode) -> None:
    live = begin(engine)
    say(engine, live, "lunch")
    delete_conversation(engine, SHOP, live.id)

    async with reading(engine, era) as client:
        with pytest.raises(MCPError):
            await client.read_resource(f"conversations://get/{live.id}")
        page = await read(client, "conversations://list")

    assert ids(page) == []


class Broken:
    """A storage that cannot be read."""

    def __getattr__(self, name: str) -> Any:
        raise StoreCorrupt("line 7 is damaged", hint="take it from a backup")


async def test_a_transcript_is_read_although_the_storage_of_live_conversations_is_broken(
    engine: Engine, era: ConnectMode
) -> None:
    keep(engine, held("parser"), Said("Fix it"))
    broken = replace(engine, live=LiveStorages(lambda _: Broken(), "broken"))

    async with reading(broken, era) as client:
        assert (await read(client, "conversations://get/parser"))["total_turns"] == 1
        with pytest.raises(MCPError, match="take it from a backup") as raised:
            await client.read_resource("conversations://get/other")

    assert raised.value.code == INTERNAL_ERROR


async def test_another_project_s_conversation_is_read_only_if_that_is_asked_for(
    engine: Engine, era: ConnectMode
) -> None:
    live = begin(engine, project=BANK)
    keep(engine, held("vault", project=BANK), Said("Open it"))

    async with reading(engine, era) as client:
        for id in (live.id, "vault"):
            with pytest.raises(MCPError):
                await client.read_resource(f"conversations://get/{id}")
            assert (await read(client, f"conversations://get/{id}?project=bank"))["session_id"] == id


async def test_resources_are_the_entrances_and_the_conversations_of_the_project(
    engine: Engine, era: ConnectMode
) -> None:
    for number in range(60):
        keep(engine, held(f"talk-{number:02}", title=f"Talk {number}"), Said("Hello"))
    keep(engine, held("vault", project=BANK), Said("Open it"))

    async with reading(engine, era) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        everything = [*first.resources, *second.resources]
        for resource in everything:
            await read(client, resource.uri)

    assert [each.uri for each in everything[:4]] == [
        "conversations://list",
        "conversations://recent",
        "backstory://schema",
        "backstory://working",
    ]
    named = {each.name: each.title for each in everything[4:]}
    assert named == {f"talk-{number:02}": f"Talk {number}" for number in range(60)}
    assert second.next_cursor is None


async def test_a_cursor_of_something_else_lists_no_resources(empty: Engine, era: ConnectMode) -> None:
    async with reading(empty, era) as client:
        with pytest.raises(MCPError) as raised:
            await client.list_resources(cursor="x")

    assert raised.value.code == INVALID_PARAMS


async def test_templates_say_how_addresses_are_made(empty: Engine, era: ConnectMode) -> None:
    async with reading(empty, era) as client:
        templates = (await client.list_resource_templates()).resource_templates

    kinds = [each.uri_template.split("://")[1].split("{")[0] for each in templates]
    assert kinds == ["list", "recent", "get/", "room/", "search", "schema/", "working"]
    assert all(each.description and each.title for each in templates)
    assert {each.mime_type for each in templates} == {"application/json"}


async def test_what_is_read_may_not_be_kept_by_clients_for_others(empty: Engine) -> None:
    async with reading(empty, "auto") as client:
        result = await client.read_resource("conversations://recent")

    assert (result.cache_scope, result.ttl_ms) == ("private", 0)


async def test_over_http_the_project_is_that_of_the_caller_s_folder(
    engine: Engine, home: Path, tmp_path: Path, era: ConnectMode
) -> None:
    live = begin(engine, project=project_of(tmp_path))
    begin(engine)

    async def listed(client: HttpClient, **headers: str) -> list[str]:
        async with connected(client, era, **headers) as connection:
            page = await read(connection, "conversations://list")
            assert f"conversations://get/{live.id}" in [
                each.uri for each in (await connection.list_resources()).resources
            ]
        return ids(page)

    with hosted(engine, settings_for(home)) as (_, client):
        assert await listed(client, **{"Backstory-Directory": str(tmp_path)}) == [live.id]


async def test_the_last_thing_said_is_first_whatever_kind_it_is(engine: Engine, era: ConnectMode) -> None:
    live = begin(engine)
    later = datetime.now(UTC) + timedelta(hours=1)
    keep(engine, held("parser", began=later), Said("Fix it"))

    async with reading(engine, era) as client:
        before = ids(await read(client, "conversations://recent"))
        add_turn(engine, SHOP, live.id, Turn("lunch", at=later + timedelta(hours=1)))
        after = ids(await read(client, "conversations://recent"))

    assert (before, after) == (["parser", live.id], [live.id, "parser"])
