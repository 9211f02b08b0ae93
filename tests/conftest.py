"""For every test: a home that is nobody's, and temporary folders in memory where there is room for them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Where Linux keeps files in memory. A store of three indexes takes 46 MB and is made there in 0.2 s instead
#: of 0.4, with no waiting for the disk: on a busy one it took 1 to 6 s.
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30


def pytest_configure(config: pytest.Config) -> None:
    """Have temporary folders in memory, if those of tests that passed are deleted at once."""
    kept = config.getini("tmp_path_retention_policy") == "all"
    if not kept and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where `~` is, for the tests and for what they start: no test reads what agents left on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("nobody")))
        patch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        patch.delenv("CLAUDE_PROJECTS_DIR", raising=False)
        patch.delenv("CODEX_HOME", raising=False)
        yield
