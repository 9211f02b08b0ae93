"""What is around something, as an agent asks for it."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.bulk_add import Item, add_memories
from backstory.actions.memory.delete import delete_memory
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import ingest_transcripts
from backstory.engine import Engine, Work
from backstory.folders import project_of
from backstory.mcp.budget import USUAL_TOKENS
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.graph import RelationshipType
from backstory.model.memory import MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.model.tokens import tokens
from backstory.wiring import open_engine

from .calling import call, failure
from .hosting import settings_for
from .transcript_files import Exchange, Use, write_transcript

pytestmark = pytest.mark.anyio

SHOP = Project("shop")

Connecting = AbstractAsyncContextManager[Client]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def connecting(engine: Engine) -> Connecting:
    return Client(create_server(Face(engine, default_project="shop")))


def keep(engine: Engine, type_: str, project: Project = SHOP, **metadata: object) -> str:
    content = f"This is {metadata.get('name') or metadata.get('requirement_id') or 'decided'}."
    return str(add_memory(engine, project, NewMemory(type_, content, metadata)).memory.id)


@pytest.fixture
def chain(engine: Engine) -> list[str]:
    """Web depends on orders, orders on payments, payments implements a requirement."""
    wanted = keep(engine, "requirement", requirement_id="REQ-PAY-001", implementing_components=["payments"])
    payments = keep(engine, "component", name="payments")
    orders = keep(engine, "component", name="orders", dependencies=["payments"])
    web = keep(engine, "component", name="web", dependencies=["orders"])
    return [wanted, payments, orders, web]


def ids(answer: dict[str, Any]) -> list[str]:
    return [each["id"] for each in answer["related"]]


async def test_what_is_linked_to_something_is_given_with_the_links(
    connecting: Connecting, chain: list[str]
) -> None:
    wanted, payments, orders, _ = chain
    async with connecting as client:
        answer = await call(client, "get_related", entity="payments")

    assert [each["id"] for each in answer["start"]] == [payments]
    assert set(ids(answer)) == {wanted, orders}
    assert {(each["start"], each["type"], each["end"]) for each in answer["edges"]} == {
        (payments, "IMPLEMENTS_REQ", wanted),
        (orders, "DEPENDS_ON", payments),
    }
    assert {each["type"] for each in answer["related"]} == {"Requirement", "Component"}


@pytest.mark.parametrize(("depth", "reached"), [(1, 1), (2, 2), (3, 3)])
async def test_a_walk_goes_as_far_as_it_is_asked_to_the_nearest_first(
    connecting: Connecting, chain: list[str], depth: int, reached: int
) -> None:
    async with connecting as client:
        answer = await call(client, "get_related", entity="REQ-PAY-001", depth=depth)

    assert ids(answer) == chain[1 : 1 + reached]
    assert [each["depth"] for each in answer["related"]] == list(range(1, 1 + reached))


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"direction": "in"}, {"orders"}),
        ({"direction": "out"}, {"REQ-PAY-001"}),
        ({"types": ["DEPENDS_ON"]}, {"orders"}),
        ({"types": ["TESTS"]}, set()),
    ],
)
async def test_a_walk_keeps_to_what_it_may_follow(
    connecting: Connecting, chain: list[str], asked: dict[str, object], names: set[str]
) -> None:
    del chain
    async with connecting as client:
        answer = await call(client, "get_related", entity="payments", **asked)

    found = {each["name"] for each in answer["related"]}
    assert {name for name in ("orders", "REQ-PAY-001") if any(name in each for each in found)} == names


async def test_what_was_written_a_moment_ago_is_seen_and_what_was_deleted_is_not(
    engine: Engine, connecting: Connecting, chain: list[str]
) -> None:
    tests = keep(
        engine, "test_history", test_name="test_pay", status="Failed", related_requirements=["REQ-PAY-001"]
    )
    delete_memory(engine, SHOP, chain[1])
    async with connecting as client:
        answer = await call(client, "get_related", entity="REQ-PAY-001", depth=3)

    assert ids(answer) == [tests]


async def test_something_with_thousands_of_links_is_answered_and_says_that_there_is_more(
    engine: Engine, connecting: Connecting
) -> None:
    hub = keep(engine, "component", name="core")
    links = [Relationship(RelationshipType.DEPENDS_ON, MemoryId(hub))]
    new = [Item(NewMemory("design", f"Module {n} uses it.", relationships=links)) for n in range(150)]
    add_memories(engine, SHOP, new)
    async with connecting as client:
        answer = await call(client, "get_related", entity="core", limit=20)

    assert len(answer["related"]) == len(answer["edges"]) == 20
    assert answer["notes"]


async def test_an_answer_is_no_longer_than_an_agent_sees_whole_and_says_what_it_left_out(
    engine: Engine, connecting: Connecting
) -> None:
    hub = keep(engine, "component", name="core")
    links = [Relationship(RelationshipType.DEPENDS_ON, MemoryId(hub))]
    titled = [{"title": f"Module {n} uses {'-'.join(['very'] * 40)} much of it."} for n in range(200)]
    new = [Item(NewMemory("design", "So it is.", each, relationships=links)) for each in titled]
    add_memories(engine, SHOP, new)
    async with connecting as client:
        answer = await call(client, "get_related", entity="core", limit=200)

    shown = {hub, *ids(answer)}
    assert tokens(json.dumps(answer)) <= USUAL_TOKENS
    assert 1 < len(shown) < 201
    assert all({edge["start"], edge["end"]} <= shown for edge in answer["edges"])
    assert any("length" in note for note in answer["notes"])


async def test_a_file_leads_to_the_session_that_touched_it(tmp_path: Path) -> None:
    folder = str(tmp_path / "shop")
    edited = Use("Edit", {"file_path": f"{folder}/src/cart.py", "old_string": "a", "new_string": "b"}, "done")
    session = write_transcript(tmp_path / "projects", "one", folder, Exchange("Round up.", "Done.", [edited]))
    settings = settings_for(tmp_path / "home", CLAUDE_PROJECTS_DIR=str(tmp_path / "projects"))
    with open_engine(settings) as engine:
        ingest_transcripts(engine, Wish(), Work())
        async with Client(create_server(Face(engine))) as client:
            project = str(project_of(Path(folder)))
            by_path = await call(client, "get_related", entity="src/cart.py", project=project)
            by_session = await call(client, "get_related", entity=session, project=project)

    assert {"Conversation", "ConversationMessage"} <= {each["type"] for each in by_path["related"]}
    assert "File" in {each["type"] for each in by_session["related"]}


@pytest.mark.parametrize("entity", ["nobody", "REQ-NOPE-1", "%", "''; DROP"])
async def test_who_names_nothing_is_told_what_to_name(connecting: Connecting, entity: str) -> None:
    async with connecting as client:
        assert "Hint: give the id of a memory" in await failure(client, "get_related", {"entity": entity})


async def test_other_projects_are_not_seen(engine: Engine, connecting: Connecting) -> None:
    keep(engine, "component", Project("bank"), name="vault")
    async with connecting as client:
        assert "nothing called" in await failure(client, "get_related", {"entity": "vault"})
