"""The tools as an agent calls them: through a real client, in both protocol eras, on embedded engines."""

import json
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from backstory.actions.memory.add import add_memory
from backstory.engine import Engine, Work
from backstory.mcp.answers import MOST_RELATED
from backstory.mcp.budget import MOST_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.graph import RelationshipType
from backstory.model.memory import NewMemory, Relationship
from backstory.model.project import Project

from .calling import call, failure, text_of
from .doubles import Unreliable
from .samples import least

pytestmark = pytest.mark.anyio

Connecting = AbstractAsyncContextManager[Client]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def face(engine: Engine) -> Face:
    return Face(engine, toolsets=("all",), default_project="shop")


@pytest.fixture
def connecting(face: Face, era: str) -> Connecting:
    return Client(create_server(face), mode=era)


async def remember(client: Client, content: str, **fields: object) -> str:
    asked: dict[str, Any] = {"type": "design", "content": content, **fields}
    if needed := least(asked["type"]):
        asked["metadata"] = {**needed, **asked.get("metadata", {})}
    added = await call(client, "memory_add", **asked)
    return str(added["id"])


async def found(client: Client, query: str, **filters: object) -> list[str]:
    return [hit["id"] for hit in (await call(client, "memory_search", query=query, **filters))["hits"]]


async def test_an_added_memory_is_found_and_read(connecting: Connecting) -> None:
    async with connecting as client:
        added = await call(
            client, "memory_add", type="design", content="Retries use jitter.", metadata={"title": "Retries"}
        )
        (hit,) = (await call(client, "memory_search", query="jitter"))["hits"]
        shown = await call(client, "memory_get", id=added["id"])

    assert set(added) == {"id", "type", "project", "version", "created_at"}
    assert (added["project"], added["version"]) == ("shop", 1)
    assert (hit["id"], hit["content"], hit["metadata"]) == (
        added["id"],
        "Retries use jitter.",
        {"title": "Retries"},
    )
    assert "words" in hit["found_by"]
    assert (shown["content"], shown["created_at"]) == ("Retries use jitter.", added["created_at"])
    assert shown["relationships"] == []


async def test_relationships_are_seen_from_both_ends(connecting: Connecting) -> None:
    async with connecting as client:
        old = await remember(client, "Payments must be idempotent.", type="requirement")
        new = await remember(
            client, "Payments carry a key.", relationships=[{"type": "IMPLEMENTS_REQ", "to": old}]
        )
        from_new = await call(client, "memory_get", id=new)
        from_old = await call(client, "memory_get", id=old)

    link = {"type": "IMPLEMENTS_REQ", "memory_type": "requirement", "title": "Payments must be idempotent."}
    assert from_new["relationships"] == [{**link, "direction": "out", "id": old}]
    assert from_old["relationships"][0]["direction"] == "in"
    assert from_old["relationships"][0]["id"] == new


async def test_a_deleted_memory_is_not_found_and_deleting_again_answers_alike(connecting: Connecting) -> None:
    async with connecting as client:
        id = await remember(client, "Retries use jitter.")
        first = await call(client, "memory_delete", id=id)
        again = await call(client, "memory_delete", id=id)

        assert await found(client, "jitter") == []
        assert "Hint:" in await failure(client, "memory_get", {"id": id})
    assert first == again
    assert first["id"] == id


async def test_search_filters_by_type_session_metadata_and_time(connecting: Connecting) -> None:
    async with connecting as client:
        wanted = await remember(client, "Retries use jitter.", metadata={"session_id": "s1", "area": "net"})
        other = await remember(client, "Retries are logged.", type="requirement")
        both = {wanted, other}

        assert await found(client, "retries", types=["design"]) == [wanted]
        assert await found(client, "retries", session_id="s1") == [wanted]
        assert await found(client, "retries", metadata={"area": "net"}) == [wanted]
        assert await found(client, "retries", metadata={"area": "disk"}) == []
        assert set(await found(client, "retries", **{"from": "2020-01-01"})) == both
        assert await found(client, "retries", **{"from": "2999-01-01T00:00:00Z"}) == []
        assert await found(client, "retries", to="2020-01-01") == []


async def test_a_date_as_the_end_includes_its_day(connecting: Connecting) -> None:
    async with connecting as client:
        added = await call(client, "memory_add", type="design", content="Retries use jitter.")
        day = str(added["created_at"])[:10]

        assert await found(client, "retries", to=day) == [added["id"]]
        assert await found(client, "retries", **{"from": day, "to": day}) == [added["id"]]


async def test_null_means_not_given_and_json_texts_are_read(connecting: Connecting) -> None:
    async with connecting as client:
        id = await remember(client, "Retries use jitter.", metadata='{"area": "net"}', project=None)

        assert await found(client, "jitter", types='["design"]', limit=None, cursor=None) == [id]
        assert await found(client, "jitter", metadata={"area": "net"}) == [id]


async def test_projects_do_not_leak(connecting: Connecting) -> None:
    async with connecting as client:
        here = await remember(client, "Retries use jitter.")
        there = await remember(client, "Retries use jitter, says the bank.", project="bank")

        assert await found(client, "retries jitter") == [here]
        assert await found(client, "retries jitter", project="bank") == [there]
        assert set(await found(client, "retries jitter", project="*")) == {here, there}
        assert "no memory" in await failure(client, "memory_get", {"id": there})
        assert "no memory" in await failure(client, "memory_delete", {"id": there})
        assert (await call(client, "memory_get", id=there, project="*"))["project"] == "bank"
        assert (await call(client, "memory_statistics"))["total"] == 1
        assert (await call(client, "memory_statistics", project="*"))["total"] == 2
        link = [{"type": "RELATES_TO", "to": there}]
        asked: dict[str, object] = {"type": "design", "content": "Linked.", "relationships": link}
        assert "not in project shop" in await failure(client, "memory_add", asked)


@pytest.mark.parametrize("tool", ["memory_add", "memory_delete"])
async def test_nothing_is_written_to_all_projects(connecting: Connecting, tool: str) -> None:
    arguments: dict[str, object] = {"project": "*"}
    arguments |= {"id": "x"} if tool == "memory_delete" else {"type": "design", "content": "x"}
    async with connecting as client:
        assert "one project" in await failure(client, tool, arguments)


def test_the_project_is_that_of_the_caller_s_folder_unless_one_is_named(face: Face, tmp_path: Path) -> None:
    caller = Caller(directory=tmp_path)
    asked = {"type": "design", "content": "Retries use jitter."}

    def project(**named: str) -> object:
        added = perform(face, "memory_add", {**asked, **named}, caller, Work()).structured
        return added and added["project"]

    assert project() == str(tmp_path)
    assert project(project="bank") == "bank"
    assert project(project="./inner") == str(tmp_path / "inner")
    assert project(project="/elsewhere") == "/elsewhere"


def test_a_call_that_is_sent_again_adds_once(face: Face) -> None:
    asked = {"type": "design", "content": "Retries use jitter."}

    first = perform(face, "memory_add", asked, Caller(key="k"), Work())
    again = perform(face, "memory_add", asked, Caller(key="k"), Work())
    other = perform(face, "memory_add", asked, Caller(key="l"), Work())

    assert first.structured == again.structured
    assert first.structured != other.structured


async def test_a_mistake_is_answered_with_what_is_allowed_and_a_hint(connecting: Connecting) -> None:
    async with connecting as client:
        told = await failure(client, "memory_add", {"type": "desing", "content": "x"})

    assert told.startswith('`type` is "desing", and must be one of: code_pattern, component,')
    assert told.endswith("\nHint: did you mean design?")


async def test_an_unexpected_failure_tells_the_client_nothing_of_it(
    connecting: Connecting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret path /etc/x")

    monkeypatch.setattr("backstory.mcp.tools.memory.search_memories", broken)
    async with connecting as client:
        told = await failure(client, "memory_search", {"query": "x"})

    assert "memory_search failed unexpectedly; see the log" in told
    assert "secret" not in told


async def test_nothing_that_a_user_wrote_is_logged(
    connecting: Connecting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("xyzzy")

    caplog.set_level(logging.INFO)
    async with connecting as client:
        await remember(client, "xyzzy", metadata={"xyzzy": "xyzzy"})
        await found(client, "xyzzy")
        await failure(client, "memory_get", {"id": "xyzzy"})
        await failure(client, "memory_add", {"type": "xyzzy", "xyzzy": "xyzzy"})
        monkeypatch.setattr("backstory.mcp.tools.memory.search_memories", broken)
        await failure(client, "memory_search", {"query": "xyzzy"})

    assert "xyzzy" not in caplog.text


async def test_a_cursor_of_another_search_is_refused(connecting: Connecting) -> None:
    async with connecting as client:
        for number in range(3):
            await remember(client, f"Retries, part {number}.")
        first = await call(client, "memory_search", query="retries", limit=2)
        other = {"query": "part", "limit": 2, "cursor": first["next_cursor"]}

        assert "another search" in await failure(client, "memory_search", other)
        elsewhere = {"query": "retries", "project": "bank", "cursor": first["next_cursor"]}
        assert "another search" in await failure(client, "memory_search", elsewhere)


async def test_pages_are_not_shifted_by_what_is_added_meanwhile(connecting: Connecting) -> None:
    async with connecting as client:
        old = {await remember(client, f"Retries, part {number}.") for number in range(4)}
        first = await call(client, "memory_search", query="retries", limit=2)
        await remember(client, "Retries! Retries! Retries!")
        second = await call(client, "memory_search", query="retries", limit=2, cursor=first["next_cursor"])

    assert {hit["id"] for hit in [*first["hits"], *second["hits"]]} == old
    assert "next_cursor" not in second


async def test_long_hits_are_shortened_and_can_be_read_whole(connecting: Connecting, engine: Engine) -> None:
    long, short = "Retries use jitter. " * 2_000, "Retries are logged."
    async with connecting as client:
        ids = [await remember(client, long) for _ in range(3)]
        last = await remember(client, short)
        result = await client.call_tool("memory_search", {"query": "retries"})
        answer = result.structured_content or {}
        page = await call(client, "memory_get", id=ids[0])
        pages = str(page["content"])
        while "next_offset" in page:
            page = await call(client, "memory_get", id=ids[0], offset=page["next_offset"])
            pages += page["content"]

    contents = {hit["id"]: hit["content"] for hit in answer["hits"]}
    assert contents[last] == short
    assert all(hit["shortened"] == ["content"] for hit in answer["hits"] if hit["id"] in ids)
    assert "memory_get" in answer["notes"][0]
    assert len(json.dumps(answer, ensure_ascii=False)) < 50_000
    assert len(text_of(result)) < 50_000
    assert pages == long


@pytest.mark.parametrize("letter", ["a", "あ", '"', "\x01"])
async def test_no_answer_exceeds_the_most_tokens(face: Face, letter: str) -> None:
    metadata = {f"k{number}": letter * 9_000 for number in range(2 if letter == "あ" else 1)}
    added = [
        add_memory(face.engine, Project("shop"), NewMemory("design", f"retries {letter * 49_000}", metadata))
        for _ in range(8)
    ]

    for tool, arguments in (
        ("memory_search", {"query": "retries", "limit": 100}),
        ("memory_get", {"id": added[0].memory.id}),
    ):
        outcome = perform(face, tool, arguments, Caller(), Work())
        assert outcome.error is None
        assert tokens(outcome.text) < MOST_TOKENS
        assert tokens(json.dumps(outcome.structured, ensure_ascii=False)) < MOST_TOKENS


def test_an_outage_is_said_in_the_answers(face: Face) -> None:
    vectors = Unreliable(face.engine.vectors)
    vectors.down = True
    down = replace(face, engine=replace(face.engine, vectors=vectors))
    asked = {"type": "design", "content": "Retries use jitter."}

    added = perform(down, "memory_add", asked, Caller(), Work())
    searched = perform(down, "memory_search", {"query": "jitter"}, Caller(), Work())

    assert added.structured is not None
    assert searched.structured is not None
    (pending,), (degraded,) = added.structured["pending"], searched.structured["degraded"]
    assert pending in added.text
    assert degraded in searched.text
    assert [hit["id"] for hit in searched.structured["hits"]] == [added.structured["id"]]


def test_of_very_many_links_some_are_shown_and_that_is_said(face: Face) -> None:
    shop = Project("shop")
    hub = add_memory(face.engine, shop, NewMemory("component", "The hub.", {"name": "Hub"})).memory.id
    link = [Relationship(RelationshipType.DEPENDS_ON, hub)]
    for number in range(MOST_RELATED + 1):
        new = NewMemory("component", f"Part {number}.", {"name": f"Part {number}"}, relationships=link)
        add_memory(face.engine, shop, new)

    answer = perform(face, "memory_get", {"id": hub}, Caller(), Work()).structured

    assert answer is not None
    assert len(answer["relationships"]) == MOST_RELATED
    assert answer["notes"] == [f"{MOST_RELATED} of {MOST_RELATED + 1} relationships are shown"]


async def test_statistics_tell_of_the_store_and_of_calls(connecting: Connecting) -> None:
    async with connecting as client:
        id = await remember(client, "Retries use jitter.")
        await remember(client, "Sessions end.", type="requirement")
        await call(client, "memory_delete", id=id)
        told = await call(client, "memory_statistics")

    assert (told["total"], told["memories"], told["deleted"]) == (1, {"requirement": 1}, 1)
    assert told["index"]["healthy"] is True
    assert told["storage_bytes"]["backstory.db"] > 0
    assert [each["operation"] for each in told["recent"]] == ["deleted", "added", "added"]
    assert told["calls"]["memory_add"]["count"] == 2
    assert told["calls"]["memory_add"]["p95_ms"] >= told["calls"]["memory_add"]["p50_ms"] > 0
    assert told["embedding_cache"]["misses"] > 0


async def test_help_has_a_text_for_every_topic(connecting: Connecting) -> None:
    async with connecting as client:
        overview = await call(client, "backstory_help")
        texts = [(await call(client, "backstory_help", topic=each))["text"] for each in overview["topics"]]

    assert overview["topics"] == [
        "overview",
        "memory",
        "types",
        "schemas",
        "tools",
        "projects",
        "search",
        "conversations",
        "live",
        "errors",
    ]
    assert texts[0] == overview["text"]
    assert all(texts)


async def test_a_hundred_calls_at_once_are_all_answered(connecting: Connecting) -> None:
    ids: set[str] = set()

    async def add(number: int) -> None:
        ids.add(await remember(client, f"Fact number {number}."))

    async with connecting as client:
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(add, number)
        told = await call(client, "memory_statistics")

    assert len(ids) == told["total"] == 100
