"""`index`, `search`, `show`, `timeline`, `export`, `watch`, against a process that they start themselves."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstory.cli.export import whole

from .program import Program
from .transcript_files import Exchange, Use, session_id, write_transcript

#: Folders that are not there: a project is then the folder itself.
SHOP, BANK = "/srv/shop", "/srv/bank"

PAYMENTS = session_id("payments")

#: Too long for one page of an export.
LONG = "All of it.\n" * 8_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transcripts of two projects."""
    root = tmp_path_factory.mktemp("projects")
    write_transcript(
        root,
        "payments",
        SHOP,
        Exchange("A customer was charged twice.", "The provider timed out, and we tried again."),
        Exchange(
            "Use the order's id as the key.", LONG, [Use("Bash", {"command": "make test"}, "14 passed")]
        ),
        title="Charged twice",
    )
    write_transcript(root, "loans", BANK, Exchange("Compute the loans.", "They are computed."))
    return root


@pytest.fixture(scope="module")
def program(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program that has read the transcripts in."""
    home = tmp_path_factory.mktemp("cli") / "home"
    program = Program(home, CLAUDE_PROJECTS_DIR=str(root), CODEX_HOME=str(home / "codex"))
    program("index", "--all")
    yield program
    program.stop()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in a folder of its own, in which nothing was said."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_indexing_again_finds_nothing_new(program: Program) -> None:
    done = program.json("index", "--all")
    text = program("index", "--recent", "--limit", "1", "--all")

    assert (done["files_processed"], done["files_unchanged"], done["messages_added"]) == (2, 2, 0)
    assert text.stdout.startswith("1 file looked at: 0 read, 1 unchanged")
    assert text.stderr == ""  # no bar where there is no terminal


def test_what_was_said_is_found_in_every_project(program: Program) -> None:
    (hit, *_) = program.json("search", "charged twice")["hits"]
    text = program("search", "loans", "--role", "user", "--limit", "1")

    assert (hit["session_id"], hit["turn_number"], hit["project"]) == (PAYMENTS, 1, SHOP)
    assert "Compute the **loans**." in text.stdout


def test_a_search_is_narrowed_and_goes_on(program: Program) -> None:
    def found(*options: str) -> set[str]:
        return {hit["project"] for hit in program.json("search", "key loans", *options)["hits"]}

    assert found() == {SHOP, BANK}
    assert found("--project", BANK) == {BANK}
    assert found("--session", PAYMENTS) == {SHOP}
    assert found("--agent", "codex") == set()
    assert found("--to", "2001-01-01") == set()
    assert found("--from", "2001-01-01") == {SHOP, BANK}
    first = program.json("search", "key loans", "--limit", "1")
    rest = program.json("search", "key loans", "--limit", "1", "--cursor", first["next_cursor"])
    assert first["hits"] != rest["hits"]


def test_conversations_are_listed_and_shown(program: Program) -> None:
    listed = program.json("show")
    page = program.json("show", PAYMENTS, "--limit", "1")
    turn = program("show", PAYMENTS, "1")

    assert {each["session_id"] for each in listed["conversations"]} == {PAYMENTS, session_id("loans")}
    assert program.json("show", "--project", BANK)["total"] == 1
    assert (page["title"], page["total_turns"], page["next_offset"]) == ("Charged twice", 2, 1)
    assert program.json("show", PAYMENTS, "--offset", "1")["turns"][0]["turn_number"] == 2
    assert "user: A customer was charged twice." in turn.stdout
    assert "tool: Bash command=make test" in program("show", PAYMENTS).stdout


def test_a_long_turn_is_shown_from_a_place_on(program: Program) -> None:
    first = program.json("show", PAYMENTS, "2")
    rest = program.json("show", PAYMENTS, "2", "--offset", str(first["next_offset"]))

    assert rest["offset"] == first["next_offset"]
    assert LONG.startswith(first["assistant_text"] + rest["assistant_text"][:100])


def test_the_timeline_is_that_of_the_project(program: Program) -> None:
    assert program.json("timeline")["days"] == []
    assert sum(day["conversations"] for day in program.json("timeline", "--project", SHOP)["days"]) == 1
    assert sum(day["messages"] for day in program.json("timeline", "--all", "--days", "30")["days"]) == 7
    assert PAYMENTS in program("timeline", "--all").stdout


def test_a_conversation_is_exported_whole(program: Program) -> None:
    exported = program("export", PAYMENTS)
    markdown = program("export", PAYMENTS, "--format", "markdown")

    (conversation,) = json.loads(exported.stdout)["conversations"]
    assert conversation["title"] == "Charged twice"
    first, second = conversation["turns"]
    assert first["user_text"] == "A customer was charged twice."
    assert second["assistant_text"] == LONG.strip()
    assert second["tools_used"] == [{"tool": "Bash", "command": "make test"}]
    assert "14 passed" in second["tool_text"]
    assert not {"continues"} & {*first, *second}
    assert markdown.stdout.startswith("# Charged twice\n")
    assert LONG.strip() in markdown.stdout


def test_a_turn_whose_rest_is_gone_by_the_next_page_is_mixed_with_no_other() -> None:
    begun = {"turn_number": 1, "user_text": "Explain all of", "continues": True}
    other = {"turn_number": 2, "user_text": "Thanks."}
    pages = [{"conversations": [{"session_id": "s", "turns": [turn]}]} for turn in (begun, other)]

    (conversation,) = whole(pages)

    assert conversation["turns"] == [
        {"turn_number": 1, "user_text": "Explain all of", "continues": True},
        {"turn_number": 2, "user_text": "Thanks."},
    ]


def test_an_export_goes_into_a_new_file_alone(program: Program, folder: Path) -> None:
    told = program.json("export", "--all", "--output", "all.json")
    refused = program("export", "--all", "--output", "all.json")

    kept = json.loads((folder / "all.json").read_text("utf-8"))
    assert {each["project"] for each in kept["conversations"]} == {SHOP, BANK}
    assert told == {
        "path": str(folder / "all.json"),
        "size_bytes": (folder / "all.json").stat().st_size,
    }
    assert refused.exit_code == 1
    assert "Hint: name a new file" in refused.stderr


def test_an_export_that_fails_leaves_no_file(program: Program, folder: Path) -> None:
    refused = program("export", "nothing", "--output", "nothing.json")

    assert refused.exit_code == 1
    assert "\nHint: " in refused.stderr
    assert list(folder.iterdir()) == []


def test_an_export_of_nothing_is_an_empty_one(program: Program) -> None:
    assert json.loads(program("export").stdout) == {"conversations": []}
    assert program("export", "--format", "markdown").stdout == ""


def test_statistics_tell_of_conversations_too(program: Program) -> None:
    told = program.json("stats", "--project", SHOP)["conversations"]
    text = program("stats", "--all").stdout

    assert (told["conversations"], told["turns"], told["messages"]) == (1, 2, 5)
    assert "turns: 3, messages: 7" in text


def test_an_unknown_conversation_is_an_error_with_a_hint(program: Program) -> None:
    failed = program("show", "nothing", "--json")

    assert (failed.exit_code, failed.stdout) == (1, "")
    error = json.loads(failed.stderr)["error"]
    assert error["kind"] == "NotFound"
    assert error["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("search", "x", "--role", "judge"),
        ("search", "x", "--limit", "0"),
        ("show", "x", "first"),
        ("show", "x", "0"),
        ("timeline", "--days", "0"),
        ("export", "--format", "poem"),
        ("index", "--limit", "none"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_ends_with_code_2(program: Program, arguments: tuple[str, ...]) -> None:
    refused = program(*arguments)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Error: " in refused.stderr


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """What a process prints, up to the line with a text."""
    assert process.stdout is not None
    seen = ""
    while text not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    return seen


def test_what_is_said_is_watched(program: Program, root: Path) -> None:
    asked, answered = Exchange("Say hello."), Exchange("Say hello.", "Hello.\n\nAnd more.")
    with program.running("watch", "--project", "/srv/greetings") as process:
        assert process.stderr is not None
        assert "Watching" in process.stderr.readline()
        id = write_transcript(root, "greeting", "/srv/greetings", asked)
        program("index", "--all")
        shown = read_until(process, "Say hello.")
        write_transcript(root, "greeting", "/srv/greetings", answered, Exchange("Thanks."))
        program("index", "--all")
        added = read_until(process, "Thanks.")

    assert f"{id} turn 1, /srv/greetings" in shown
    assert "assistant: Hello.\n\nAnd more." in added
    assert "Say hello." not in added


def test_watching_ends_when_the_process_is_stopped(root: Path, tmp_path: Path) -> None:
    program = Program(tmp_path / "home", CLAUDE_PROJECTS_DIR=str(root), CODEX_HOME=str(tmp_path / "codex"))
    with program.running("watch", "--json") as process:
        assert process.stderr is not None
        assert "Watching" in process.stderr.readline()
        program.stop()
        told = process.stderr.read()

    assert json.loads(told)["error"]["kind"] == "StoreUnavailable"
    assert process.returncode == 1
    assert program("status").exit_code == 3
