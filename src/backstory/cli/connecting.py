"""The exact lines that connect an agent to this installation."""

import json
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path


def program() -> list[str]:
    """The command that runs this installation, wherever it is called from."""
    script = shutil.which("backstory", path=sysconfig.get_path("scripts"))
    return [script] if script else [sys.executable, "-m", "backstory"]


def claude_by_stdio(environ: Mapping[str, str]) -> str:
    """The command that adds the bridge to Claude Code, with the variables that it must pass on.

    For all of the user's projects: the bridge tells the process in which one it was started.
    """
    options = [text for name, value in environ.items() for text in ("--env", f"{name}={value}")]
    words = ["claude", "mcp", "add", "--scope", "user", "backstory", *options, "--", *program(), "mcp"]
    return shlex.join(words)


def claude_by_http(url: str, token: Path) -> str:
    """The command that adds a running process to Claude Code, run in the project's folder.

    The token is read when it is run; the folder is told because HTTP does not tell it.
    """
    bearer = f'"Authorization: Bearer $(cat {shlex.quote(str(token))})"'
    folder = '"Backstory-Directory: $PWD"'
    return f"claude mcp add --transport http backstory {url}/mcp --header {bearer} --header {folder}"


def mcp_json(environ: Mapping[str, str]) -> str:
    """What a repository's `.mcp.json` says to connect everybody who works in it."""
    command, *arguments = [*program(), "mcp"]
    server = {"command": command, "args": arguments, **({"env": dict(environ)} if environ else {})}
    return json.dumps({"mcpServers": {"backstory": server}})
