"""A whole engine on embedded stores, in a folder of the test's own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from backstory.engine import Engine
from backstory.settings import Settings, read_settings
from backstory.wiring import open_engine

Opening = Callable[[], AbstractContextManager[Engine]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def settings(home: Path) -> Settings:
    return read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})


@pytest.fixture
def opening(settings: Settings) -> Opening:
    """Opens the same store again and again, as processes do one after another."""
    return lambda: open_engine(settings)


@pytest.fixture
def engine(opening: Opening) -> Iterator[Engine]:
    with opening() as opened:
        yield opened
