"""The program `backstory` with a data folder of its own: in this process, or in one of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner, Result

from backstory.bridge.whereabouts import Whereabouts
from backstory.cli import backstory
from backstory.http import client
from backstory.settings.catalogue import CONFIG, HOME, SETTINGS

VARIABLES = [setting.variable for setting in (HOME, CONFIG, *SETTINGS.values())]


class Program:
    """Runs commands. What they start listens on any free port, and is stopped by `stop`."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.where = Whereabouts(home)
        self.set = {"BACKSTORY_HOME": str(home), "MCP_PORT": "0", "BACKSTORY_MIN_FREE_MB": "1", **environ}

    def __call__(self, *arguments: str, stdin: str | None = None, **environ: str) -> Result:
        """Run a command in this process."""
        unset = dict.fromkeys(VARIABLES)
        return CliRunner().invoke(backstory, arguments, input=stdin, env={**unset, **self.set, **environ})

    def json(self, *arguments: str, **environ: str) -> Any:
        """What a command answers with --json."""
        done = self(*arguments, "--json", **environ)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in a process of its own."""
        command, environ = self._command(*arguments), self._environ()
        return subprocess.run(
            command, env=environ, input=stdin, capture_output=True, text=True, check=False, timeout=60
        )

    @contextmanager
    def running(
        self, *arguments: str, stderr: int | IO[str] = subprocess.PIPE
    ) -> Iterator["subprocess.Popen[str]"]:
        """A command that goes on in a process of its own, and is interrupted at the end at the latest."""
        command, environ = self._command(*arguments), self._environ()
        with subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """Leave no process behind."""
        client.stop(self.where)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "backstory", *arguments]

    def _environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        return {**kept, **self.set}
