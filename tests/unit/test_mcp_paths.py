"""Paths that a caller names to a tool: which are taken, and which are refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_types import ToolAnnotations

from backstory.engine import Engine, Work
from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments
from backstory.mcp.calls import Caller, Outcome, perform
from backstory.mcp.face import Face
from backstory.mcp.tool import Request, Tool
from backstory.settings import read_settings
from backstory.wiring import open_engine


class Named(Arguments):
    """Takes a path."""

    path: str


class Taken(Answer):
    """Says which file it is."""

    path: str


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders: of the caller, in a repository; of the project that settings name; of everybody; of nobody."""
    made = tmp_path_factory.mktemp("places")
    for name in ("code/.git", "code/src", "project", "shared", "nobody"):
        (made / name).mkdir(parents=True)
    (made / "shared" / "out").symlink_to(made / "nobody")
    return made


@pytest.fixture(scope="module")
def engine(places: Path) -> Iterator[Engine]:
    settings = {
        "BACKSTORY_HOME": str(places / "home"),
        "BACKSTORY_MIN_FREE_MB": "1",
        "BACKSTORY_ALLOWED_ROOTS": str(places / "shared"),
        "PROJECT_PATH": str(places / "project"),
    }
    with open_engine(read_settings(settings)) as opened:
        yield opened


def name(engine: Engine, path: str, directory: Path | None) -> Outcome:
    """What comes of naming a path to a tool."""

    def function(request: Request, asked: Named) -> Taken:
        return Taken(path=str(request.path(asked.path)))

    tool = Tool(
        "take", "Take", "Takes.", ("core",), ToolAnnotations(), Named, Taken, function, lambda told: told.path
    )
    return perform(Face(engine, tools={"take": tool}), "take", {"path": path}, Caller(directory), Work())


@pytest.mark.parametrize(
    "path", ["a.md", "../README.md", "{}/code/a.md", "{}/project/a.md", "{}/shared/a.md"]
)
def test_a_caller_may_name_what_is_its_own_and_what_settings_allow(
    engine: Engine, places: Path, path: str
) -> None:
    named = path.format(places)

    taken = name(engine, named, places / "code" / "src")

    assert taken.text == str((places / "code" / "src" / named).resolve())


@pytest.mark.parametrize(
    "path", ["{}/nobody/a.md", "../../nobody/a.md", "{}/shared/out/a.md", "{}/shared/../nobody", "~", "a\0b"]
)
def test_everything_else_is_a_mistake_of_the_caller(engine: Engine, places: Path, path: str) -> None:
    refused = name(engine, path.format(places), places / "code" / "src")

    assert refused.structured is None
    assert "Hint:" in refused.text


def test_who_has_no_folder_may_name_what_settings_allow_by_its_whole_path(
    engine: Engine, places: Path
) -> None:
    assert name(engine, str(places / "shared" / "a.md"), None).error is None
    assert "relative" in name(engine, "a.md", None).text
    assert "BACKSTORY_ALLOWED_ROOTS" in name(engine, str(places / "code" / "a.md"), None).text
