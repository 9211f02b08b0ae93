"""The script that needs no installation: a process of its own, spoken to by a real client over stdio."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

pytestmark = pytest.mark.anyio

SCRIPT = Path(__file__).parents[2] / "conversation_search.py"
TOOLS = {"search_conversations", "list_conversations", "read_turn", "read_conversation"}
PATIENCE_S = 90


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Machine:
    """Somebody's machine: transcripts in a folder, and a folder for temporary files."""

    projects: Path
    scratch: Path

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "CLAUDE_PROJECTS_DIR": str(self.projects),
            "TMPDIR": str(self.scratch),
            "BACKSTORY_MIN_FREE_MB": "1",
        }

    def left(self) -> list[Path]:
        """The temporary files there are."""
        return list(self.scratch.iterdir())

    def say(self, folder: str, session: str, question: str, answer: str) -> None:
        """Leave a transcript of one turn."""
        records = [
            {"type": "user", "uuid": f"{session}-u", "message": {"role": "user", "content": question}},
            {
                "type": "assistant",
                "uuid": f"{session}-a",
                "parentUuid": f"{session}-u",
                "message": {"id": f"{session}-m", "content": [{"type": "text", "text": answer}]},
            },
        ]
        common = {"sessionId": session, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": f"/{folder}"}
        lines = [json.dumps({**common, **record}) + "\n" for record in records]
        (self.projects / folder).mkdir(parents=True, exist_ok=True)
        (self.projects / folder / f"{session}.jsonl").write_text("".join(lines))

    @asynccontextmanager
    async def client(self, *arguments: str) -> AsyncIterator[Client]:
        """A client of the script; it ends when the client closes its stdin."""
        server = StdioServerParameters(
            command=sys.executable, args=[str(SCRIPT), *arguments], env=dict(self.environ)
        )
        async with Client(server) as client:
            yield client

    @contextmanager
    def process(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """The script on pipes of the test's own."""
        with subprocess.Popen(
            [sys.executable, str(SCRIPT), *arguments],
            env={**os.environ, **self.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return machine_in(tmp_path)


def machine_in(folder: Path) -> Machine:
    machine = Machine(folder / "projects", folder / "scratch")
    machine.scratch.mkdir()
    machine.say("-home-me-shop", "aaaa", "why is the cart empty?", "The session cookie had expired.")
    machine.say("-work-bank", "bbbb", "where is the money?", "In the vault.")
    return machine


async def call(client: Client, tool: str, **arguments: object) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def listed(client: Client, wanted: str) -> set[str]:
    """The conversations there are, once the wanted one is among them."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            answer = await call(client, "list_conversations")
            found = {each["session_id"] for each in answer["conversations"]}
            if wanted in found:
                return found


async def logged(machine: Machine, client: Client, event: str) -> Any:
    """What the log tells of an event, once it does."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            logs = [log for home in machine.left() for log in home.glob("logs/*.log")]
            for line in (line for log in logs for line in log.read_text().splitlines()):
                if json.loads(line)["event"] == event:
                    return json.loads(line)
            await call(client, "list_conversations")


@dataclass(frozen=True)
class Visit:
    """What a client saw from its coming to its going."""

    tools: set[str]
    found: str
    turn: str
    conversation: str
    left_during: int
    left_after: int


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """One for several tests: a start takes seconds."""
    return anyio.run(visited, machine_in(tmp_path_factory.mktemp("visit")))


async def visited(machine: Machine) -> Visit:
    async with machine.client() as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        await listed(client, "aaaa")
        await listed(client, "bbbb")
        found = await call(client, "search_conversations", query="expired session cookie")
        turn = await call(client, "read_turn", session_id="aaaa", turn_number=1)
        conversation = await call(client, "read_conversation", session_id="bbbb")
        during = len(machine.left())
    return Visit(tools, str(found), str(turn), str(conversation), during, len(machine.left()))


def test_it_offers_the_four_tools_and_no_other(visit: Visit) -> None:
    assert visit.tools == TOOLS


def test_what_was_said_is_found_and_read(visit: Visit) -> None:
    assert "cookie" in visit.found
    assert "why is the cart empty?" in visit.turn
    assert "In the vault." in visit.conversation


def test_nothing_is_left_when_the_client_goes(visit: Visit) -> None:
    assert (visit.left_during, visit.left_after) == (1, 0)


async def test_only_matching_folders_are_read_also_when_new_ones_appear(machine: Machine) -> None:
    async with machine.client("-home-me-*") as client:
        at_first = await listed(client, "aaaa")
        machine.say("-work-office", "cccc", "who has the keys?", "Nobody.")
        machine.say("-home-me-garden", "dddd", "when do roses bloom?", "In June.")
        later = await listed(client, "dddd")

    assert at_first == {"aaaa"}
    assert later == {"aaaa", "dddd"}


async def test_a_file_beside_the_folders_is_no_failure(machine: Machine) -> None:
    (machine.projects / ".DS_Store").touch()

    async with machine.client() as client:
        ended = await logged(machine, client, "transcripts were read")

    assert (ended["context"]["files"], ended["context"]["failed"]) == (2, 0)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_when_it_is_told_to_stop(sent: signal.Signals, machine: Machine) -> None:
    with machine.process() as process:
        answer = first_answer(process)
        process.send_signal(sent)
        code = process.wait(PATIENCE_S)

    assert answer["result"]["serverInfo"]["name"] == "backstory"
    assert code == 0
    assert machine.left() == []


def test_nothing_is_left_when_it_is_stopped_while_it_starts(machine: Machine) -> None:
    with first_file_in(machine.scratch) as made, machine.process() as process:
        assert made.wait(PATIENCE_S)
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE_S)

    assert code == 0
    assert machine.left() == []


def test_help_starts_nothing(machine: Machine) -> None:
    with machine.process("--help") as process:
        said, _ = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 0
    assert "PATTERN" in said
    assert "search_conversations" in said
    assert machine.left() == []


class _Telling(FileSystemEventHandler):
    def __init__(self, made: threading.Event) -> None:
        self._made = made

    def on_created(self, event: FileSystemEvent) -> None:
        self._made.set()


@contextmanager
def first_file_in(folder: Path) -> Iterator[threading.Event]:
    """An event that comes when something is made in a folder."""
    made, observer = threading.Event(), Observer()
    observer.schedule(_Telling(made), str(folder))
    observer.start()
    try:
        yield made
    finally:
        observer.stop()
        observer.join()


def first_answer(process: "subprocess.Popen[str]") -> Any:
    """Begin a conversation by hand, and go on listening."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    assert process.stdin
    assert process.stdout
    process.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) + "\n"
    )
    process.stdin.flush()
    return json.loads(process.stdout.readline())
