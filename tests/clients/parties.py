"""Who takes part in these tests: clients of other people's making, and a Backstory of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Far more than a client needs; one that waits for a login or an answer that never comes is ended.
TIMEOUT_S = 120

BACKSTORY = [sys.executable, "-m", "backstory"]


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients, started in a folder and with a home of their own, and none of our environment."""

    installed: Path
    home: Path

    def run(
        self, program: str, *arguments: str, cwd: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a client to its end; what it printed and its exit status are for the caller to judge."""
        return subprocess.run(
            [program, *arguments],
            cwd=cwd or self.home,
            env={"HOME": str(self.home), "PATH": self._path, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    @property
    def _path(self) -> str:
        own = (self.installed / "bin", self.installed / "mcp/node_modules/.bin")
        return os.pathsep.join([*map(str, own), os.environ["PATH"]])


@dataclass(frozen=True, slots=True)
class Backstory:
    """A process of ours with a data folder of its own, and the ways to it."""

    home: Path

    @property
    def command(self) -> Sequence[str]:
        """What a client starts to talk over stdin and stdout."""
        return [*BACKSTORY, "mcp"]

    @property
    def url(self) -> str:
        """Where it listens."""
        return str(json.loads((self.home / "process.json").read_text("utf-8"))["url"])

    @property
    def token(self) -> Path:
        """The file with the secret that lets a client in."""
        return self.home / "token"

    @property
    def environ(self) -> Mapping[str, str]:
        """What makes a command of ours find this folder. Clients ask faster than people do."""
        return {
            "BACKSTORY_HOME": str(self.home),
            "MCP_PORT": "0",
            "BACKSTORY_REQUESTS_PER_MINUTE": "off",
        }

    def run(self, *arguments: str) -> str:
        """What a command of ours prints."""
        return subprocess.run(
            [*BACKSTORY, *arguments],
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        ).stdout
