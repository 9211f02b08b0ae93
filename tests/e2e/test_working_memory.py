"""Working memory as an agent asks for it: by the tool, and at its address."""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, TextResourceContents

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.working_memory import working_memory
from backstory.engine import Engine
from backstory.mcp.budget import tokens
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.kind import Tier
from backstory.model.kinds.schema import json_schema
from backstory.model.live import Switches
from backstory.model.memory import NewMemory
from backstory.model.project import Project
from backstory.wiring import open_engine

from .calling import call, failure
from .doubles import Unreliable
from .hosting import settings_for

pytestmark = pytest.mark.anyio

SHOP = Project("shop")
BANK = Project("bank")

TASK = "Make refunds idempotent, so that a payment is never booked twice"

Connecting = AbstractAsyncContextManager[Client]

#: What each type asks for.
REQUIRED: Mapping[str, dict[str, object]] = {
    "requirement": {"requirement_id": "REQ-PAY-001"},
    "component": {"name": "Payments"},
    "function": {"name": "refund", "file_path": "src/refunds.py"},
    "test_history": {"test_name": "test_refunds", "status": "Failed"},
    "preference": {"key": "package_manager", "value": "uv"},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store for tests that write nothing."""
    with open_engine(settings_for(tmp_path_factory.mktemp("empty"))) as opened:
        yield opened


@pytest.fixture
def connecting(engine: Engine) -> Connecting:
    return connected(engine)


@pytest.fixture
def reading(empty: Engine) -> Connecting:
    return connected(empty)


def connected(engine: Engine) -> Connecting:
    """A client whose project is the shop; what is the same in both eras is tried in one."""
    return Client(create_server(Face(engine, default_project="shop")))


def keep(
    engine: Engine, type_: str, content: str, *, importance: float = 0.5, project: Project = SHOP
) -> str:
    new = NewMemory(type_, content, REQUIRED.get(type_, {}), importance)
    return str(add_memory(engine, project, new).memory.id)


def use(engine: Engine, id: str, times: int) -> None:
    engine.records.note_use([id] * times)
    engine.records.flush_uses()


def uses(engine: Engine, *ids: str) -> list[int]:
    engine.records.flush_uses()
    with engine.records.reading() as records:
        found = records.memories.find(SHOP, ids)
    return [found[id].access_count for id in ids]


def in_mind(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in answer["types"]:
        yield from group["memories"]


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [memory["id"] for memory in in_mind(answer)]


async def read(client: Client, uri: str) -> dict[str, Any]:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    body: dict[str, Any] = json.loads(contents.text)
    return body


async def test_what_helps_with_a_task_comes_by_tier_and_type_with_why(
    engine: Engine, connecting: Connecting
) -> None:
    kept = {
        "session": keep(engine, "session", "Refunds were made idempotent for card payments."),
        "requirement": keep(engine, "requirement", "A payment must never be booked twice."),
        "design": keep(engine, "design", "Refunds carry the order's id as idempotency key."),
        "preference": keep(engine, "preference", "Book payments in a transaction of their own."),
    }

    async with connecting as client:
        answer = await call(client, "working_memory", task=TASK)

    groups = [(group["tier"], group["type"]) for group in answer["types"]]
    assert groups == [
        (Tier.EPISODIC, "session"),
        (Tier.SEMANTIC, "design"),
        (Tier.SEMANTIC, "requirement"),
        (Tier.PROCEDURAL, "preference"),
    ]
    assert {group["type"]: group["memories"][0]["id"] for group in answer["types"]} == kept
    assert all("task" in memory["why"] for memory in in_mind(answer))
    requirement = answer["types"][2]["memories"][0]
    assert requirement["fields"] == {"requirement_id": "REQ-PAY-001"}
    assert requirement["content"] == "A payment must never be booked twice."


async def test_of_each_type_there_is_one_and_more_only_if_they_are_near_to_the_task_or_vital(
    engine: Engine, connecting: Connecting
) -> None:
    near = [
        keep(engine, "design", "Refunds are idempotent: a key makes them so."),
        keep(engine, "design", "A payment is booked twice if the key of the refund is lost."),
    ]
    vital = keep(engine, "design", "All times are kept in UTC.", importance=1.0)
    far = [keep(engine, "design", f"The {page} page has a blue title.") for page in ("search", "help")]
    only_one = keep(engine, "session", "The office moved to the second floor.")

    async with connecting as client:
        answer = await call(client, "working_memory", task=TASK)

    assert set(ids(answer)) == {*near, vital, only_one}
    assert answer["far"] == len(far)


async def test_vital_memories_are_found_among_many_that_are_nearer(
    engine: Engine, connecting: Connecting
) -> None:
    for number in range(30):
        keep(engine, "design", f"Refund {number} of a payment is idempotent by its key.")
    vital = keep(engine, "design", "All times are kept in UTC.", importance=1.0)

    async with connecting as client:
        answer = await call(client, "working_memory", task=TASK)

    assert vital in ids(answer)


@pytest.mark.parametrize("filling", ["plain words of a payment ", '"quoted\\ \n\t"', "\u00fc\u6f22 "])
async def test_no_answer_takes_more_tokens_than_were_asked_for(
    engine: Engine, connecting: Connecting, filling: str
) -> None:
    for number in range(20):
        kind = "design" if number % 2 else "session"
        keep(engine, kind, f"Refund {number}: {filling * (10 + 5 * number)}")

    async with connecting as client:
        for most in (500, 1_000, 4_000):
            answer = await call(client, "working_memory", task=TASK, max_tokens=most)

            assert tokens(json.dumps(answer, ensure_ascii=False)) <= answer["tokens"] <= most
            shown, left = len(ids(answer)), sum(answer.get("left_out", {}).values())
            assert shown + left + answer.get("far", 0) == 20


async def test_what_has_no_room_is_counted_and_the_best_of_it_named_with_why(
    engine: Engine, connecting: Connecting
) -> None:
    long = keep(engine, "design", f"Refunds of payments are idempotent: {'all of it matters ' * 300}")
    short = keep(engine, "design", "Refunds of payments are idempotent by their key.")
    again = keep(engine, "design", "Refunds of payments are idempotent by their key!")

    async with connecting as client:
        answer = await call(client, "working_memory", task=TASK, max_tokens=1_000)

    assert len({short, again} & set(ids(answer))) == 1
    assert answer["left_out"] == {"design": 2}
    whys = {each["id"]: each["why"] for each in answer["next"]}
    assert "tokens" in whys.pop(long)
    assert "says nearly the same" in whys.popitem()[1]


async def test_only_the_types_asked_for_are_given(engine: Engine, connecting: Connecting) -> None:
    keep(engine, "design", "Refunds are idempotent.")
    wanted = keep(engine, "session", "Refunds were made idempotent.")

    async with connecting as client:
        assert ids(await call(client, "working_memory", task=TASK, types=["session"])) == [wanted]
        assert ids(await call(client, "working_memory", types=["session"])) == [wanted]


async def test_it_is_made_of_the_project_s_live_memories_alone(
    engine: Engine, connecting: Connecting
) -> None:
    gone = keep(engine, "design", "Refunds are idempotent by luck.")
    delete_memory(engine, SHOP, gone)
    other = keep(engine, "design", "Refunds of the bank are idempotent.", project=BANK)
    own = keep(engine, "design", "Refunds of the shop are idempotent.")

    async with connecting as client:
        for task in (TASK, None):
            assert ids(await call(client, "working_memory", task=task)) == [own]
            assert ids(await call(client, "working_memory", task=task, project="bank")) == [other]


async def test_an_empty_project_has_nothing_in_mind(reading: Connecting) -> None:
    async with reading as client:
        for task in (TASK, None):
            answer = await call(client, "working_memory", task=task)

            assert answer["types"] == []
            assert "left_out" not in answer


async def test_what_is_chosen_for_a_task_is_used_and_what_stands_there_anyway_is_not(
    engine: Engine, connecting: Connecting
) -> None:
    near = keep(engine, "design", "Refunds are idempotent.")
    far = [keep(engine, "design", f"The {page} page has a blue title.") for page in ("search", "help")]

    async with connecting as client:
        await call(client, "working_memory")
        assert uses(engine, near, *far) == [0, 0, 0]
        await call(client, "working_memory", task=TASK)
        assert uses(engine, near, *far) == [1, 0, 0]


async def test_without_a_task_the_most_important_comes_first_by_what_was_said_and_by_use(
    engine: Engine, connecting: Connecting
) -> None:
    ordinary = keep(engine, "design", "The search page shows ten results.")
    used = keep(engine, "design", "Images are resized in the browser.")
    vital = keep(engine, "design", "All times are kept in UTC.", importance=1.0)
    use(engine, used, 20)

    async with connecting as client:
        answer = await call(client, "working_memory")

    assert ids(answer) == [vital, used, ordinary]
    whys = {memory["id"]: memory["why"] for memory in in_mind(answer)}
    assert "used 20 times" in whys[used]
    assert not any("task" in why for why in whys.values())


async def test_among_many_of_a_type_those_stand_out_that_are_important_new_or_used(
    engine: Engine, connecting: Connecting
) -> None:
    vital = keep(engine, "design", "All times are kept in UTC.", importance=0.9)
    used = keep(engine, "design", "Images are resized in the browser.")
    for number in range(40):
        keep(engine, "design", f"Rule {number} of the house: nothing is said about {number + 100}.")
    new = keep(engine, "design", "The search page shows ten results.")
    use(engine, used, 3)

    async with connecting as client:
        answer = await call(client, "working_memory", max_tokens=2_000)

    assert {vital, used, new} <= set(ids(answer))


def test_one_moment_has_one_answer(engine: Engine) -> None:
    now = datetime.now(UTC) + timedelta(days=3)
    for number in range(30):
        kind = list(KINDS)[number % len(KINDS)]
        keep(engine, kind, f"Refund {number} is idempotent.", importance=number % 3 / 2)

    for task in (TASK, None):
        first = working_memory(engine, SHOP, task, max_tokens=1_500, now=now)
        assert working_memory(engine, SHOP, task, max_tokens=1_500, now=now) == first
        assert first.chosen


async def test_while_the_index_cannot_be_asked_words_decide_and_it_is_said(engine: Engine) -> None:
    near = keep(engine, "design", "Refunds are idempotent, no payment is booked twice.")
    keep(engine, "design", "The search page has a blue title.")
    broken = Unreliable(engine.vectors)
    broken.down = True

    async with connected(replace(engine, vectors=broken)) as client:
        answer = await call(client, "working_memory", task=TASK)

    assert ids(answer) == [near]
    assert any("words alone" in each for each in answer["degraded"])


async def test_with_search_by_meaning_switched_off_words_decide_and_it_is_said(engine: Engine) -> None:
    near = keep(engine, "design", "Refunds are idempotent, no payment is booked twice.")
    by_words = replace(engine, switches=lambda: Switches(semantic_search=False))

    async with connected(by_words) as client:
        answer = await call(client, "working_memory", task=TASK)

    assert ids(answer) == [near]
    assert any("switched off" in each for each in answer["degraded"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"task": ""}, "1 to 4,000 characters"),
        ({"task": "   "}, "empty"),
        ({"task": TASK, "max_tokens": 60_000}, "500 to 50,000"),
        ({"task": TASK, "max_tokens": 10}, "500 to 50,000"),
        ({"task": TASK, "types": ["desing"]}, "did you mean design?"),
        ({"task": TASK, "project": "*"}, "one project"),
        ({"tasks": TASK}, "did you mean task?"),
    ],
)
async def test_a_mistake_is_told_with_what_to_do(
    reading: Connecting, arguments: dict[str, object], told: str
) -> None:
    async with reading as client:
        assert told in await failure(client, "working_memory", arguments)


async def test_the_address_gives_what_the_tool_gives(engine: Engine, connecting: Connecting) -> None:
    keep(engine, "design", "Refunds are idempotent.")
    keep(engine, "session", "The provider repeats calls after a timeout.")
    asked = {"task": TASK, "max_tokens": 900, "types": ["design"]}
    types = quote(json.dumps(asked["types"]))

    async with connecting as client:
        by_tool = await call(client, "working_memory", **asked)
        by_address = await read(
            client, f"backstory://working?task={quote(TASK)}&max_tokens=900&types={types}&project=shop"
        )
        standing = await read(client, "backstory://working")
        by_tool_standing = await call(client, "working_memory")

    assert by_address == by_tool
    assert standing == by_tool_standing
    assert len(ids(standing)) == 2


async def test_the_types_are_listed_with_the_addresses_of_their_schemas(reading: Connecting) -> None:
    async with reading as client:
        listed = (await read(client, "backstory://schema"))["types"]
        schemas = {each["type"]: await read(client, each["uri"]) for each in listed}

    assert schemas == {name: json_schema(kind) for name, kind in KINDS.items()}
    assert {each["type"]: each["required"] for each in listed} == {
        name: schema["required"] for name, schema in schemas.items()
    }
    assert all(each["about"] and each["tier"] for each in listed)


async def test_help_gives_the_same_schemas(reading: Connecting) -> None:
    async with reading as client:
        told = await call(client, "backstory_help", topic="schemas")

    assert json.loads(told["text"]) == {name: json_schema(kind) for name, kind in KINDS.items()}


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("backstory://schema/desing", "did you mean design?"),
        ("backstory://schema/design?kind=1", "kind"),
        ("backstory://working/now", "backstory://working{?task"),
        ("backstory://working?max_tokens=many", "whole number"),
        ("backstory://nothing", "backstory://schema/{type}"),
    ],
)
async def test_a_wrong_address_is_an_error_of_the_protocol(reading: Connecting, uri: str, told: str) -> None:
    async with reading as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)

    assert raised.value.code == INVALID_PARAMS
    assert told in raised.value.message
