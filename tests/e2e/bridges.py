"""Bridges as a client runs them, and places for the process behind them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from mcp.client.stdio import StdioServerParameters

from backstory.bridge.locking import waiting_lock
from backstory.bridge.whereabouts import Whereabouts

COMMAND = [sys.executable, "-m", "backstory", "mcp"]
VERSION = "2026-07-28"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}

LISTED_ANEW = "notifications/resources/list_changed"

Answer = dict[str, Any]


def request(id: object, method: str, era: str = "modern", **params: object) -> Answer:
    """A request of one era or the other."""
    own = {**params, "_meta": MODERN_META} if era == "modern" else params
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": own}


def call(id: object, tool: str, era: str = "modern", **arguments: object) -> Answer:
    """A call of a tool."""
    return request(id, "tools/call", era, name=tool, arguments=arguments)


def note(method: str, **params: object) -> Answer:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def text_of(answer: Answer) -> str:
    """The text that a tool answered."""
    text: str = answer["result"]["content"][0]["text"]
    return text


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a bridge with this home, and of the process that it starts."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("BACKSTORY_")}
    return {**ours, "BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1", "MCP_PORT": "0", **more}


def as_server(home: Path, cwd: Path | None = None) -> StdioServerParameters:
    """The bridge as a client of the SDK starts it."""
    return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment(home), cwd=cwd)


class Bridge:
    """A bridge that is spoken to line by line."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(home, **variables),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:  # closes the pipes, and waits
            self.process.kill()

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, *messages: Mapping[str, object]) -> None:
        """Send messages in one write."""
        self.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def receive(self) -> Answer:
        """The next message from the bridge."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the bridge ended"
        message: Answer = json.loads(line)
        return message

    def answer(self) -> Answer:
        """The next answer, of a session that may hear at any time that the list of resources changed."""
        while (message := self.receive()).get("method") == LISTED_ANEW:
            pass
        return message

    def ask(self, message: Mapping[str, object]) -> Answer:
        """Send a request and take the next message but news of lists, which must be its answer."""
        self.send(message)
        answer = self.answer()
        assert answer.get("id") == message["id"], answer
        return answer

    def open_session(self) -> Answer:
        """Go through the handshake of the legacy era."""
        answer = self.ask({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": INITIALIZE})
        self.send(note("notifications/initialized"))
        return answer

    def end(self) -> int:
        """Close stdin and wait for the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()


class Place:
    """A home with the fixture server in it, which can be killed and replaced."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.where = Whereabouts(home)
        self.server = self._start()

    @property
    def home(self) -> Path:
        return self.where.home

    def hear(self, *texts: str) -> None:
        """Wait until the server has said all of this."""
        assert self.server.stdout is not None
        awaited = set(texts)
        while awaited:
            line = self.server.stdout.readline()
            assert line, f"the server ended without a word of {awaited}"
            awaited.discard(line.strip())

    def kill(self) -> None:
        """End the server without warning."""
        with self.server:
            self.server.kill()

    @contextmanager
    def replacing(self, **changes: str) -> Iterator[None]:
        """Replace the server if it does not die in the block; no bridge starts a process meanwhile."""
        with waiting_lock(self.where.start_lock):
            yield
            self.kill()
            self.server = self._start(**changes)

    def _start(self, **changes: str) -> "subprocess.Popen[str]":
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.bridge_server", str(self.where.home)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, **changes},
        )
        assert server.stdout is not None
        assert server.stdout.readline() == "listening\n"
        return server
