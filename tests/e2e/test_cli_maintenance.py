"""`rebuild`, `backup` and `restore` as they are typed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.search import search_memories
from backstory.model.memory import NewMemory
from backstory.model.project import Project
from backstory.model.search import MemoryQuery

from .conftest import Opening

SHOP = Project("shop")


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"}
    command = [sys.executable, "-m", "backstory", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def filled(home: Path, opening: Opening) -> Path:
    with opening() as engine:
        add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))
    return home


def test_a_store_is_backed_up_and_restored(filled: Path, opening: Opening, tmp_path: Path) -> None:
    backup = tmp_path / "monday.backup"

    assert "Backed up 1 memories" in run(filled, "backup", str(backup)).stdout
    restored = run(filled, "restore", str(backup), "--json")

    answer = json.loads(restored.stdout)
    assert answer["memories"] == 1
    assert Path(answer["replaced"]).is_dir()
    with opening() as engine:
        assert search_memories(engine, SHOP, MemoryQuery("jittered")).hits


def test_a_rebuild_says_what_it_made(filled: Path) -> None:
    done = run(filled, "rebuild")

    assert done.returncode == 0
    assert done.stdout == "Rebuilt: memories-2 with 1 entries.\n"
    assert json.loads(run(filled, "rebuild", "--json").stdout) == {"entries": {"memories-3": 1}}


def test_a_store_in_use_is_left_alone_and_the_owner_named(filled: Path, opening: Opening) -> None:
    with opening():
        refused = run(filled, "rebuild")

    assert refused.returncode == 1
    assert f"process {os.getpid()}" in refused.stderr
    assert "Hint:" in refused.stderr


def test_something_that_is_no_backup_is_refused(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a backup")

    refused = run(filled, "restore", str(tmp_path / "notes.txt"))

    assert refused.returncode == 1
    assert "is not a whole backup" in refused.stderr


def test_help_lists_every_command(home: Path) -> None:
    listed = run(home, "--help").stdout

    assert all(command in listed for command in ("config", "doctor", "rebuild", "backup", "restore"))
