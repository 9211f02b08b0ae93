"""The process as the SDK's own client meets it over HTTP, in both eras of the protocol."""

import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp import Client as McpClient
from mcp.client.client import ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from backstory.engine import Engine
from backstory.mcp.face import Face
from tests.e2e.counting import Counting
from tests.e2e.hosting import Client, hosted, settings_for
from tests.e2e.test_process import PROGRAM, started

pytestmark = pytest.mark.anyio

ERAS: list[ConnectMode] = ["legacy", "auto"]

#: Searching waits for somebody to read from one pipe and to write into another. Meanwhile nobody may
#: have told the library for event streams to end them.
WAITING = (
    """
from pathlib import Path
from sse_starlette.sse import AppStatus
from backstory.mcp.tools import memory
from backstory.settings import read_settings
home, search = read_settings().whereabouts.home, memory.search_memories

def waiting(*arguments):
    (home.parent / "at-work").write_text("now")
    (home.parent / "go-on").read_text()
    assert not AppStatus.should_exit
    return search(*arguments)

memory.search_memories = waiting
"""
    + PROGRAM
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(client: Client, mode: ConnectMode, **headers: str) -> AsyncIterator[McpClient]:
    """The SDK's client, let in by the token."""
    own = {"Authorization": f"Bearer {client.token}", **headers}
    async with create_mcp_http_client(headers=own) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{client.port}/mcp", http_client=http)
        async with McpClient(transport, mode=mode) as connection:
            yield connection


@pytest.mark.parametrize("mode", ERAS)
async def test_what_was_added_is_found_in_the_folder_s_project(
    engine: Engine, home: Path, tmp_path: Path, mode: ConnectMode
) -> None:
    lesson = {"type": "design", "content": "Retries use jittered backoff."}
    with hosted(engine, settings_for(home)) as (_, client):
        folder = {"Backstory-Directory": str(tmp_path)}
        async with connected(client, mode, **folder) as connection:
            added = await connection.call_tool("memory_add", lesson)
            found = await connection.call_tool("memory_search", {"query": "backoff"})
        async with connected(client, mode) as elsewhere:
            other = await elsewhere.call_tool("memory_search", {"query": "backoff"})

    assert added.structured_content is not None
    assert found.structured_content is not None
    assert added.structured_content["project"] == str(tmp_path)
    assert [hit["id"] for hit in found.structured_content["hits"]] == [added.structured_content["id"]]
    assert other.structured_content == {"hits": []}


@pytest.mark.parametrize("mode", ERAS)
async def test_long_work_reports_and_is_stopped_with_its_request(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch, mode: ConnectMode
) -> None:
    counting, seen = Counting(engine, steps=None), anyio.Event()

    def face(engine: Engine, toolsets: Any, project: str, observe: Any) -> Face:
        return counting.face

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.set()

    async def call(connection: McpClient) -> None:
        await connection.call_tool("count", {}, progress_callback=on_progress)

    monkeypatch.setattr("backstory.http.process.Face", face)
    with hosted(engine, settings_for(home)) as (_, client):
        async with connected(client, mode) as connection:
            async with anyio.create_task_group() as group:
                group.start_soon(call, connection)
                await seen.wait()
                group.cancel_scope.cancel()
            assert await to_thread.run_sync(counting.ended.wait, 30)

    assert counting.calls[0].status == "cancelled"


@pytest.mark.parametrize("mode", ERAS)
async def test_a_call_in_flight_is_answered_by_a_process_that_was_told_to_stop(
    tmp_path: Path, mode: ConnectMode
) -> None:
    for pipe in ("at-work", "go-on"):
        os.mkfifo(tmp_path / pipe)
    answers: list[Any] = []

    async def search(connection: McpClient) -> None:
        answers.append(await connection.call_tool("memory_search", {"query": "anything"}))

    with started(tmp_path / "home", WAITING) as running:
        async with connected(running.client, mode) as connection, anyio.create_task_group() as group:
            await connection.list_tools()  # else the client would ask for them after the call
            group.start_soon(search, connection)
            await to_thread.run_sync((tmp_path / "at-work").read_text)
            port = running.client.port
            running.process.send_signal(signal.SIGTERM)
            await to_thread.run_sync(await_refusal, port)
            await to_thread.run_sync((tmp_path / "go-on").write_text, "on")
        assert await to_thread.run_sync(running.process.wait) == 0

    assert [answer.structured_content for answer in answers] == [{"hits": []}]


def await_refusal(port: int) -> None:
    """Return when nobody listens on the port any more."""
    with suppress(ConnectionError):  # refused, or reset in the moment of closing
        while True:
            socket.create_connection(("127.0.0.1", port), timeout=30).close()
