"""For every test: a home that is nobody's, so that no test reads what agents left on this machine."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where `~` is, for the tests and for what they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("nobody")))
        patch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        patch.delenv("CLAUDE_PROJECTS_DIR", raising=False)
        patch.delenv("CODEX_HOME", raising=False)
        yield
