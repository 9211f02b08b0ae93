"""`backstory conversations` as it is typed, against a process that it starts itself."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backstory.errors import InputError
from backstory.http import client

from .hosting import whole
from .program import Program

PAGE = Path(__file__).parents[2] / "docs" / "conversations.md"

KITCHEN = {"interface_type": "matrix", "room_id": "kitchen", "project": "shop"}

#: More than are active at once, so that some are summed up.
TURNS = 12


Tool = Callable[..., dict[str, Any]]


def agent(program: Program, project: str = "shop") -> Tool:
    """The tools as an agent calls them, in a project."""

    def call(tool: str, **arguments: object) -> dict[str, Any]:
        return client.ask(program.where, tool, {**arguments, "project": project}, directory=None).answer

    return call


def begun(call: Tool, room: str, interface_type: str = "matrix") -> str:
    """The id of the conversation of a room."""
    id: str = call("create_conversation", interface_type=interface_type, room_id=room)["conversation_id"]
    return id


def told(call: Tool, id: str, turns: int = TURNS) -> None:
    """Let a conversation be this long."""
    for number in range(1, turns + 1):
        query, response = f"What goes into soup {number}?", f"We decided on {number} onions."
        call("add_turn", conversation_id=id, query=query, response=response, user_name="Ada")


def listed(program: Program, *options: str) -> list[str]:
    return [each["room_id"] for each in program.json("conversations", "list", *options)["conversations"]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program with two rooms of soups in the project `shop`, and an empty one."""
    program = Program(tmp_path_factory.mktemp("cli") / "home")
    program("conversations", "list")  # starts the process
    call = agent(program)
    begun(call, "empty", "cli")
    for room in ("kitchen", "garden"):
        told(call, begun(call, room))
    yield program
    program.stop()


@pytest.fixture(scope="module")
def kitchen(program: Program) -> str:
    """The conversation of the room `kitchen`."""
    return begun(agent(program), "kitchen")


class TestListing:
    """Every live conversation, and where it is kept."""

    def test_the_one_that_changed_last_comes_first(self, program: Program) -> None:
        answer = program.json("conversations", "list", "--project", "shop")
        text = program("conversations", "list", "--project", "shop").stdout

        assert [each["room_id"] for each in answer["conversations"]] == ["garden", "kitchen", "empty"]
        assert (answer["storage"], answer["total"]) == ("records", 3)
        assert [each["turn_count"] for each in answer["conversations"]] == [TURNS, TURNS, 0]
        assert text.startswith("3 of 3 live conversations, kept in records.\n")
        assert all(each["conversation_id"] in text for each in answer["conversations"])

    @pytest.mark.parametrize(
        ("options", "rooms"),
        [
            (["--room", "kitchen"], ["kitchen"]),
            (["--interface", "cli"], ["empty"]),
            (["--limit", "1"], ["garden"]),
            (["--project", "shop", "--room", "garden"], ["garden"]),
            (["--project", "bank"], []),
            (["--deleted"], []),
        ],
        ids=" ".join,
    )
    def test_it_can_be_narrowed(self, program: Program, options: list[str], rooms: list[str]) -> None:
        assert listed(program, *options) == rooms


class TestShowing:
    """One conversation by its tiers."""

    @pytest.mark.parametrize("form", ["text", "markdown", "json", "prompt"])
    def test_every_format_tells_what_was_said_last(self, program: Program, kitchen: str, form: str) -> None:
        shown = program("conversations", "show", kitchen, "--format", form)

        assert shown.exit_code == 0
        assert f"We decided on {TURNS} onions." in shown.stdout

    def test_json_is_nothing_but_json(self, program: Program, kitchen: str) -> None:
        history = json.loads(program("conversations", "show", kitchen, "--format", "json").stdout)

        assert history["conversation_id"] == kitchen
        assert history["active"][-1]["turn_number"] == TURNS

    def test_it_is_as_long_as_is_wanted(self, program: Program, kitchen: str) -> None:
        short = program.json("conversations", "show", kitchen, "--max-tokens", "100")
        long = program.json("conversations", "show", kitchen, "--max-tokens", "4000")

        assert short["tokens"] <= 100 < long["tokens"]
        assert short["left_out"]


class TestChanging:
    """Summed up, deleted and taken back, by id alone, in whichever project."""

    @pytest.fixture
    def call(self, program: Program) -> Tool:
        return agent(program, "bank")

    def test_what_has_no_summary_is_summed_up(self, program: Program, call: Tool) -> None:
        told(call, id := begun(call, "summed up"), turns=6)

        text = program("conversations", "summarize", id).stdout
        again = program.json("conversations", "summarize", id)

        assert "Turns 1 to 5" in text
        assert [(each["first_turn"], each["last_turn"]) for each in again["summaries"]] == [(6, 6)]

    def test_a_deleted_conversation_can_be_taken_back(self, program: Program, call: Tool) -> None:
        told(call, id := begun(call, "deleted"), turns=1)

        deleted = program("conversations", "delete", id)

        assert f"`backstory conversations restore {id}`" in deleted.stdout
        assert listed(program, "--room", "deleted") == []
        assert listed(program, "--deleted") == ["deleted"]
        assert program("search", "onions", "--session", id).exit_code == 1
        assert program("conversations", "show", id).exit_code == 1

        restored = program("conversations", "restore", id)

        assert restored.stdout == f"Restored conversation {id} with 1 turn.\n"
        assert listed(program, "--room", "deleted") == ["deleted"]
        assert program.json("search", "onions", "--session", id)["hits"][0]["session_id"] == id

    def test_not_while_its_room_has_another(self, program: Program, call: Tool) -> None:
        first = begun(call, "taken")
        program("conversations", "delete", first)
        second = begun(call, "taken")

        refused = program("conversations", "restore", first)

        assert refused.exit_code == 1
        assert second in refused.stderr
        assert "\nHint: " in refused.stderr


class TestMoving:
    """From one storage to another, and what a restart makes of it."""

    def test_everything_is_moved_and_found_there_by_the_next_process(self, tmp_path: Path) -> None:
        program = Program(tmp_path / "home")
        try:
            program("conversations", "list")
            call = agent(program)
            told(call, id := begun(call, "kitchen"), turns=5)
            program("conversations", "delete", begun(call, "garden"))
            before = program("conversations", "show", id).stdout

            moved = program.json("conversations", "migrate", "--to", "jsonl")
            program.stop()

            assert (moved["from"], moved["to"], moved["conversations"], moved["turns"]) == (
                "records",
                "jsonl",
                2,
                5,
            )
            assert program.json("conversations", "list")["storage"] == "jsonl"
            assert listed(program, "--deleted") == ["garden"]
            assert program("conversations", "show", id).stdout == before
            again = program("conversations", "migrate", "--to", "jsonl")
            back = program("conversations", "migrate", "--to", "records")
            assert again.stdout == "Live conversations are in jsonl already.\n"
            assert back.stdout.startswith("Moved 0 conversations with 0 turns from jsonl to records;")
            assert program("conversations", "show", id).stdout == before
        finally:
            program.stop()

    def test_a_setting_that_says_another_place_is_told(self, tmp_path: Path) -> None:
        chosen = {"BACKSTORY_CONVERSATION_STORAGE": "records"}
        with whole(tmp_path, **chosen) as asked:
            asked.local("create_conversation", KITCHEN)
            moved = asked.local("conversations_migrate", {"to": "jsonl"}).json
        with whole(tmp_path, **chosen) as asked:
            told = asked.ask("GET", "/health").json

        (note,) = moved["answer"]["notes"]
        assert note.startswith("BACKSTORY_CONVERSATION_STORAGE is set to records")
        assert f"\nnote: {note}" in moved["text"]
        assert told["status"] == "degraded"
        assert told["checks"]["conversations"]["finding"].endswith("others were left in jsonl")
        assert "BACKSTORY_CONVERSATION_STORAGE to jsonl" in told["checks"]["conversations"]["remedy"]

    def test_conversations_that_a_setting_leaves_behind_are_told(self, tmp_path: Path) -> None:
        with whole(tmp_path) as asked:
            asked.local("create_conversation", KITCHEN)
        with whole(tmp_path, BACKSTORY_CONVERSATION_STORAGE="jsonl") as asked:
            found = asked.local("conversations_list").json["answer"]
            check = asked.ask("GET", "/health").json["checks"]["conversations"]

        assert (found["storage"], found["total"]) == ("jsonl", 0)
        assert (check["ok"], check["finding"].rpartition("; ")[2]) == (False, "others were left in records")

    def test_files_that_no_setting_names_any_more_are_told(self, tmp_path: Path) -> None:
        with whole(tmp_path, BACKSTORY_CONVERSATION_STORAGE="jsonl") as asked:
            asked.local("create_conversation", KITCHEN)
        with whole(tmp_path) as asked:
            found = asked.local("conversations_list").json["answer"]
            check = asked.ask("GET", "/health").json["checks"]["conversations"]
        with whole(tmp_path, BACKSTORY_CONVERSATION_STORAGE="jsonl") as asked:
            asked.local("conversations_migrate", {"to": "records"})
        with whole(tmp_path) as asked:
            moved = asked.ask("GET", "/health").json["checks"]["conversations"]

        assert (found["storage"], found["total"]) == ("records", 0)
        assert (check["ok"], check["finding"].rpartition("; ")[2]) == (False, "others were left in jsonl")
        assert moved["ok"]

    def test_in_memory_what_is_kept_elsewhere_is_told_of(self, tmp_path: Path) -> None:
        with whole(tmp_path) as asked:
            asked.local("create_conversation", KITCHEN)
            asked.local("conversations_migrate", {"to": "jsonl"})
        with whole(tmp_path, BACKSTORY_CONVERSATION_STORAGE="memory") as asked:
            check = asked.ask("GET", "/health").json["checks"]["conversations"]

        assert check["finding"].endswith("they end with the process; what is in jsonl is out of sight")

    def test_in_memory_they_end_with_the_process(self, tmp_path: Path) -> None:
        with whole(tmp_path) as asked:
            asked.local("create_conversation", KITCHEN)
            moved = asked.local("conversations_migrate", {"to": "memory"}).json
            asked.local("create_conversation", {**KITCHEN, "room_id": "garden"})
            here = asked.local("conversations_list").json["answer"]["total"]
            check = asked.ask("GET", "/health").json["checks"]["conversations"]
        with whole(tmp_path) as asked:
            left = asked.local("conversations_list").json["answer"]

        assert moved["answer"]["notes"] == ["they end with the process"]
        assert check["ok"]
        assert "conversations migrate --to records" in check["remedy"]
        assert here == 2
        assert (left["storage"], left["total"]) == ("records", 1)


def test_what_was_set_aside_is_embedded(tmp_path: Path) -> None:
    with whole(tmp_path, EMBEDDING_QUEUE_MAX="1", ENABLE_QDRANT_WRITES="false") as asked:
        id = asked.local("create_conversation", KITCHEN).json["answer"]["conversation_id"]
        for number in range(3):
            said = {"query": f"Question {number}?", "response": f"Answer {number}."}
            asked.local("add_turn", {**said, "conversation_id": id, "project": "shop"})
        before = asked.ask("GET", "/health").json["checks"]["conversations"]
    with whole(tmp_path) as asked:
        done = asked.local("conversations_backfill", {"batch": 2, "per_second": 1000}).json
        after = asked.ask("GET", "/health").json["checks"]["conversations"]

    assert before["finding"].endswith("1 message to embed, 5 deferred")
    assert "backstory conversations backfill" in before["remedy"]
    assert (done["answer"]["kept"], done["answer"]["waiting"]) == (0, 0)
    assert done["text"].endswith("; 0 messages still waiting.")
    assert after["finding"].endswith("0 messages to embed, 0 deferred")


def test_a_backfill_tells_what_it_did(program: Program) -> None:
    text = program("conversations", "backfill", "--project", "shop")

    assert text.exit_code == 0
    assert text.stdout.startswith("Read 0 turns in, embedded ")


@pytest.mark.parametrize("command", ["show", "summarize", "delete", "restore"])
def test_an_unknown_conversation_is_an_error_with_a_hint(program: Program, command: str) -> None:
    failed = program("conversations", command, "nothing", "--json")

    assert (failed.exit_code, failed.stdout) == (1, "")
    error = json.loads(failed.stderr)["error"]
    assert error["kind"] == "NotFound"
    assert error["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "x", "--format", "poem"),
        ("show", "x", "--max-tokens", "1"),
        ("list", "--limit", "0"),
        ("migrate",),
        ("migrate", "--to", "paper"),
        ("backfill", "--batch", "0"),
        ("backfill", "--per-second", "0"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_ends_with_code_2(program: Program, arguments: tuple[str, ...]) -> None:
    refused = program("conversations", *arguments)

    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Error: " in refused.stderr


@pytest.mark.parametrize(
    ("verb", "arguments", "wrong"),
    [
        ("list", {"limit": 0}, "`limit` is 0"),
        ("list", {"rooms": "kitchen"}, "there is no argument `rooms`"),
        ("restore", {}, "`conversation_id` is missing"),
        ("migrate", {"to": "paper"}, "one of: records, jsonl, memory"),
        ("backfill", {"batch": 0}, "`batch` is 0"),
        ("backfill", {"per_second": -1}, "`per_second` is -1"),
        ("backfill", {"batch": "many"}, "a whole number"),
    ],
)
def test_another_program_is_told_what_is_wrong(
    program: Program, verb: str, arguments: dict[str, object], wrong: str
) -> None:
    with pytest.raises(InputError, match=wrong):
        client.ask(program.where, f"conversations_{verb}", arguments, directory=None)


def test_the_page_s_example_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    here = example.replace("env={", f'env={{"BACKSTORY_HOME": {str(tmp_path)!r}, "MCP_PORT": "0", ')

    try:
        done = subprocess.run(
            [sys.executable, "-c", here], capture_output=True, text=True, check=False, timeout=60
        )
    finally:
        Program(tmp_path).stop()

    assert done.stderr == ""
    assert done.stdout.startswith("Ada - How do we keep the soup from burning? - Low heat")
