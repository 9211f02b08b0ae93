"""Who is measured: the process, and a bare server of the SDK beside it. Both end with the block."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.sessions import Address, Command

_REPOSITORY: Final = Path(__file__).parents[1]
_BACKSTORY: Final = [sys.executable, "-m", "backstory"]
_BARE: Final = [sys.executable, "-m", "benchmarks.bare_server"]
_LISTENS_WITHIN_S: Final = 60.0

BARE_COMMAND: Final = Command(_BARE, {"PYTHONPATH": str(_REPOSITORY)})


@dataclass(frozen=True, slots=True)
class Process:
    """The process under test; it may be stopped and started again."""

    home: Path

    @property
    def environ(self) -> Mapping[str, str]:
        """A folder of its own, any free port, as many requests as can be made, and nobody's transcripts."""
        return {
            "BACKSTORY_HOME": str(self.home),
            "MCP_PORT": "0",
            "BACKSTORY_REQUESTS_PER_MINUTE": "off",
            "ENABLE_CONVERSATION_MEMORY": "false",
        }

    @property
    def pid(self) -> int:
        """The process id of the one that runs."""
        return int(self._described["pid"])

    @property
    def bridge(self) -> Command:
        """What a client starts to talk over stdin."""
        return Command([*_BACKSTORY, "mcp"], self.environ)

    @property
    def address(self) -> Address:
        """Where a client reaches it over HTTP."""
        token = (self.home / "token").read_text("ascii").strip()
        return Address(f"{self._described['url']}/mcp", {"Authorization": f"Bearer {token}"})

    def stop(self) -> None:
        """End it; nothing happens when it does not run."""
        command, environ = [*_BACKSTORY, "stop"], {**os.environ, **self.environ}
        subprocess.run(command, env=environ, check=False, capture_output=True)

    @property
    def _described(self) -> Mapping[str, str]:
        described: dict[str, str] = json.loads((self.home / "process.json").read_text("utf-8"))
        return described


@dataclass(frozen=True, slots=True)
class Bare:
    """The server to compare with, as it runs for HTTP and as it is started for stdin."""

    pid: int
    address: Address
    command: Command = BARE_COMMAND


@contextmanager
def process(home: Path) -> Iterator[Process]:
    """The process for a folder, which whoever needs it first starts; stopped when the block ends."""
    own = Process(home)
    try:
        yield own
    finally:
        own.stop()


@contextmanager
def bare() -> Iterator[Bare]:
    """A server of the SDK that runs until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [*_BARE, str(port)], cwd=_REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _await_listening(port)
            yield Bare(server.pid, Address(f"http://127.0.0.1:{port}/mcp"))
        finally:
            server.terminate()


def _await_listening(port: int) -> None:
    deadline = time.monotonic() + _LISTENS_WITHIN_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
