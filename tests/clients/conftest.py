"""Other people's clients, and a Backstory of the test's own for them to talk to.

`MCP_CLIENTS` names the folder that `.ci/node` installed the clients into. Without it these
tests are left out; nothing here fetches anything.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.parties import Backstory, Clients


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Clients:
    installed = os.environ.get("MCP_CLIENTS")
    if not installed:
        pytest.skip("needs MCP clients: `.ci/node FOLDER` installs them, MCP_CLIENTS=FOLDER uses them")
    return Clients(Path(installed), tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def backstory(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backstory]:
    """Runs when the test begins, and is stopped when the module's tests are done."""
    process = Backstory(tmp_path_factory.mktemp("backstory") / "home")
    process.run("stats")
    try:
        yield process
    finally:
        process.run("stop")
