"""`backstory doctor`: what it looks at, what it says to do, and how it ends."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backstory.cli import backstory, doctor
from backstory.cli.doctor import (
    LIBRARIES,
    Check,
    data_folder,
    library,
    python,
    records_file,
    sqlite,
)
from backstory.settings.catalogue import CONFIG, HOME, SETTINGS

VARIABLES = [setting.variable for setting in (HOME, CONFIG, *SETTINGS.values())]


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading every library takes seconds; one test does it."""
    monkeypatch.setattr(doctor, "LIBRARIES", {})


def examine(home: Path, **environ: str) -> Result:
    unset = dict.fromkeys(VARIABLES)
    return CliRunner().invoke(
        backstory, ["doctor", "--json"], env={**unset, "BACKSTORY_HOME": str(home), **environ}
    )


def failing(result: Result) -> dict[str, str]:
    return {each["name"]: each["remedy"] for each in json.loads(result.output)["checks"] if not each["ok"]}


def test_all_is_right_on_a_fresh_machine(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "HOME") if name in os.environ}
    home = tmp_path / "not" / "there" / "yet"

    done = subprocess.run(
        [sys.executable, "-m", "backstory", "doctor"],
        env={**kept, "BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "0"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert {line[:6] for line in done.stdout.splitlines()} == {"ok    "}
    assert all(f"{name}: {metadata.version(name)}" in done.stdout for name in LIBRARIES)
    assert list(tmp_path.iterdir()) == []


def test_the_libraries_it_loads_are_those_backstory_depends_on() -> None:
    required = " ".join(metadata.requires("backstory") or [])

    assert all(name in required for name in LIBRARIES)


@pytest.mark.usefixtures("without_libraries")
def test_everything_is_told_as_json_with_what_to_do(tmp_path: Path) -> None:
    result = examine(tmp_path, BACKSTORY_EMBEDDER="ollama", NEO4J_URI="bolt://graph")

    assert result.exit_code == 1
    assert json.loads(result.output)["ok"] is False
    assert failing(result) == {
        "graph": "set BACKSTORY_GRAPH=embedded to use the embedded engine",
        "embedder": "set BACKSTORY_EMBEDDER=static to use the built-in model",
    }


@pytest.mark.usefixtures("without_libraries")
def test_bad_settings_fail_with_what_is_allowed(tmp_path: Path) -> None:
    result = examine(tmp_path, MCP_PORT="http")

    assert result.exit_code == 1
    assert "correct it" in failing(result)["settings"]
    assert "from 1 to 65535" in result.output


@pytest.mark.usefixtures("without_libraries")
@pytest.mark.parametrize(
    ("variable", "remedy"),
    [
        ("BACKSTORY_TOOLSET", "use BACKSTORY_TOOLSETS in place of BACKSTORY_TOOLSET"),
        ("BACKSTORY_ZZZZ", "`backstory config` shows all"),
    ],
)
def test_a_misspelt_variable_is_noted_without_failing(tmp_path: Path, variable: str, remedy: str) -> None:
    environ = {"BACKSTORY_HOME": str(tmp_path), "BACKSTORY_MIN_FREE_MB": "0", variable: "x"}

    result = CliRunner().invoke(backstory, ["doctor"], env=environ)

    assert result.exit_code == 0
    assert "note  variables: " in result.output
    assert remedy in result.output


@pytest.mark.usefixtures("without_libraries")
def test_too_little_free_space_fails(tmp_path: Path) -> None:
    result = examine(tmp_path, BACKSTORY_MIN_FREE_MB="999999999999")

    assert failing(result).keys() == {"disk"}


@pytest.mark.usefixtures("without_libraries")
def test_a_data_folder_that_cannot_be_made_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    result = examine(tmp_path / "file" / "home")

    assert "BACKSTORY_HOME" in failing(result)["data folder"]


@pytest.mark.usefixtures("without_libraries")
def test_a_damaged_records_file_fails_and_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "backstory.db").write_bytes(b"not a database" * 100)

    result = examine(tmp_path)

    assert "backup" in failing(result)["records file"]
    assert (tmp_path / "backstory.db").read_bytes() == b"not a database" * 100


def _records(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE memories (content TEXT)")
        connection.executemany("INSERT INTO memories VALUES (?)", [("x" * 1000,)] * 100)


def test_a_sound_records_file_passes(tmp_path: Path) -> None:
    path = tmp_path / "with blank and %41.db"
    _records(path)

    assert records_file(path) == Check("records file", ok=True, finding=f"{path} is sound")


def test_a_records_file_with_a_broken_page_is_found(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    _records(path)
    content = bytearray(path.read_bytes())
    content[4096 * 2 : 4096 * 3] = b"\xff" * 4096
    path.write_bytes(content)

    check = records_file(path)

    assert not check.ok
    assert "is damaged" in check.finding


def test_a_records_file_that_cannot_be_opened_fails(tmp_path: Path) -> None:
    check = records_file(tmp_path)

    assert not check.ok
    assert "cannot be read" in check.finding


def test_an_old_python_fails() -> None:
    assert python((3, 10, 14)) == Check(
        "python", ok=False, finding="3.10.14", remedy="install Python 3.11 or newer"
    )


def test_a_sqlite_without_what_records_need_fails() -> None:
    check = sqlite({"FTS5": "SELECT 1", "magic": "SELECT magic()"})

    assert not check.ok
    assert check.finding.endswith("built without magic")


def test_a_library_that_is_not_installed_fails() -> None:
    check = library("backstory-no-such-library", "no_such_library")

    assert (check.ok, check.finding) == (False, "not installed")


def test_a_library_that_does_not_load_fails_with_the_reason() -> None:
    check = library("click", "no_such_module")

    assert not check.ok
    assert "No module named 'no_such_module'" in check.finding


def test_a_library_that_ends_its_process_fails() -> None:
    check = library("click", "os; os._exit(9)")

    assert not check.ok
    assert check.finding.endswith("ended with code 9")


def test_the_data_folder_is_probed_without_a_trace(tmp_path: Path) -> None:
    assert data_folder(tmp_path).ok
    assert list(tmp_path.iterdir()) == []
