"""The MCP inspector, by its command line: over stdin and over HTTP, in both eras of the protocol."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.clients.parties import Backstory, Clients

Inspect = Callable[..., Any]

WAYS = ("stdio", "http")
ERAS = ("legacy", "modern")


def target(backstory: Backstory, way: str) -> Sequence[str]:
    """What the inspector is told to connect to."""
    if way == "http":
        header = f"Authorization: Bearer {backstory.token.read_text('ascii').strip()}"
        return [f"{backstory.url}/mcp", "--header", header, "--stored-auth-only"]
    given = [part for name, value in backstory.environ.items() for part in ("-e", f"{name}={value}")]
    return [*backstory.command, *given]


@pytest.fixture(params=[(way, era) for way in WAYS for era in ERAS], ids="-".join)
def inspect(
    request: pytest.FixtureRequest, clients: Clients, backstory: Backstory, tmp_path: Path
) -> Inspect:
    """Calls a method and gives its result, which must have come without a complaint."""
    way, era = request.param

    def call(method: str, *arguments: str) -> Any:
        done = clients.run(
            "mcp-inspector",
            "--cli",
            *target(backstory, way),
            *("--method", method, "--protocol-era", era, "--format", "json", *arguments),
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return json.loads(done.stdout)["result"]

    return call


def test_the_schemas_of_the_tools_suit_every_client(inspect: Inspect) -> None:
    listed = inspect("tools/list", "--strict")

    assert {"memory_add", "memory_search"} <= {tool["name"] for tool in listed["tools"]}


def test_what_is_added_is_found(inspect: Inspect) -> None:
    content = "Migrations run before the new version is started."
    added = inspect(
        "tools/call", "--tool-name", "memory_add", "--tool-arg", f"content={content}", "type=design"
    )
    found = inspect(
        "tools/call", "--tool-name", "memory_search", "--tool-arg", "query=when do migrations run"
    )

    assert not added["isError"]
    assert content in json.dumps(found["structuredContent"])
    assert content in found["content"][0]["text"]
