"""A Codex rollout as a session, whichever version of Codex wrote it."""

import json
from datetime import UTC, datetime

import pytest

from backstory.model.transcript import FileTouch, Found, Session, Title, TitleSource, Usage
from backstory.transcripts.lines import read_lines
from backstory.transcripts.reader import CODEX, Reading, read_transcript

Json = dict[str, object]

OWN = "01990000-0000-7000-8000-000000000001"
PARENT = "01980000-0000-7000-8000-000000000002"


def line(kind: str, payload: Json, at: str = "2026-01-01T10:00:00Z") -> Json:
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(id: str = OWN, **more: object) -> Json:
    return line("session_meta", {"id": id, "cwd": "/w", "cli_version": "0.142.0", **more})


def sent(role: str, *texts: str) -> Json:
    blocks = [{"type": "input_text", "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": role, "content": blocks})


def event(kind: str, **payload: object) -> Json:
    return line("event_msg", {"type": kind, **payload})


def shown(kind: str, words: str) -> Json:
    item = {"type": kind, "content": [{"type": "text", "text": words}]}
    return event("item_completed", turn_id="t1", item=item)


def call(id: str, name: str, arguments: object) -> Json:
    given = json.dumps(arguments)
    return line("response_item", {"type": "function_call", "call_id": id, "name": name, "arguments": given})


def output(id: str, given: object) -> Json:
    return line("response_item", {"type": "function_call_output", "call_id": id, "output": given})


def patch(id: str, text: str) -> Json:
    return line(
        "response_item", {"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": text}
    )


def tokens(whole: int, cached: int, out: int) -> Json:
    total = {"input_tokens": whole, "cached_input_tokens": cached, "output_tokens": out}
    return event("token_count", info={"total_token_usage": total, "last_token_usage": total})


def reading(*records: Json, **place: str) -> Reading:
    return read_transcript(
        read_lines(b"".join(json.dumps(record).encode() + b"\n" for record in records)), **place
    )


def session(*records: Json, **place: str) -> Session:
    read = reading(*records, **place)
    assert read.interface_type == CODEX
    return read.session


def talk(read: Session) -> list[tuple[str, str]]:
    return [(turn.human_text, turn.assistant_text) for turn in read.turns]


PROMPTS = {
    "sent and reported": [sent("user", "fix it"), event("user_message", message="fix it")],
    "reported and sent": [event("user_message", message="fix it"), sent("user", "fix it")],
    "only sent": [sent("user", "fix it")],
    "only reported": [event("user_message", message="fix it")],
    "sent and shown": [sent("user", "fix it"), shown("UserMessage", "fix it")],
    "in all three forms": [
        sent("user", "fix it"),
        shown("UserMessage", "fix it"),
        event("user_message", message="fix it"),
    ],
    "sent in other words": [
        sent("user", '<image name=[Image #1] path="/a.png">', "</image>", "[Image #1] fix it"),
        event("user_message", message="fix it"),
    ],
}
ANSWERS = {
    "sent and reported": [sent("assistant", "done"), event("agent_message", message="done")],
    "reported and sent": [event("agent_message", message="done"), sent("assistant", "done")],
    "only sent": [sent("assistant", "done")],
    "only reported": [event("agent_message", message="done")],
    "sent and shown": [shown("AgentMessage", "done"), sent("assistant", "done")],
    "only shown": [shown("AgentMessage", "done")],
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_a_message_is_read_once_in_whatever_forms_it_stands(prompt: list[Json], answer: list[Json]) -> None:
    read = session(meta(), *prompt, *answer, *prompt, *answer)

    assert talk(read) == [("fix it", "done")] * 2
    assert read.human_utterances == 2


def test_a_file_that_goes_on_in_another_version_s_way_loses_nothing() -> None:
    read = session(
        meta(),
        sent("user", "one"),
        event("user_message", message="one"),
        sent("assistant", "1"),
        event("agent_message", message="1"),
        sent("user", "two"),
        sent("assistant", "2"),
        shown("UserMessage", "three"),
        shown("AgentMessage", "3"),
    )

    assert talk(read) == [("one", "1"), ("two", "2"), ("three", "3")]


INJECTED = [
    "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
    "<user_instructions>\nuse uv\n</user_instructions>",
    "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nuse uv\n</INSTRUCTIONS>",
    "<permissions instructions>\nask first\n</permissions instructions>",
    "<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>",
    '<hook_prompt hook_run_id="stop:2">go on</hook_prompt>',
    "<skill>\n<name>plan</name>\n</skill>",
    "<subagent_notification>{}</subagent_notification>",
    '<codex_internal_context source="x">restarted',
]


@pytest.mark.parametrize("text", INJECTED)
def test_what_the_program_says_in_the_user_s_name_is_nobody_s(text: str) -> None:
    read = session(
        meta(), sent("developer", "obey"), sent("user", text), sent("user", "hi"), sent("assistant", "ho")
    )

    assert talk(read) == [("hi", "ho")]
    assert read.title == Title("hi", TitleSource.FIRST_WORDS)


def test_words_behind_what_the_program_or_the_editor_put_before_them_are_kept() -> None:
    editor = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix it\n"
    read = session(meta(), sent("user", INJECTED[0], "why?"), sent("assistant", "so"), sent("user", editor))

    assert [turn.human_text for turn in read.turns] == ["why?", "fix it"]


def test_answers_to_questions_are_a_person_s_words() -> None:
    reply = '<send_user_message_question_reply>\n[{"answer":"tabs","question":"Which?"}]'
    read = session(
        meta(),
        sent("user", "format it"),
        call("c1", "request_user_input", {"questions": []}),
        output("c1", json.dumps({"answers": {"indent": {"answers": ["spaces", "four"]}}})),
        sent("assistant", "Spaces."),
        sent("user", reply),
        sent("assistant", "Tabs."),
    )

    assert talk(read) == [("format it", ""), ("spaces\nfour", "Spaces."), ("tabs", "Tabs.")]
    assert [turn.utterances[0].found for turn in read.turns] == [Found.TYPED, Found.ANSWER, Found.ANSWER]


def test_commands_that_a_person_ran_are_kept_beside_what_was_said() -> None:
    ran = (
        "<user_shell_command>\n<command>\nmake test\n</command>\n<result>\nok\n</result></user_shell_command>"
    )
    [turn] = session(meta(), sent("user", "hi"), sent("assistant", "ho"), sent("user", ran)).turns

    assert list(turn.commands) == ["!make test"]


def test_thoughts_and_summaries_of_earlier_talk_are_left_out() -> None:
    thought = line(
        "response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    )
    compacted = line("compacted", {"message": "in short", "replacement_history": [{"role": "user"}]})
    read = session(meta(), sent("user", "hi"), thought, event("agent_reasoning", text="hm"), compacted)

    assert talk(read) == [("hi", "")]


LONG = "x " * 300


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (call("c1", "shell", {"command": ["bash", "-lc", "ls -a"]}), {"tool": "shell", "command": "ls -a"}),
        (call("c1", "shell", {"command": ["git", "diff"]}), {"tool": "shell", "command": "git diff"}),
        (call("c1", "shell_command", {"command": "ls"}), {"tool": "shell_command", "command": "ls"}),
        (call("c1", "exec_command", {"cmd": LONG}), {"tool": "exec_command", "command": LONG[:199] + "…"}),
        (call("c1", "view_image", {"path": "/a.png"}), {"tool": "view_image", "file": "/a.png"}),
        (call("c1", "mcp__docs__find", {"query": "uv"}), {"tool": "mcp__docs__find", "query": "uv"}),
        (call("c1", "update_plan", {"plan": []}), {"tool": "update_plan"}),
        (call("c1", "odd", "no object"), {"tool": "odd", "command": "no object"}),
        (
            line(
                "response_item", {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}}
            ),
            {"tool": "local_shell", "command": "ls"},
        ),
        (
            line("response_item", {"type": "web_search_call", "action": {"type": "search", "query": "uv"}}),
            {"tool": "web_search", "query": "uv"},
        ),
    ],
)
def test_each_tool_is_rendered_by_what_names_its_call(asked: Json, expected: Json) -> None:
    [turn] = session(meta(), sent("user", "go"), asked).turns

    assert turn.tool_calls[0].rendering == expected


@pytest.mark.parametrize(
    ("given", "result", "is_error"),
    [
        ("all good", "all good", False),
        (json.dumps({"output": "boom", "metadata": {"exit_code": 2}}), "boom", True),
        (json.dumps({"output": "fine", "metadata": {"exit_code": 0}}), "fine", False),
        ("Exit code: 1\nOutput:\nboom", "Exit code: 1\nOutput:\nboom", True),
        (
            "Chunk ID: 1\nProcess exited with code 0\nfine",
            "Chunk ID: 1\nProcess exited with code 0\nfine",
            False,
        ),
        ({"content": "no", "success": False}, "no", True),
        (
            [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:"}],
            "seen\n[image]",
            False,
        ),
        (7, "", False),
    ],
)
def test_what_a_tool_gave_back_is_joined_to_its_call(given: object, result: str, is_error: bool) -> None:
    [turn] = session(meta(), sent("user", "go"), call("c1", "shell", {}), output("c1", given)).turns

    assert [(made.id, made.result, made.is_error) for made in turn.tool_calls] == [("c1", result, is_error)]


def test_files_are_known_from_patches_and_from_what_is_reported_of_them() -> None:
    text = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n*** End Patch"
    read = session(
        meta(),
        sent("user", "go"),
        patch("c1", text),
        event("patch_apply_end", call_id="c1", changes={"/w/c.py": {"type": "add"}}),
        event("patch_apply_end", call_id="x9", changes={"d.py": {"type": "update", "move_path": "e.py"}}),
        call("c2", "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{text}\nEOF"]}),
        call("c3", "view_image", {"path": "f.png"}),
    )

    def changed(*paths: str) -> list[FileTouch]:
        return [FileTouch(path, changed=True) for path in paths]

    assert [list(made.files) for made in read.turns[0].tool_calls] == [
        changed("a.py", "b.py", "/w/c.py"),
        changed("d.py", "e.py"),
        changed("a.py", "b.py"),
        [FileTouch("f.png")],
    ]


def test_tokens_are_counted_once_and_begin_anew_where_the_count_does() -> None:
    read = session(
        meta(),
        sent("user", "one"),
        sent("assistant", "1"),
        tokens(100, 80, 10),
        tokens(100, 80, 10),
        sent("user", "two"),
        sent("assistant", "2"),
        event("token_count", info=None),
        tokens(300, 200, 30),
        sent("user", "three"),
        sent("assistant", "3"),
        tokens(50, 0, 5),
    )

    assert [turn.usage for turn in read.turns] == [Usage(20, 10, 0, 80), Usage(80, 20, 0, 120), Usage(50, 5)]


def test_a_session_knows_where_when_and_with_what_it_ran() -> None:
    read = session(
        meta(git={"branch": "main"}),
        meta(git={"branch": "fix"}, cli_version="0.143.0"),
        meta(PARENT, git={"branch": "another's"}),
        line("turn_context", {"cwd": "/w/sub"}, at="2026-01-01T09:00:00Z"),
    )

    assert (read.id, read.agent, read.folder) == (OWN, "", "/w")
    assert (list(read.git_branches), list(read.versions)) == (["main", "fix"], ["0.142.0", "0.143.0"])
    assert read.started_at == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert session(meta(), id="from-the-name").id == "from-the-name"


def test_the_name_of_a_thread_is_its_title() -> None:
    read = session(meta(), sent("user", "hi"), event("thread_name_updated", thread_name="Parser work"))

    assert read.title == Title("Parser work", TitleSource.CUSTOM)


def test_going_back_begins_a_branch() -> None:
    read = session(
        meta(),
        sent("user", "left"),
        sent("assistant", "l"),
        event("thread_rolled_back", num_turns=1),
        sent("user", "right"),
        sent("assistant", "r"),
    )

    assert [(turn.human_text, turn.branch) for turn in read.turns] == [("left", 1), ("right", 2)]


BEFORE, SINCE = "01985000-0000-7000-8000-00000000000a", "01990000-0001-7000-8000-00000000000b"


def turn(id: str, words: str, answer: str) -> list[Json]:
    begins = [event("task_started", turn_id=id), line("turn_context", {"turn_id": id, "cwd": "/w"})]
    return [*begins, sent("user", words), event("user_message", message=words), sent("assistant", answer)]


def test_a_fork_s_copies_have_the_ids_of_the_original() -> None:
    said = turn(BEFORE, "begin", "begun")
    original = session(meta(PARENT), *said)
    fork = session(meta(forked_from_id=PARENT), meta(PARENT), *said, *turn(SINCE, "left", "l"))

    assert [list(one.uuids) for one in fork.turns] == [[BEFORE], [SINCE]]
    assert list(original.turns[0].uuids) == [BEFORE]


def test_several_prompts_in_one_turn_are_told_apart() -> None:
    steered = [*turn(SINCE, "go", "going"), sent("user", "no, stop"), sent("assistant", "stopped")]

    assert [list(one.uuids) for one in session(meta(), *steered).turns] == [[SINCE], [f"{SINCE}:2"]]


SPAWNED = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}


def test_a_subagent_belongs_to_the_session_it_worked_for_and_no_person_speaks_in_it() -> None:
    read = session(meta(source=SPAWNED), *turn(SINCE, "look for x", "found x"))

    assert (read.id, read.agent, read.human_utterances) == (PARENT, OWN, 0)
    assert [(one.human_text, one.is_sidechain) for one in read.turns] == [("look for x", True)]


@pytest.mark.parametrize("old", [BEFORE, "0d2f5a52-8c3b-4a6e-9d53-0f1a2b3c4d5e"])
def test_what_a_subagent_s_file_copies_from_its_parent_is_left_out(old: str) -> None:
    copied = turn(old, "begin", "begun")
    copied[0]["payload"] = {"type": "task_started", "turn_id": old, "started_at": 1_700_000_000}
    read = session(
        meta(source=SPAWNED, forked_from_id=PARENT),
        meta(PARENT),
        *copied,
        tokens(100, 0, 10),
        *turn(SINCE, "look for x", "found x"),
        tokens(150, 0, 15),
    )

    assert talk(read) == [("look for x", "found x")]
    assert read.usage == Usage(50, 5)


def test_a_subagent_s_own_turns_behind_the_name_of_its_parent_stay() -> None:
    own = turn(SINCE, "look for x", "found x")

    assert len(session(meta(source=SPAWNED), meta(PARENT), *own).turns) == 1
    untold = [one for one in own if one["type"] == "response_item"]
    assert len(session(meta(source=SPAWNED), meta(PARENT), *untold).turns) == 1


def test_the_oldest_rollouts_have_bare_lines() -> None:
    read = session(
        {"id": OWN, "timestamp": "2025-05-01T10:00:00Z", "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ho"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    )

    assert (read.id, talk(read), read.turns[0].tool_calls[0].result) == (OWN, [("hi", "ho")], "a.py")


def test_what_is_not_known_is_counted_and_skipped() -> None:
    report = session(
        meta(), event("hologram"), line("hologram", {}), event("user_message", message="hi")
    ).report

    assert report.unknown == {"event_msg/hologram": 1, "hologram": 1}
    assert sum(report.counts.values()) == 4
