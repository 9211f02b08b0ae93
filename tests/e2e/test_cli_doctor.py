"""`backstory doctor`: what it looks at, what it says to do, and how it ends."""

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backstory.bridge.locking import try_lock
from backstory.bridge.whereabouts import Whereabouts
from backstory.cli import backstory, doctor, process_checks
from backstory.cli.check import Check
from backstory.cli.conversation_checks import conversation_checks, conversation_files, moved_to
from backstory.cli.doctor import LIBRARIES, data_folder, library, python, records_file, sqlite
from backstory.cli.process_checks import no_process, port, token
from backstory.settings import read_settings
from backstory.settings.catalogue import CONFIG, HOME, SETTINGS

from .program import Program

VARIABLES = [setting.variable for setting in (HOME, CONFIG, *SETTINGS.values())]


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading every library takes seconds; one test does it."""
    monkeypatch.setattr(doctor, "LIBRARIES", {})


def examine(home: Path, **environ: str) -> Result:
    unset = dict.fromkeys(VARIABLES)
    return CliRunner().invoke(
        backstory,
        ["doctor", "--json"],
        env={**unset, "BACKSTORY_HOME": str(home), "MCP_PORT": "0", **environ},
    )


def failing(result: Result) -> dict[str, str]:
    return {each["name"]: each["remedy"] for each in json.loads(result.output)["checks"] if not each["ok"]}


def test_all_is_right_on_a_fresh_machine(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "HOME") if name in os.environ}
    home = tmp_path / "not" / "there" / "yet"

    done = subprocess.run(
        [sys.executable, "-m", "backstory", "doctor"],
        env={**kept, "BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "0", "MCP_PORT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert {line[:6] for line in done.stdout.splitlines()} == {"ok    "}
    assert all(f"{name}: {metadata.version(name)}" in done.stdout for name in LIBRARIES)
    assert list(tmp_path.iterdir()) == []


def test_every_library_that_backstory_depends_on_is_looked_at() -> None:
    required = [text for text in metadata.requires("backstory") or [] if ";" not in text]

    assert list(LIBRARIES) == sorted(re.split(r"[<>=~\[ ;]", text)[0] for text in required)


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
    assert "from 0 to 65535" in result.output


@pytest.mark.usefixtures("without_libraries")
@pytest.mark.parametrize(
    ("variable", "remedy"),
    [
        ("BACKSTORY_TOOLSET", "use BACKSTORY_TOOLSETS in place of BACKSTORY_TOOLSET"),
        ("BACKSTORY_ZZZZ", "`backstory config` shows all"),
    ],
)
def test_a_misspelt_variable_is_noted_without_failing(tmp_path: Path, variable: str, remedy: str) -> None:
    environ = {"BACKSTORY_HOME": str(tmp_path), "BACKSTORY_MIN_FREE_MB": "0", "MCP_PORT": "0", variable: "x"}

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


@pytest.mark.usefixtures("without_libraries")
def test_a_running_process_is_asked_and_its_files_are_left_alone(tmp_path: Path) -> None:
    program = Program(tmp_path / "home")
    try:
        program("stats")
        examined = program.json("doctor")
        told = program("doctor")
    finally:
        program.stop()

    checks = {check["name"]: check for check in examined["checks"]}
    assert examined["ok"] is True
    assert {"process", "token", "process records", "process disk"} <= checks.keys()
    assert not {"records file", "data folder", "port"} & checks.keys()
    assert len(checks) == len(examined["checks"])
    assert f"ok    process: {checks['process']['finding']}" in told.stdout.splitlines()


@pytest.mark.usefixtures("without_libraries")
def test_a_process_of_another_version_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(tmp_path / "home")
    try:
        program("stats")
        monkeypatch.setattr(process_checks, "__version__", "99.0")
        told = program("doctor")
    finally:
        program.stop()

    assert told.exit_code == 0
    assert "note  process: " in told.stdout
    assert "-> run `backstory stop`" in told.stdout


def test_somebody_who_holds_the_data_without_answering_is_named(tmp_path: Path) -> None:
    where = Whereabouts(tmp_path)
    with where.owner_lock.open("w+") as file:
        json.dump({"pid": 4711, "id": "x"}, file)
        file.flush()
        assert no_process(where).ok
        assert try_lock(file)

        check = no_process(where)

    assert not check.ok
    assert "process 4711 holds the data" in check.finding


def test_a_token_that_others_can_read_fails(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert token(path).ok
    path.touch(mode=0o600)
    assert token(path).ok

    path.chmod(0o640)

    assert not token(path).ok
    assert "backstory stop" in str(token(path).remedy)


def test_a_port_that_is_taken_fails_if_it_was_chosen(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        chosen = read_settings({"BACKSTORY_HOME": str(tmp_path), "MCP_PORT": str(number)})

        assert not port(chosen).ok
        assert "MCP_PORT" in str(port(chosen).remedy)
    assert port(chosen) == Check("port", ok=True, finding=f"{number} on 127.0.0.1 is free")


def test_a_port_that_nobody_chose_may_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(tmp_path)})
    monkeypatch.setattr(process_checks, "_refusal", lambda host, number: "in use")

    assert port(settings) == Check(
        "port", ok=True, finding=f"{settings.server.port} is not free (in use), so another one is taken"
    )


def test_any_free_port_is_always_there(tmp_path: Path) -> None:
    assert port(read_settings({"BACKSTORY_HOME": str(tmp_path), "MCP_PORT": "0"})).finding == "any free one"


class TestConversations:
    """Where live conversations are, while no process runs."""

    def test_they_are_where_they_were_moved_to(self, tmp_path: Path) -> None:
        (tmp_path / "backstory.db").touch()
        _moved(tmp_path / "backstory.db", "jsonl")
        environ = {"BACKSTORY_HOME": str(tmp_path)}

        (by_default,) = conversation_checks(read_settings(environ))
        (as_set,) = conversation_checks(
            read_settings({**environ, "BACKSTORY_CONVERSATION_STORAGE": "records"})
        )

        assert by_default == Check("conversations", ok=True, finding="kept in jsonl")
        assert not as_set.ok
        assert "others were left in jsonl" in as_set.finding
        assert "BACKSTORY_CONVERSATION_STORAGE to jsonl" in str(as_set.remedy)

    def test_files_that_nobody_moved_away_are_told_of(self, tmp_path: Path) -> None:
        folder = tmp_path / "data" / "context"
        folder.mkdir(parents=True)
        (folder / "1.jsonl").write_bytes(b"{}\n")
        environ = {"BACKSTORY_HOME": str(tmp_path)}

        unset, _ = conversation_checks(read_settings(environ))
        as_set, _ = conversation_checks(read_settings({**environ, "BACKSTORY_CONVERSATION_STORAGE": "jsonl"}))
        _moved(tmp_path / "backstory.db", "records")
        moved, _ = conversation_checks(read_settings(environ))

        assert (unset.ok, unset.finding) == (False, "kept in records; others were left in jsonl")
        assert as_set == Check("conversations", ok=True, finding="kept in jsonl")
        assert moved == Check("conversations", ok=True, finding="kept in records")

    def test_without_records_they_are_where_a_setting_says(self, tmp_path: Path) -> None:
        assert moved_to(tmp_path / "none.db") is None
        (tmp_path / "other.db").write_bytes(b"not a database" * 100)
        assert moved_to(tmp_path / "other.db") is None

        (check,) = conversation_checks(read_settings({"BACKSTORY_HOME": str(tmp_path)}))

        assert check.finding == "kept in records"

    @pytest.mark.parametrize(
        ("first", "last", "ok", "finding"),
        [
            (b"{}\n{}\n", b"{}\n", True, "2 in "),
            (b"{}\n{}\n", b'{}\n{"turn": "broken o', True, "broke off"),
            (b"{}\n{", b"{}\n", False, "line 2 of "),
            (b"{}\n{}\n", b"{}\nrubbish\n{}\n", False, "line 2 of "),
            (b"{}\n{}\n", b"\0" * 100, True, "broke off"),
            (b"[]\n", b"{}\n", False, "line 1 of "),
        ],
        ids=["whole", "torn", "torn before the end", "damaged", "zeros", "no objects"],
    )
    def test_their_files_are_read_line_by_line(
        self, tmp_path: Path, first: bytes, last: bytes, ok: bool, finding: str
    ) -> None:
        files = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
        for file, content in zip(files, (first, last), strict=True):
            file.write_bytes(content)

        check = conversation_files(files)

        assert check.ok == ok
        assert finding in check.finding
        assert [file.read_bytes() for file in files] == [first, last]

    def test_a_file_that_cannot_be_read_fails(self, tmp_path: Path) -> None:
        check = conversation_files([tmp_path])

        assert not check.ok
        assert "cannot be read" in check.finding

    @pytest.mark.usefixtures("without_libraries")
    def test_doctor_looks_at_them(self, tmp_path: Path) -> None:
        folder = tmp_path / "data" / "context"
        folder.mkdir(parents=True)
        (folder / "1.jsonl").write_bytes(b"rubbish\n")

        result = examine(tmp_path, BACKSTORY_MIN_FREE_MB="0", BACKSTORY_CONVERSATION_STORAGE="jsonl")

        assert failing(result) == {"conversation files": "keep a copy of it, then restore your newest backup"}


def _moved(records: Path, to: str) -> None:
    with closing(sqlite3.connect(records)) as connection, connection:
        connection.execute("CREATE TABLE store (key TEXT, value TEXT)")
        connection.execute("INSERT INTO store VALUES ('conversation_storage', ?)", (to,))
