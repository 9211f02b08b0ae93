"""`memory_consolidate` as agents and people use it: through a real client, and from the command line."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client

from backstory.engine import Engine
from backstory.mcp.face import Face
from backstory.mcp.server import create_server

from .calling import call, failure
from .program import Program

pytestmark = pytest.mark.anyio

Connecting = AbstractAsyncContextManager[Client]

KAFKA = "Events go through Kafka. Topics are named after the aggregate."
CONSUMERS = "Events go through Kafka. Consumers must be idempotent."
BOTH = f"{KAFKA}\n\nConsumers must be idempotent."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def connecting(engine: Engine) -> Connecting:
    return Client(create_server(Face(engine, toolsets=("memory",), default_project="shop")))


async def remember(client: Client, content: str, **metadata: object) -> str:
    added = await call(client, "memory_add", type="design", content=content, metadata=metadata)
    return str(added["id"])


async def test_a_plan_is_made_carried_out_listed_and_undone(connecting: Connecting) -> None:
    async with connecting as client:
        keep, fold = await remember(client, KAFKA, area="events"), await remember(client, CONSUMERS)

        plan = await call(client, "memory_consolidate")
        assert await _contents(client) == {KAFKA, CONSUMERS}
        done = await call(client, "memory_consolidate", dry_run=False, ids=[keep, fold])
        assert await _contents(client) == {BOTH}
        merge = done["merges"][0].pop("merge")
        listed = await call(client, "memory_consolidate", list_merges=True)
        undone = await call(client, "memory_consolidate", undo=merge)
        assert await _contents(client) == {KAFKA, CONSUMERS}
        after = await call(client, "memory_consolidate", list_merges=True)
        told = [str(await call(client, "memory_history", id=id)) for id in (keep, fold)]

    (planned,) = plan["merges"]
    assert (plan["dry_run"], plan["looked_at"], done["dry_run"]) == (True, 2, False)
    assert (planned["keep"], planned["fold"], planned["content"]) == (keep, [fold], BOTH)
    assert planned["metadata"] == {"area": "events"}
    assert fold in planned["why"]
    assert done["merges"] == [{**planned, "version": 2}]
    assert [(each["merge"], each["kept"], each["folded"]) for each in listed["made"]] == [
        (merge, keep, [fold])
    ]
    assert undone["undone"] == {"merge": merge, "kept": keep, "version": 3, "restored": [fold]}
    assert "undone_at" in after["made"][0]
    assert all(merge in history and "unmerged" in history for history in told)


async def _contents(client: Client) -> set[str]:
    hits = (await call(client, "memory_search", query="Kafka events idempotent consumers"))["hits"]
    return {hit["content"] for hit in hits}


async def test_a_field_with_two_values_is_told(connecting: Connecting) -> None:
    async with connecting as client:
        await remember(client, KAFKA, owner="Ann")
        await remember(client, CONSUMERS, owner="Bob")

        (planned,) = (await call(client, "memory_consolidate"))["merges"]

    assert planned["metadata"] == {"owner": "Bob"}
    assert planned["clashes"] == [{"field": "owner", "taken": '"Bob"', "other": '"Ann"'}]


async def test_who_asks_for_a_folded_memory_is_told_where_it_is(connecting: Connecting) -> None:
    async with connecting as client:
        keep, fold = await remember(client, KAFKA), await remember(client, CONSUMERS)
        await call(client, "memory_consolidate", dry_run=False)

        assert keep in await failure(client, "memory_get", {"id": fold})


async def test_what_cannot_be_asked_is_refused_with_a_hint(connecting: Connecting) -> None:
    async with connecting as client:
        keep, fold = await remember(client, KAFKA), await remember(client, CONSUMERS)
        done = await call(client, "memory_consolidate", dry_run=False)
        merge = done["merges"][0]["merge"]
        await call(client, "memory_update", id=keep, content="Events go through Pulsar.")

        changed = await failure(client, "memory_consolidate", {"undo": merge})
        refused: list[dict[str, object]] = [
            {"undo": "no-such-merge"},
            {"undo": merge, "list_merges": True},
            {"undo": merge, "dry_run": False},
            {"list_merges": True, "types": ["design"]},
            {"ids": [keep], "query": "Kafka"},
            {"ids": [fold]},
            {"project": "*"},
        ]
        for arguments in refused:
            assert "\nHint: " in await failure(client, "memory_consolidate", arguments), arguments

        assert "`ids` is a list of 0" in await failure(client, "memory_consolidate", {"ids": []})
        assert "`limit` is 0" in await failure(client, "memory_consolidate", {"limit": 0})
        assert "must be one of" in await failure(client, "memory_consolidate", {"types": ["thought"]})
    assert "was changed since it was merged" in changed
    assert f"brings {fold} back" in changed


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program(tmp_path_factory.mktemp("cli") / "home")
    yield program
    program.stop()


def test_the_command_plans_merges_lists_and_undoes(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    keep, fold = (program.json("memory", "add", "design", text)["id"] for text in (KAFKA, CONSUMERS))

    shown = program("memory", "consolidate", "--id", keep, "--id", fold, "--type", "design")
    assert f"keep {keep}, fold {fold}" in shown.stdout
    (done,) = program.json("memory", "consolidate", "--apply", "--limit", "5")["merges"]
    assert program.json("memory", "get", keep)["content"] == BOTH
    assert [each["merge"] for each in program.json("memory", "consolidate", "--list")["made"]] == [
        done["merge"]
    ]
    assert program.json("memory", "consolidate", "--undo", done["merge"])["undone"]["restored"] == [fold]
    assert program.json("memory", "get", fold)["content"] == CONSUMERS
    assert program("memory", "consolidate", "--undo", done["merge"]).exit_code == 1
