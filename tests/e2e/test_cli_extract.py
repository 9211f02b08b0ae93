"""`backstory memory extract`, against a process that it starts itself."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .program import Program
from .transcript_files import Exchange, Use, session_id, write_transcript

DECISION = "Let's keep the orders in SQLite because nobody has to install it."
PYTEST = Use("Bash", {"command": "pytest -q"}, "FAILED tests/test_orders.py::test_total - assert 2 == 3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose agent left a transcript."""
    return tmp_path_factory.mktemp("shop")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Program]:
    root = tmp_path_factory.mktemp("cli")
    write_transcript(
        root / "projects",
        "orders",
        str(folder),
        Exchange("Where do the orders go?", "To Postgres for now.", [PYTEST]),
        Exchange(DECISION, "Done. I fixed it by rounding once, and test_total passes now."),
    )
    program = Program(root / "home", CLAUDE_PROJECTS_DIR=str(root / "projects"))
    assert program("index", "--all").exit_code == 0
    yield program
    program.stop()


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_a_transcript_is_read_and_nothing_is_kept_until_it_is_asked_for(program: Program) -> None:
    id = session_id("orders")

    seen = program.json("memory", "extract", id)
    assert program.json("stats")["total"] == 0
    kept = program.json("memory", "extract", id, "--keep", "--type", "design", "--type", "test_history")

    assert [each["type"] for each in seen["candidates"]] == ["test_history", "design", "session"]
    assert seen["candidates"][0]["metadata"]["fix_applied"]
    assert [each["evidence"] for each in kept["candidates"]] == [PYTEST.result, DECISION]
    assert kept["kept"] == program.json("stats")["total"] == 2
    assert program.json("memory", "get", kept["candidates"][1]["id"])["metadata"]["session_id"] == id


def test_a_text_comes_from_standard_input(program: Program) -> None:
    shown = program("memory", "extract", "-", "--project", "elsewhere", stdin="Always use pnpm, never npm.\n")
    told = program(
        "memory", "extract", "-", "--min-confidence", "1", "--json", stdin="Always use pnpm, never npm.\n"
    )

    assert shown.exit_code == 0
    assert "js_package_manager" in shown.stdout
    assert json.loads(told.stdout)["candidates"] == []


def test_a_session_that_is_not_there_is_told_with_what_to_do(program: Program) -> None:
    failed = program("memory", "extract", "nowhere")

    assert failed.exit_code == 1
    assert "there is no session nowhere" in failed.stderr
    assert "Hint:" in failed.stderr
