"""Changing memories as an agent does: through a real client, on embedded engines."""

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.update import update_memory
from backstory.engine import Engine, Work
from backstory.mcp.answers import MOST_CONFLICTS
from backstory.mcp.budget import MOST_TOKENS, USUAL_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.memory import MemoryChange, NewMemory
from backstory.model.project import Project

from .calling import call, failure
from .doubles import Choosy, Unreliable
from .hosting import whole
from .samples import least

pytestmark = pytest.mark.anyio

SHOP = Project("shop")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def face(engine: Engine) -> Face:
    return Face(engine, toolsets=("memory",), default_project="shop")


@pytest.fixture
async def client(face: Face) -> AsyncIterator[Client]:
    async with Client(create_server(face)) as connected:
        yield connected


async def remember(client: Client, content: str, type_: str = "design", **metadata: object) -> str:
    needed = {**least(type_), **metadata}
    return str((await call(client, "memory_add", type=type_, content=content, metadata=needed))["id"])


def answer(face: Face, tool: str, **arguments: object) -> dict[str, Any]:
    outcome = perform(face, tool, arguments, Caller(), Work())
    assert outcome.structured is not None, outcome.text
    assert tokens(outcome.text) < MOST_TOKENS
    assert tokens(json.dumps(outcome.structured, ensure_ascii=False)) < MOST_TOKENS
    return outcome.structured


async def test_a_memory_is_changed_in_place_and_what_it_was_is_in_its_history(client: Client) -> None:
    other = await remember(client, "Sessions live in Redis.")
    id = await remember(client, "Deploys happen on Fridays.", title="Deploys", area="ops")

    updated = await call(
        client,
        "memory_update",
        id=id,
        content="Deploys happen on Mondays.",
        metadata={"area": None, "by": "CI"},
        importance=0.9,
        relationships=[{"type": "RELATES_TO", "to": other}],
        expected_version=1,
    )
    shown = await call(client, "memory_get", id=id)
    history = await call(client, "memory_history", id=id)

    assert (updated["id"], updated["type"], updated["project"]) == (id, "design", "shop")
    assert (updated["version"], updated["importance"]) == (2, 0.9)
    assert updated["content"] == shown["content"] == "Deploys happen on Mondays."
    assert updated["metadata"] == shown["metadata"] == {"title": "Deploys", "by": "CI"}
    assert [each["id"] for each in shown["relationships"]] == [other]
    assert [each["operation"] for each in history["steps"]] == ["updated", "added"]
    assert history["steps"][0]["changes"] == [
        {
            "field": "content",
            "mark": "changed",
            "old": "Deploys happen on Fridays.",
            "words": "Deploys happen on [-Fridays-]{+Mondays+}.",
        },
        {"field": "importance", "mark": "changed", "old": 0.5, "new": 0.9},
        {"field": "metadata.by", "mark": "added", "new": "CI"},
        {"field": "metadata.area", "mark": "removed", "old": "ops"},
    ]
    assert history["steps"][0]["details"] == {"linked": [f"RELATES_TO {other}"]}


async def test_a_stale_update_shows_both_versions_and_writes_nothing(client: Client) -> None:
    id = await remember(client, "Deploys happen on Fridays.")
    await call(client, "memory_update", id=id, content="Deploys happen on Mondays.")

    told = await failure(client, "memory_update", {"id": id, "content": "Daily.", "expected_version": 1})

    assert "expected, version 1: Deploys happen on Fridays." in told
    assert "present, version 2: Deploys happen on Mondays." in told
    assert "[-Fridays-]{+Mondays+}" in told
    assert "\nHint: " in told
    assert (await call(client, "memory_get", id=id))["version"] == 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({}, "changes nothing"),
        ({"content": ""}, "`content`"),
        ({"content": "x" * 50_001}, "`content` is a text of 50,001 characters"),
        ({"importance": 2}, "`importance` is 2, and must be a number from 0 to 1"),
        ({"metadata": {"status": "Maybe"}}, "status must be one of Proposed, Accepted"),
        ({"metadata": ["a"]}, "`metadata`"),
        ({"relationships": [{"type": "LIKES", "to": "x"}]}, "`relationships[0].type`"),
        ({"relationships": [{"type": "CALLS", "to": "x"}]}, "the memory to be linked, x, is not in project"),
        ({"expected_version": 0}, "`expected_version` is 0"),
        ({"type": "design"}, "there is no argument `type`"),
        ({"project": "*", "content": "x"}, "one project"),
        ({"project": "bank", "content": "x"}, "there is no memory"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_change_that_cannot_be_made_is_refused_with_what_would_be_right(
    client: Client, change: dict[str, object], complaint: str
) -> None:
    id = await remember(client, "Deploys happen on Fridays.")

    assert complaint in await failure(client, "memory_update", {"id": id, **change})
    assert (await call(client, "memory_get", id=id))["version"] == 1


async def test_conflicts_come_with_what_was_added_and_changed(client: Client) -> None:
    old = await remember(client, "Tabs, please.", "preference", key="indent", value="tabs")

    added = await call(
        client,
        "memory_add",
        type="preference",
        content="Indent with spaces.",
        metadata={"key": "indent", "value": "spaces"},
    )
    updated = await call(client, "memory_update", id=added["id"], metadata={"value": "two spaces"})

    (conflict,) = added["conflicts"]
    assert conflict == {
        "kind": "contradiction",
        "id": old,
        "type": "preference",
        "content": "Tabs, please.",
        "why": "value is 'spaces' in the new one, 'tabs' in the other",
        "certainty": 0.95,
    }
    assert [each["id"] for each in updated["conflicts"]] == [old]


async def test_many_memories_are_kept_at_once_with_links_among_them(client: Client) -> None:
    memories = [
        {"type": "requirement", "content": "Paid is paid.", "metadata": {"requirement_id": "REQ-PAY-1"}},
        {
            "type": "design",
            "content": "Payments carry a key.",
            "metadata": {"related_requirements": ["REQ-PAY-1", "REQ-PAY-9"]},
            "ref": "key",
        },
        {
            "type": "session",
            "content": "Keys were decided on.",
            "relationships": [{"type": "RELATES_TO", "to": "#key"}],
            "importance": 0.2,
        },
    ]

    added = await call(client, "memory_bulk_add", memories=memories)

    assert [(each["index"], each["type"]) for each in added["memories"]] == [
        (0, "requirement"),
        (1, "design"),
        (2, "session"),
    ]
    rule, design, session = (each["id"] for each in added["memories"])
    shown = await call(client, "memory_get", id=design)
    assert sorted((each["direction"], each["id"], each.get("field")) for each in shown["relationships"]) == [
        ("in", session, None),
        ("out", rule, "related_requirements"),
    ]
    assert shown["references"] == [
        {"field": "related_requirements", "name": "REQ-PAY-1", "id": rule},
        {"field": "related_requirements", "name": "REQ-PAY-9", "missing": True},
    ]
    assert (await call(client, "memory_search", query="key decided"))["hits"][0]["id"] == session


@pytest.mark.parametrize(
    ("memories", "complaint"),
    [
        ([], "`memories` is a list of 0"),
        ([{"type": "design", "content": "x"}] * 201, "`memories` is a list of 201"),
        ([{"type": "design"}], "`memories[0].content` is missing"),
        ([{"type": "design", "content": "x"}, {"type": "poem", "content": "x"}], "`memories[1].type`"),
        (
            [{"type": "design", "content": "x"}, {"type": "component", "content": "x"}],
            "nothing was stored: memories[1]: the metadata of a component is not acceptable: name is",
        ),
        (
            [{"type": "design", "content": "x", "relationships": [{"type": "CALLS", "to": "#y"}]}],
            "memories[0]: no memory of the batch has the ref 'y'",
        ),
    ],
    ids=["none", "too many", "no content", "no such type", "no name", "no such ref"],
)
async def test_a_batch_with_a_mistake_is_kept_out_as_a_whole(
    client: Client, memories: list[object], complaint: str
) -> None:
    assert complaint in await failure(client, "memory_bulk_add", {"memories": memories})
    assert (await call(client, "memory_statistics"))["total"] == 0


async def test_a_batch_that_an_engine_refuses_in_part_leaves_nothing(face: Face) -> None:
    choosy = replace(face, engine=replace(face.engine, vectors=Choosy(face.engine.vectors, "poison")))
    memories = [{"type": "design", "content": text} for text in ("fine", "a poison text", "as fine")]

    outcome = perform(choosy, "memory_bulk_add", {"memories": memories}, Caller(), Work())

    assert outcome.error is not None
    assert answer(face, "memory_statistics")["total"] == 0
    assert answer(face, "memory_search", query="fine")["hits"] == []


async def test_a_batch_that_is_sent_again_is_kept_once(face: Face) -> None:
    memories = [{"type": "design", "content": "Retries use jitter."}] * 2

    first = perform(face, "memory_bulk_add", {"memories": memories}, Caller(key="k"), Work())
    again = perform(face, "memory_bulk_add", {"memories": memories}, Caller(key="k"), Work())

    assert first.structured == again.structured
    assert answer(face, "memory_statistics")["total"] == 2


async def test_a_deleted_memory_has_its_history_and_the_way_back(client: Client) -> None:
    base = await remember(client, "All services are stateless.")
    follower = await call(
        client,
        "memory_add",
        type="design",
        content="Carts are cookies.",
        relationships=[{"type": "FOLLOWS_DESIGN", "to": base}],
    )
    deleted = await call(client, "memory_delete", id=base)

    assert (await call(client, "memory_get", id=follower["id"]))["relationships"] == []
    assert f"'backstory memory restore {base}'" in await failure(client, "memory_get", {"id": base})
    assert "was deleted" in await failure(client, "memory_update", {"id": base, "content": "x"})
    history = await call(client, "memory_history", id=base)
    assert history["deleted_at"] == deleted["deleted_at"]
    assert [each["operation"] for each in history["steps"]] == ["deleted", "added"]


async def test_a_history_comes_in_pages(client: Client) -> None:
    id = await remember(client, "version 1")
    for number in range(2, 6):
        await call(client, "memory_update", id=id, content=f"version {number}")

    first = await call(client, "memory_history", id=id, limit=2)
    await call(client, "memory_update", id=id, content="version 6")
    second = await call(client, "memory_history", id=id, limit=2, cursor=first["next_cursor"])
    last = await call(client, "memory_history", id=id, limit=2, cursor=second["next_cursor"])

    assert [each["version"] for page in (first, second, last) for each in page["steps"]] == [5, 4, 3, 2, 1]
    assert "next_cursor" not in last
    other = {"id": await remember(client, "other"), "cursor": first["next_cursor"]}
    assert "another search" in await failure(client, "memory_history", other)
    assert "there is no memory" in await failure(client, "memory_history", {"id": "nobody"})
    assert "there is no memory" in await failure(client, "memory_history", {"id": id, "project": "bank"})


@pytest.mark.parametrize("letter", ["a", "あ", '"'])
def test_no_answer_about_a_change_exceeds_the_most_tokens(face: Face, letter: str) -> None:
    text = f"{letter * 7} " * 6_000
    long = {f"k{number}": letter * 900 for number in range(20)}
    id = add_memory(face.engine, SHOP, NewMemory("design", f"one {text}", long)).memory.id
    for number in range(6):
        update_memory(face.engine, SHOP, id, MemoryChange(f"{number} {text}", {f"k{number}": letter * 990}))

    history = answer(face, "memory_history", id=id)
    updated = answer(face, "memory_update", id=id, content=text)

    assert tokens(json.dumps(history, ensure_ascii=False)) < USUAL_TOKENS * 1.1
    assert tokens(json.dumps(updated, ensure_ascii=False)) < USUAL_TOKENS * 1.1
    assert "shortened" in history["notes"][0]
    assert "characters of the content are shown" in updated["notes"][-1]


def test_of_very_many_conflicts_the_gravest_are_shown(face: Face) -> None:
    text = "Retries use jittered backoff, and never more than five attempts in a row. " * 5
    memories = [{"type": "design", "content": f"{text}{number}"} for number in range(100)]

    added = answer(face, "memory_bulk_add", memories=memories)
    again = answer(face, "memory_add", type="design", content=text)

    assert len(added["memories"]) == 100
    assert "more conflicts are not shown" in added["notes"][0]
    assert len(again["conflicts"]) <= MOST_CONFLICTS


def test_an_outage_is_said_in_what_was_changed(face: Face) -> None:
    id = add_memory(face.engine, SHOP, NewMemory("design", "Retries use jitter.")).memory.id
    vectors = Unreliable(face.engine.vectors)
    vectors.down = True
    down = replace(face, engine=replace(face.engine, vectors=vectors))

    updated = answer(down, "memory_update", id=id, content="Retries use backoff.")

    assert updated["pending"] == ["not found by meaning yet: the engine is down"]
    assert updated["notes"] == ["conflicts are found by words alone: the engine is down"]


async def test_a_hundred_changes_at_once_through_the_client_lose_none(client: Client) -> None:
    """Half of the callers change entries of their own, half count, each by the version that it has read."""
    ids = [await remember(client, f"Counter {number}.", counted=[]) for number in range(3)]

    async def note(number: int) -> None:
        await call(client, "memory_update", id=ids[number % 3], metadata={f"k{number}": number})

    async def count(number: int) -> None:
        while True:
            shown = await call(client, "memory_get", id=ids[number % 3])
            asked: dict[str, object] = {
                "id": shown["id"],
                "metadata": {"counted": [*shown["metadata"]["counted"], number]},
                "expected_version": shown["version"],
            }
            result = await client.call_tool("memory_update", asked)
            if not result.is_error:
                return

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(note, number)
            group.start_soon(count, number)

    for place, id in enumerate(ids):
        shown = await call(client, "memory_get", id=id)
        own = list(range(place, 50, 3))
        assert sorted(shown["metadata"]["counted"]) == own
        assert {name: value for name, value in shown["metadata"].items() if name.startswith("k")} == {
            f"k{number}": number for number in own
        }
        assert shown["version"] == 1 + 2 * len(own)


def test_a_hundred_operations_at_once_over_http_lose_nothing(tmp_path: Path) -> None:
    """Everybody adds, changes, reads, finds and deletes; some memories are the same for all."""
    with whole(tmp_path / "home") as process:

        def told(tool: str, **arguments: object) -> dict[str, Any]:
            answered = process.call(tool, {"project": "shop", **arguments}).json["result"]
            assert not answered.get("isError"), answered
            structured: dict[str, Any] = answered["structuredContent"]
            return structured

        shared = [told("memory_add", type="design", content=f"Shared note {n}.")["id"] for n in range(2)]

        def work(number: int) -> str | None:
            common = shared[number % 2]
            match number % 5:
                case 0:
                    return str(told("memory_add", type="design", content=f"Note of worker {number}.")["id"])
                case 1 | 2:
                    told("memory_update", id=common, metadata={f"k{number}": number})
                case 3:
                    short_lived = told("memory_add", type="design", content=f"Gone {number}.")["id"]
                    told("memory_delete", id=short_lived)
                case _:
                    told("memory_get", id=common)
                    told("memory_search", query="note")
            return None

        with ThreadPoolExecutor(25) as pool:
            added = [id for id in pool.map(work, range(100)) if id]

        noted = [told("memory_get", id=id)["metadata"] for id in shared]
        assert noted[0] | noted[1] == {f"k{n}": n for n in range(100) if n % 5 in (1, 2)}
        assert sum(told("memory_get", id=id)["version"] for id in shared) == 2 + 40
        statistics = told("memory_statistics")
        assert (statistics["total"], statistics["deleted"]) == (22, 20)
        assert all(told("memory_get", id=id) for id in added)
        assert statistics["index"]["pending"].get("vectors", 0) == 0
