"""`backstory memory` and `backstory stats`, against a process that they start themselves."""

import json
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
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_memory_is_kept_found_shown_and_deleted(program: Program) -> None:
    id = program.json("memory", "add", "design", "Retries wait with jitter.")["id"]

    (hit,) = program.json("memory", "search", "why do clients wait?")["hits"]
    assert (hit["id"], hit["content"]) == (id, "Retries wait with jitter.")
    assert program.json("memory", "get", id)["content"] == "Retries wait with jitter."
    assert program.json("memory", "delete", id, "--yes")["id"] == id
    assert program.json("memory", "search", "why do clients wait?")["hits"] == []


def test_the_text_is_what_the_process_wrote(program: Program) -> None:
    id = program.json("memory", "add", "design", "Orders go through the outbox.")["id"]

    for command in (("search", "outbox"), ("get", id)):
        shown = program("memory", *command)
        assert shown.exit_code == 0
        assert id in shown.stdout
        assert "Orders go through the outbox." in shown.stdout


def test_the_project_is_that_of_the_working_directory(program: Program, folder: Path) -> None:
    assert program.json("memory", "add", "design", "Prices are in cents.")["project"] == str(folder)
    assert program.json("stats")["total"] == 1
    assert program.json("stats", "--project", "another")["total"] == 0
    assert program.json("stats", "--project", ".")["total"] == 1


def test_a_project_is_named_and_all_are_searched(program: Program) -> None:
    program("memory", "add", "design", "Quarks have colour.", "--project", "physics")

    assert program.json("memory", "search", "quarks")["hits"] == []
    assert len(program.json("memory", "search", "quarks", "--project", "physics")["hits"]) == 1
    assert program.json("memory", "search", "quarks", "--all")["hits"][0]["project"] == "physics"
    assert program.json("stats", "--all")["projects"] >= 2


def test_content_comes_from_standard_input(program: Program) -> None:
    text = 'Line one.\n\n    indented, "quoted", ünïcode\n'

    added = program("memory", "add", "session", "-", "--json", stdin=text)

    shown = program.json("memory", "get", json.loads(added.stdout)["id"])
    assert shown["content"] == text.rstrip("\n")


def test_metadata_is_taken_as_json_where_it_is_json(program: Program) -> None:
    entries = ["title=Outbox", "size=3", "done=true", 'tags=["a","b"]', "ratio=1=2", "empty="]
    options = [text for entry in entries for text in ("--metadata", entry)]

    added = program.json(
        "memory",
        "add",
        "design",
        "x marks",
        *options,
        "--metadata-json",
        '{"size": 1, "more": {"deep": null}}',
    )

    assert program.json("memory", "get", added["id"])["metadata"] == {
        "title": "Outbox",
        "size": 3,
        "done": True,
        "tags": ["a", "b"],
        "ratio": "1=2",
        "empty": "",
        "more": {"deep": None},
    }


def test_importance_and_links_are_kept(program: Program) -> None:
    rule = ["Orders can be undone.", "--metadata", "requirement_id=REQ-ORD-1"]
    first = program.json("memory", "add", "requirement", *rule)["id"]
    second = program.json(
        "memory", "add", "design", "Undo is an event.", "--importance", "0.9",
        "--relate", f"IMPLEMENTS_REQ:{first}",
    )["id"]  # fmt: skip

    shown = program.json("memory", "get", second)
    assert shown["importance"] == 0.9
    (link,) = shown["relationships"]
    assert (link["type"], link["direction"], link["id"]) == ("IMPLEMENTS_REQ", "out", first)


def test_a_search_is_narrowed(program: Program) -> None:
    program("memory", "add", "design", "Carts expire after a day.", "--metadata", "component=cart")
    program("memory", "add", "session", "Carts are drawn as trolleys.", "--metadata", "component=art")

    def found(*options: str) -> list[str]:
        return [hit["type"] for hit in program.json("memory", "search", "carts", *options)["hits"]]

    assert sorted(found()) == ["design", "session"]
    assert found("--type", "design") == ["design"]
    assert sorted(found("--type", "design", "--type", "session")) == ["design", "session"]
    assert found("--metadata", "component=art") == ["session"]
    assert found("--to", "2001-01-01") == []
    assert len(found("--from", "2001-01-01")) == 2


def test_a_cursor_gives_the_next_page(program: Program) -> None:
    for number in range(3):
        program("memory", "add", "design", f"Page note {number}.")

    first = program.json("memory", "search", "page note", "--limit", "2")
    rest = program.json("memory", "search", "page note", "--limit", "2", "--cursor", first["next_cursor"])

    assert len({hit["id"] for hit in first["hits"] + rest["hits"]}) == 3


def test_a_long_memory_is_read_from_a_character_on(program: Program) -> None:
    id = program.json("memory", "add", "design", "abcdefgh")["id"]

    assert program.json("memory", "get", id, "--offset", "4")["content"] == "efgh"


def test_a_deletion_is_asked_about_first(program: Program) -> None:
    id = program.json("memory", "add", "design", "Keep me.")["id"]

    for answer in ("n\n", ""):
        refused = program("memory", "delete", id, stdin=answer)
        assert refused.exit_code == 1
        assert refused.stdout == ""
        assert "--yes" in refused.stderr
    assert program.json("memory", "get", id)["id"] == id
    assert program("memory", "delete", id, stdin="y\n").exit_code == 0
    assert program("memory", "get", id).exit_code == 1


def test_an_error_has_its_hint_and_ends_with_code_1(program: Program) -> None:
    failed = program("memory", "get", "no-such-memory")

    assert failed.exit_code == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith("Error: ")
    assert "\nHint: " in failed.stderr


def test_an_error_is_told_as_json_when_json_was_asked_for(program: Program) -> None:
    failed = program("memory", "get", "no-such-memory", "--json")

    assert (failed.exit_code, failed.stdout) == (1, "")
    error = json.loads(failed.stderr)["error"]
    assert error["kind"] == "NotFound"
    assert "no-such-memory" in error["message"]
    assert error["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "poem", "Roses are red."),
        ("add", "design"),
        ("add", "design", "x", "--metadata", "no equals sign"),
        ("add", "design", "x", "--metadata", "=no key"),
        ("add", "design", "x", "--metadata-json", "[1]"),
        ("add", "design", "x", "--metadata-json", "{"),
        ("add", "design", "x", "--importance", "2"),
        ("add", "design", "x", "--relate", "LIKES:id"),
        ("add", "design", "x", "--relate", "CALLS"),
        ("update", "x", "--importance", "2"),
        ("update", "x", "--expected-version", "0"),
        ("history", "x", "--limit", "0"),
        ("deleted", "--limit", "0"),
        ("search", "x", "--limit", "0"),
        ("search", "x", "--type", "poem"),
        ("forget", "x"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_ends_with_code_2(program: Program, arguments: tuple[str, ...]) -> None:
    refused = program("memory", *arguments)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Error: " in refused.stderr


def test_statistics_are_told_as_text_too(program: Program) -> None:
    program("memory", "add", "design", "Counted.")

    told = program("stats")

    assert told.exit_code == 0
    assert "design 1" in told.stdout


def test_a_folder_with_any_name_is_a_project(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = folder / "ä & 100% of, it's"
    odd.mkdir()
    monkeypatch.chdir(odd)

    assert program.json("memory", "add", "design", "Named oddly.")["project"] == str(odd)


def test_a_working_directory_that_is_gone_leaves_the_project_to_be_named(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert program.json("memory", "add", "design", "From nowhere.", "--project", "p")["project"] == "p"


def test_a_memory_is_changed_by_hand(program: Program) -> None:
    other = program.json("memory", "add", "design", "Sessions live in Redis.")["id"]
    id = program.json("memory", "add", "design", "Carts are cookies.", "--metadata", "area=cart")["id"]

    changed = program.json(
        "memory", "update", id, "Carts are rows.", "--metadata", "size=3", "--remove", "area",
        "--importance", "0.9", "--relate", f"RELATES_TO:{other}", "--expected-version", "1",
    )  # fmt: skip

    assert (changed["version"], changed["content"], changed["metadata"]) == (
        2,
        "Carts are rows.",
        {"size": 3},
    )
    shown = program.json("memory", "get", id)
    assert [each["id"] for each in shown["relationships"]] == [other]
    assert shown["importance"] == 0.9


def test_a_new_text_comes_from_standard_input(program: Program) -> None:
    id = program.json("memory", "add", "design", "Carts are cookies.")["id"]

    assert program("memory", "update", id, "-", stdin="Line one.\nLine two.\n").exit_code == 0

    assert program.json("memory", "get", id)["content"] == "Line one.\nLine two."


def test_a_stale_version_is_shown_beside_the_present_one(program: Program) -> None:
    id = program.json("memory", "add", "design", "Carts are cookies.")["id"]
    program("memory", "update", id, "Carts are rows.")

    refused = program("memory", "update", id, "Carts are gone.", "--expected-version", "1")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Carts are [-cookies-]{+rows+}." in refused.stderr
    assert program.json("memory", "get", id)["content"] == "Carts are rows."


def test_conflicts_are_told(program: Program) -> None:
    program("memory", "add", "design", "Orders are kept for seven years.")

    again = program("memory", "add", "design", "Orders are kept for seven years.")

    assert "duplicate with design " in again.stdout


@pytest.mark.parametrize("form", ["list", "lines", "standard input"])
def test_many_memories_are_kept_from_a_file(program: Program, folder: Path, form: str) -> None:
    memories = [
        {"type": "design", "content": "Stock is counted at night.", "ref": "night"},
        {
            "type": "session",
            "content": "Counting was moved.",
            "relationships": [{"type": "RELATES_TO", "to": "#night"}],
        },
    ]
    text = json.dumps(memories) if form == "list" else "\n".join(map(json.dumps, memories))
    (folder / "memories").write_text(text + "\n", "utf-8")

    name = "-" if form == "standard input" else "memories"
    done = program("memory", "bulk-add", name, "--json", stdin=text if name == "-" else None)

    assert done.exit_code == 0, done.output
    first, second = (each["id"] for each in json.loads(done.stdout)["memories"])
    (link,) = program.json("memory", "get", second)["relationships"]
    assert link["id"] == first


def test_a_file_with_a_mistake_adds_nothing(program: Program, folder: Path) -> None:
    (folder / "bad.jsonl").write_text(
        '{"type": "design", "content": "fine"}\n{"type": "requirement",\n', "utf-8"
    )
    (folder / "worse.json").write_text(
        '[{"type": "design", "content": "fine"}, {"type": "component"}]', "utf-8"
    )
    (folder / "none.jsonl").write_text("", "utf-8")

    broken = program("memory", "bulk-add", "bad.jsonl")
    wrong = program("memory", "bulk-add", "worse.json")

    assert (broken.exit_code, wrong.exit_code) == (1, 1)
    assert "is not JSON" in broken.stderr
    assert "`memories[1].content` is missing" in wrong.stderr
    assert program("memory", "bulk-add", "none.jsonl").exit_code == 1
    assert program("memory", "bulk-add", "missing.jsonl").exit_code == 2
    assert program.json("stats")["total"] == 0


def test_what_was_done_to_a_memory_is_shown(program: Program) -> None:
    id = program.json("memory", "add", "design", "Carts are cookies.")["id"]
    program("memory", "update", id, "Carts are rows.")

    shown = program("memory", "history", id)
    page = program.json("memory", "history", id, "--limit", "1")
    rest = program.json("memory", "history", id, "--limit", "1", "--cursor", page["next_cursor"])

    assert "Carts are [-cookies-]{+rows+}." in shown.stdout
    assert [each["operation"] for each in page["steps"] + rest["steps"]] == ["updated", "added"]


def test_a_deleted_memory_is_listed_and_restored_with_its_links(program: Program) -> None:
    first = program.json("memory", "add", "design", "Stock is counted at night.")["id"]
    second = program.json("memory", "add", "session", "Counted.", "--relate", f"RELATES_TO:{first}")["id"]
    program("memory", "delete", first, "--yes")

    (listed,) = program.json("memory", "deleted")["memories"]
    assert (listed["id"], listed["title"]) == (first, "Stock is counted at night.")
    assert listed["kept_until"] > listed["deleted_at"]
    assert first in program("memory", "deleted").stdout
    assert program.json("memory", "deleted", "--project", "another")["memories"] == []
    assert len(program.json("memory", "deleted", "--all", "--limit", "1")["memories"]) == 1
    assert f"backstory memory restore {first}" in program("memory", "get", first).stderr

    assert program.json("memory", "restore", first)["id"] == first

    assert "Restored design" in program("memory", "restore", first).stdout
    assert program.json("memory", "deleted")["memories"] == []
    assert [each["id"] for each in program.json("memory", "get", second)["relationships"]] == [first]
    assert program("memory", "restore", "nobody").exit_code == 1
