"""`rebuild`, `backup` and `restore` as they are typed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstory.settings import read_settings
from backstory.wiring import open_engine

from .program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program that keeps one memory, of the project `shop`."""
    program = Program(tmp_path_factory.mktemp("cli") / "home")
    program("memory", "add", "design", "Retries use jittered backoff.", "--project", "shop")
    yield program
    program.stop()


def test_a_rebuild_says_what_it_made(program: Program) -> None:
    text, answer = program("rebuild"), program.json("rebuild")

    assert (
        text.stdout
        == "Rebuilt: memories-2 with 1 entries, sessions-2 with 0 entries, turns-2 with 0 entries.\n"
    )
    assert text.stderr == ""  # no bar where there is no terminal
    assert answer == {"entries": {"memories-3": 1, "sessions-3": 0, "turns-3": 0}}


def test_a_backup_is_written_where_the_command_was_typed(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    answer = program.json("backup", "monday.backup")

    assert (answer["memories"], answer["path"]) == (1, str(tmp_path / "monday.backup"))
    assert (tmp_path / "monday.backup").stat().st_size == answer["size_bytes"]
    assert "Backed up 1 memories" in program("backup", "tuesday.backup").stdout


def test_a_backup_never_overwrites_a_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")

    refused = program("backup", str(tmp_path / "taken"))

    assert refused.exit_code == 1
    assert (tmp_path / "taken").read_text() == "mine"


def test_nothing_is_restored_while_the_process_runs(program: Program, tmp_path: Path) -> None:
    program("backup", str(tmp_path / "backup"))

    refused = program("restore", str(tmp_path / "backup"))

    assert refused.exit_code == 1
    assert f"process {program.json('status')['pid']}" in refused.stderr
    assert "backstory stop" in refused.stderr
    assert program("status").exit_code == 0


def test_a_store_is_restored_and_found_again(program: Program, tmp_path: Path) -> None:
    program("backup", str(tmp_path / "backup"))
    program("memory", "add", "design", "Too late.", "--project", "shop")
    program("stop")

    restored = program.json("restore", str(tmp_path / "backup"))

    assert restored["memories"] == 1
    assert Path(restored["replaced"]).is_dir()
    (hit,) = program.json("memory", "search", "jittered", "--project", "shop")["hits"]
    assert hit["content"] == "Retries use jittered backoff."


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    program = Program(tmp_path / "home")
    (tmp_path / "notes.txt").write_text("not a backup")

    refused = program("restore", str(tmp_path / "notes.txt"), "--json")

    assert refused.exit_code == 1
    assert "is not a whole backup" in json.loads(refused.stderr)["error"]["message"]
    assert program("restore", str(tmp_path / "nothing")).exit_code == 2


def test_nothing_is_restored_while_another_program_owns_the_data(tmp_path: Path) -> None:
    program = Program(tmp_path / "home")
    (tmp_path / "backup").touch()

    with open_engine(read_settings(program.set)):
        refused = program("restore", str(tmp_path / "backup"))

    assert refused.exit_code == 1
    assert f"process {os.getpid()}" in refused.stderr
    assert "Hint: " in refused.stderr
