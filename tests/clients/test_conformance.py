"""The conformance suite of the Model Context Protocol, for both revisions that are served.

The suite calls tools by agreed names, so it meets a server that has them beside its own, behind the
same transport and guard. What it can try without them, it tries on the server as it is.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.parties import TIMEOUT_S, Clients

REPOSITORY = Path(__file__).parents[2]

WITHOUT_FIXTURES = {
    "2025-11-25": [
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
    "2026-07-28": [
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "input-required-result-unsupported-methods",
    ],
}


@contextmanager
def served(home: Path, *arguments: str) -> Iterator[str]:
    """A server that runs until the block ends; the address is the first line it prints."""
    command = [sys.executable, "-m", "tests.clients.server", str(home), *arguments]
    log = (home.parent / "server.log").open("w")
    with (
        log,
        subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


@pytest.fixture(scope="module")
def with_fixtures(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("conformance") / "home", "--fixtures") as url:
        yield url


@pytest.fixture(scope="module")
def as_it_is(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("conformance") / "home") as url:
        yield url


@pytest.mark.parametrize("revision", WITHOUT_FIXTURES)
def test_all_that_a_revision_requires_is_met(clients: Clients, with_fixtures: str, revision: str) -> None:
    done = clients.run("conformance", "server", "--url", with_fixtures, "--requirements", revision)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, scenario) for revision, scenarios in WITHOUT_FIXTURES.items() for scenario in scenarios],
)
def test_the_server_as_it_is_passes(clients: Clients, as_it_is: str, revision: str, scenario: str) -> None:
    asked = ("--scenario", scenario, "--spec-version", revision)
    done = clients.run("conformance", "server", "--url", as_it_is, *asked)

    assert done.returncode == 0, done.stdout
