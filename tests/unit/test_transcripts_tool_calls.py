"""Tool calls in short: what was asked, what came back, which files were touched."""

import pytest

from backstory.model.transcript import FileTouch
from backstory.transcripts.tool_calls import MAX_RESULT_CHARS, tool_call


def use(name: str, **given: object) -> dict[str, object]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": given}


def result_of(content: object) -> str:
    return tool_call(use("Bash"), {"type": "tool_result", "content": content}).result


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (use("Read", file_path="/a.py", limit=3), {"tool": "Read", "file": "/a.py"}),
        (use("Write", file_path="/a.py", content="12345"), {"tool": "Write", "file": "/a.py", "chars": 5}),
        (use("Edit", file_path="/a.py", old_string="x"), {"tool": "Edit", "file": "/a.py"}),
        (use("MultiEdit", file_path="/a.py", edits=[]), {"tool": "MultiEdit", "file": "/a.py"}),
        (use("NotebookEdit", notebook_path="/n.ipynb"), {"tool": "NotebookEdit", "file": "/n.ipynb"}),
        (use("Bash", command="make\ntest"), {"tool": "Bash", "command": "make\ntest"}),
        (use("Grep", pattern="x+", path="src"), {"tool": "Grep", "pattern": "x+"}),
        (use("Glob", pattern="*.py"), {"tool": "Glob", "pattern": "*.py"}),
        (
            use("Task", subagent_type="Explore", description="look", prompt="long"),
            {"tool": "Task", "type": "Explore", "description": "look"},
        ),
        (use("Agent", description="look"), {"tool": "Agent", "type": "", "description": "look"}),
        (use("mcp__journal__write", text="dear"), {"tool": "mcp__journal__write"}),
    ],
)
def test_each_tool_is_rendered_by_what_names_its_call(
    asked: dict[str, object], expected: dict[str, object]
) -> None:
    assert tool_call(asked, None).rendering == expected


def test_a_long_command_is_cut() -> None:
    command = tool_call(use("Bash", command="x " * 300), None).rendering["command"]

    assert isinstance(command, str)
    assert len(command) == 200
    assert command.endswith("…")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (use("Read", file_path="/a.py"), [FileTouch("/a.py")]),
        (use("Grep", pattern="x", path="src"), [FileTouch("src")]),
        (use("Glob", pattern="*.py"), []),
        (use("Write", file_path="/a.py"), [FileTouch("/a.py", changed=True)]),
        (use("NotebookEdit", notebook_path="/n.ipynb"), [FileTouch("/n.ipynb", changed=True)]),
        (
            use(
                "apply_patch",
                input="*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n*** End Patch",
            ),
            [FileTouch("a.py", changed=True), FileTouch("b.py", changed=True)],
        ),
        (use("Bash", command="cat /a.py"), []),
    ],
)
def test_the_files_that_a_call_reads_or_changes_are_named(
    asked: dict[str, object], expected: list[FileTouch]
) -> None:
    assert list(tool_call(asked, None).files) == expected


def test_a_long_result_keeps_both_ends_and_says_how_much_is_missing() -> None:
    shown = result_of("start" + "- " * 5000 + "end")

    assert shown.startswith("start")
    assert shown.endswith("end")
    head, notice, tail = shown.split("\n")
    assert notice == f"[{10_008 - len(head) - len(tail):,} characters left out]"
    assert MAX_RESULT_CHARS - 20 < len(shown) <= MAX_RESULT_CHARS


def test_colours_nul_reminders_and_encoded_data_are_left_out() -> None:
    shown = result_of(
        "\x1b[1;31mred\x1b[0m\x00\r\n<system-reminder>psst</system-reminder>data:" + "QUJD" * 100 + "=="
    )

    assert shown == "red\ndata:[402 characters of encoded data left out]"


def test_pictures_in_a_result_are_only_mentioned() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "QUJD"}}

    assert result_of([{"type": "text", "text": "seen"}, picture]) == "seen\n[image]"


def test_an_error_is_marked() -> None:
    assert tool_call(use("Bash"), {"content": "no", "is_error": True}).is_error
    assert not tool_call(use("Bash"), {"content": "yes"}).is_error


def test_a_call_of_an_unexpected_shape_is_still_a_call() -> None:
    assert tool_call({"type": "tool_use", "name": 7, "input": "x"}, {"content": 3}).rendering == {"tool": ""}
