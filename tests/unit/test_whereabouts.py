"""Where the data folder is, on every platform, and what is in it."""

import sys
from pathlib import Path

import platformdirs
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from backstory.bridge.whereabouts import Whereabouts, find_whereabouts

ENVIRONMENTS = [
    {"HOME": "/home/ada"},
    {"HOME": "/home/ada", "XDG_DATA_HOME": "/srv/data"},
    {"HOME": "/home/ada", "XDG_DATA_HOME": "relative/is/ignored"},
    {"HOME": "/home/ada", "XDG_DATA_HOME": ""},
]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "BACKSTORY_HOME"):
        monkeypatch.delenv(name, raising=False)


def _set(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("environ", [{}, *ENVIRONMENTS])
def test_the_folder_is_the_one_platformdirs_gives_here(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, environ)

    expected = platformdirs.user_data_path("backstory", appauthor=False)

    assert find_whereabouts(environ).home == expected


@pytest.mark.skipif(sys.platform == "win32", reason="a home folder is found otherwise there")
@pytest.mark.parametrize("environ", ENVIRONMENTS)
@pytest.mark.parametrize(("platform", "rule"), [("darwin", MacOS), ("linux", Unix)])
def test_the_folder_is_the_one_platformdirs_gives_elsewhere(
    platform: str, rule: type[MacOS | Unix], environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, environ)

    assert find_whereabouts(environ, platform).home == rule("backstory", appauthor=False).user_data_path


def test_on_windows_the_folder_is_in_the_local_application_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", "C:\\Users\\ada\\AppData\\Local")
    expected = Windows("backstory", appauthor=False).user_data_path

    found = find_whereabouts({"LOCALAPPDATA": "C:\\Users\\ada\\AppData\\Local"}, "win32")

    assert found.home == expected.absolute()


def test_on_windows_the_folder_is_below_the_home_folder_when_no_variable_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))

    assert find_whereabouts({}, "win32").home == Path("/home/ada/AppData/Local/backstory").absolute()


def test_backstory_home_names_the_folder_itself(tmp_path: Path) -> None:
    assert find_whereabouts({"BACKSTORY_HOME": str(tmp_path / "memories")}).home == tmp_path / "memories"


def test_a_tilde_in_backstory_home_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")

    assert find_whereabouts({"BACKSTORY_HOME": "~/memories"}).home == Path("/home/ada/memories").absolute()


def test_a_relative_backstory_home_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert find_whereabouts({"BACKSTORY_HOME": ".backstory"}).home == Path.cwd() / ".backstory"


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_backstory_home_counts_as_unset(empty: str) -> None:
    assert find_whereabouts({"BACKSTORY_HOME": empty}) == find_whereabouts({})


def test_everything_is_kept_in_the_folder() -> None:
    where = Whereabouts(Path("/data"))

    places = [
        where.records,
        where.vectors,
        where.graph,
        where.cache,
        where.owner_lock,
        where.token,
        where.process,
        where.start_lock,
        where.config,
        where.logs,
    ]

    assert [place.relative_to("/data").as_posix() for place in places] == [
        "backstory.db",
        "vectors",
        "graph",
        "cache",
        "owner.lock",
        "token",
        "process.json",
        "start.lock",
        "config.toml",
        "logs",
    ]
