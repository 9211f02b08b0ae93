"""Claude Code: connects over stdin and over HTTP, and works with the tools.

The model behind it is a script on loopback, so that nothing leaves the machine; everything else is
the real program.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstory.cli.connecting import claude_by_http, claude_by_stdio, mcp_json
from tests.clients.model import ScriptedModel, ToolUse, playing
from tests.clients.parties import Backstory, Clients

QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

LESSON = "The payment service retries with the same idempotency key."
QUESTION = "how are payments retried?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the user works: the default project comes from it."""
    made = tmp_path / "shop"
    made.mkdir()
    return made


def test_the_line_we_show_connects_it_over_stdin(
    clients: Clients, backstory: Backstory, folder: Path
) -> None:
    assert "Connected" in listed_after(claude_by_stdio(backstory.environ), clients, folder)


def test_the_line_we_show_connects_it_over_http(clients: Clients, backstory: Backstory, folder: Path) -> None:
    assert "Connected" in listed_after(claude_by_http(backstory.url, backstory.token), clients, folder)


def test_does_not_connect_over_http_without_the_token(
    clients: Clients, backstory: Backstory, folder: Path
) -> None:
    adding = f"claude mcp add --transport http backstory {backstory.url}/mcp"

    assert "Connected" not in listed_after(adding, clients, folder)


def listed_after(adding: str, clients: Clients, folder: Path) -> str:
    """What the list of servers says about the one that was just added."""
    added = clients.run("sh", "-c", adding, cwd=folder, **QUIET)
    assert added.returncode == 0, added.stderr
    listed = clients.run("claude", "mcp", "list", cwd=folder, **QUIET)
    (line,) = (line for line in listed.stdout.splitlines() if line.startswith("backstory:"))
    return line


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """Looks for the tools as they are named to it, keeps a lesson, and asks for it."""
    wanted = "select:mcp__backstory__memory_add,mcp__backstory__memory_search"
    script = [
        ToolUse("ToolSearch", {"query": wanted, "max_results": 2}),
        ToolUse("mcp__backstory__memory_add", {"content": LESSON, "type": "design"}),
        ToolUse("mcp__backstory__memory_search", {"query": QUESTION}),
    ]
    with playing(script) as played:
        yield played


def test_a_model_keeps_a_memory_and_finds_it_again(
    clients: Clients, backstory: Backstory, folder: Path, model: ScriptedModel
) -> None:
    done = clients.run(
        "claude",
        *("-p", "Remember how payments are retried.", "--allowedTools", "mcp__backstory"),
        *("--strict-mcp-config", "--mcp-config", mcp_json(backstory.environ)),
        cwd=folder,
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="none",
        **QUIET,
    )

    assert done.returncode == 0, done.stderr
    _, kept, found = model.results
    (hit,) = json.loads(found)["hits"]
    assert hit["content"] == LESSON
    assert hit["id"] == json.loads(kept)["id"]
    assert LESSON in backstory.run("memory", "search", QUESTION, "--project", str(folder))
