"""Memories in files, as an agent asks for them: through a real client, in both protocol eras."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client

from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server

from .calling import call, failure

pytestmark = pytest.mark.anyio

Connecting = AbstractAsyncContextManager[Client]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def face(engine: Engine) -> Face:
    return Face(engine, toolsets=("all",), default_project="shop")


@pytest.fixture(params=["auto", "legacy"])
def connecting(face: Face, request: pytest.FixtureRequest) -> Connecting:
    return Client(create_server(face), mode=str(request.param))


async def test_memories_are_exported_deleted_and_read_in_again(
    connecting: Connecting, engine: Engine
) -> None:
    async with connecting as client:
        added = await call(client, "memory_add", type="design", content="Retries use jitter.")
        written = await call(client, "export_memory")
        await call(client, "memory_delete", id=added["id"])

        skipped = await call(client, "import_memory", path=written["path"])
        overwritten = await call(client, "import_memory", path=written["path"], on_conflict="overwrite")

        assert Path(written["path"]).parent == engine.home / "exports"
        assert (written["memories"], written["deleted"], written["links"]) == (1, 0, 0)
        assert written["size_bytes"] == Path(written["path"]).stat().st_size
        assert skipped["outcomes"]["skipped"] == 1
        assert overwritten["outcomes"]["overwritten"] == 1
        assert (await call(client, "memory_get", id=added["id"]))["content"] == "Retries use jitter."


async def test_only_one_project_is_exported_unless_all_are_asked_for(connecting: Connecting) -> None:
    async with connecting as client:
        for project in ("shop", "bank"):
            await call(client, "memory_add", type="design", content="Retries use jitter.", project=project)

        assert (await call(client, "export_memory"))["memories"] == 1
        assert (await call(client, "export_memory", project="*"))["memories"] == 2
        assert (await call(client, "export_memory", project="*", types=["session"]))["memories"] == 0
        narrow = {"project": "*", "from": "2020-01-01", "to": "2020-12-31"}
        assert (await call(client, "export_memory", **narrow))["memories"] == 0


async def test_the_answer_tells_of_links_that_lead_nowhere_and_of_warnings(
    connecting: Connecting, engine: Engine
) -> None:
    id, end = "3b3bbfc5-c6ee-47ed-a79e-8f7c2d55b968", "121c33c0-38e8-463b-896a-9a9530dc801d"
    at = "2026-01-01T00:00:00Z"
    link = {"from": id, "type": "CALLS", "to": end, "created_at": at, "certainty": 1, "metadata": {}}
    said = {"type": "requirement", "content": "Pay once.", "metadata": {}, "importance": 0.5}
    memory = {"id": id, "project": "shop", **said, "version": 1, "created_at": at, "updated_at": at}
    path = engine.home / "exports" / "made.jsonl"
    path.parent.mkdir()
    lines = [{"format": "backstory-memories", "version": 1}, {**memory, "links": [link]}]
    path.write_text("\n".join(map(json.dumps, lines)))
    async with connecting as client:
        done = await call(client, "import_memory", path=str(path), project="bank")

    assert done["links_left_out"] == 1
    assert done["warnings"][0].startswith(f"line 2: requirement {id}: requirement_id")


@pytest.mark.parametrize(
    ("tool", "asked", "why"),
    [
        ("import_memory", {"path": "exports.jsonl"}, "your folder is not known"),
        ("import_memory", {"path": "/etc/passwd"}, "outside of the folders that may be used"),
        ("import_memory", {"path": "/x", "on_conflict": "merge"}, "one of: skip, overwrite, keep_both, fail"),
        ("export_memory", {"path": "/tmp/../etc/exports.jsonl"}, "outside of the folders that may be used"),
        ("export_memory", {"types": ["idea"]}, "must be one of: "),
        ("export_memory", {"from": "yesterday"}, "is no time"),
        ("import_memory", {"path": "/x", "project": "*"}, "belongs to one project"),
    ],
)
async def test_what_cannot_be_done_is_told(
    connecting: Connecting, tool: str, asked: dict[str, object], why: str
) -> None:
    async with connecting as client:
        assert why in await failure(client, tool, asked)


async def test_files_are_used_in_the_callers_folder_and_no_link_leads_out_of_it(
    face: Face, tmp_path: Path
) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    mine.mkdir()
    others.mkdir()
    (mine / "link").symlink_to(others)

    inside = perform(face, "export_memory", {"path": "a.jsonl"}, Caller(directory=mine), Work())
    outside = perform(face, "export_memory", {"path": "link/a.jsonl"}, Caller(directory=mine), Work())

    assert inside.structured
    assert inside.structured["path"] == str(mine / "a.jsonl")
    assert isinstance(outside.error, InputError)
    assert list(others.iterdir()) == []
