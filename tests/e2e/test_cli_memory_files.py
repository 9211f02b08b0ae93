"""`backstory memory export` and `import`, against a process that they start themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .program import Program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    program = Program(tmp_path_factory.mktemp("cli") / "home")
    yield program
    program.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in a folder of its own, which is a project of its own."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_project_is_written_to_any_file_and_read_in_elsewhere(program: Program, tmp_path: Path) -> None:
    program.json("memory", "add", "design", "Retries wait with jitter.")
    file = tmp_path / "elsewhere" / "export.jsonl"
    file.parent.mkdir()

    written = program.json("memory", "export", str(file))
    read = program.json(
        "memory", "import", "../elsewhere/export.jsonl", "--on-conflict", "keep_both", "--project", "copy"
    )

    assert (written["path"], written["memories"]) == (str(file), 1)
    assert read["outcomes"]["copied"] == 1
    assert len(program.json("memory", "search", "jitter", "--project", "copy")["hits"]) == 1


def test_without_a_file_it_is_in_the_data_folder(program: Program) -> None:
    written = program.json("memory", "export", "--all", "--type", "design", "--from", "2020-01-01")

    assert Path(written["path"]).parent == program.where.home / "exports"


def test_a_project_named_by_a_folder_is_that_of_the_working_folder(program: Program, tmp_path: Path) -> None:
    program.json("memory", "add", "design", "Retries wait with jitter.", "--metadata", "area=net")
    file = str(tmp_path / "export.jsonl")

    assert program.json("memory", "export", file, "--project", ".")["memories"] == 1
    again = ("memory", "export", file, "--overwrite", "--metadata-json")
    assert program.json(*again, '{"area": "net"}')["memories"] == 1
    assert program.json(*again, '{"area": "disk"}')["memories"] == 0


def test_a_file_that_is_there_is_left_alone(program: Program, folder: Path) -> None:
    (folder / "notes.md").write_text("# Notes")

    refused = program("memory", "export", "notes.md")
    never = program("memory", "import", "notes.md")

    assert (refused.exit_code, never.exit_code) == (1, 1)
    assert "exists already" in refused.stderr
    assert "is no export of memories" in never.stderr
    assert (folder / "notes.md").read_text() == "# Notes"
