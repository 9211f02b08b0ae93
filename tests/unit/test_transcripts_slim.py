"""Slim records: what is read from them is what is read from whole ones, and they are small."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.transcripts.lines import Lines, Record
from backstory.transcripts.reader import read_transcript
from backstory.transcripts.slim import slimmed

Json = dict[str, object]

PICTURE: Json = {"type": "image", "source": {"type": "base64", "data": "QUJD" * 1000}}
REFUSED = "The user doesn't want to proceed. The user said:\n" + "no, " * 900
ANSWERED = 'User has answered your questions: "Which?"="' + "this " * 700 + '".'


def result(content: object, **more: object) -> Json:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, **more}
    return {"type": "user", "uuid": "r1", "message": {"content": [block]}}


def use(name: str, **given: object) -> Json:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": given}
    return {"type": "assistant", "uuid": "a1", "message": {"id": "m1", "content": [block]}}


def codex(kind: str, **payload: object) -> Json:
    return {"timestamp": "2026-01-01T10:00:00Z", "type": kind, "payload": payload}


LONG: dict[str, list[Json]] = {
    "a long result": [
        use("Bash", command="make"),
        result("x <system-reminder>psst</system-reminder> y\n" * 3000),
    ],
    "a result with colours": [use("Bash"), result("\x1b[1mred\x1b[0m\r\n" * 2000)],
    "a result in blocks": [
        use("Read", file_path="/a.png"),
        result([PICTURE, {"type": "text", "text": "z " * 5000}]),
    ],
    "an empty result": [use("Bash"), result([])],
    "a refusal": [use("Bash"), result(REFUSED, is_error=True)],
    "a refusal behind white space": [use("Bash"), result("\n" + REFUSED, is_error=True)],
    "an answer": [use("AskUserQuestion"), result(ANSWERED)],
    "an answer behind white space": [use("AskUserQuestion"), result("\n" + ANSWERED)],
    "a written file": [use("Write", file_path="/a.py", content="x\0" * 9000)],
    "a copy of a result": [use("Bash"), {**result("ok"), "toolUseResult": {"stdout": "x" * 9000}}],
    "a snapshot": [{"type": "file-history-snapshot", "snapshot": {"a": "x" * 9000}}],
    "a subagent's messages": [
        {
            "type": "progress",
            "uuid": "p1",
            "data": {
                "type": "agent_progress",
                "agentId": "a7",
                "normalizedMessages": ["x" * 9000],
                "message": {**result("y " * 9000), "toolUseResult": "y" * 9000},
            },
        }
    ],
    "Codex's output": [
        codex("response_item", type="function_call", call_id="c1", name="shell", arguments="{}"),
        codex(
            "response_item", type="function_call_output", call_id="c1", output="Exit code: 1\n" + "x " * 9000
        ),
    ],
    "Codex's output in JSON": [
        codex("response_item", type="function_call", call_id="c1", name="shell", arguments="{}"),
        codex(
            "response_item",
            type="function_call_output",
            call_id="c1",
            output=json.dumps({"output": "x " * 9000, "metadata": {"exit_code": 1}}),
        ),
    ],
    "Codex's thoughts": [codex("response_item", type="reasoning", encrypted_content="x" * 9000)],
    "Codex's summary": [codex("compacted", message="x" * 9000)],
    "Codex's instructions": [codex("session_meta", id="s1", base_instructions={"text": "x" * 9000})],
    "Codex's patch": [
        codex("event_msg", type="patch_apply_end", call_id="c1", changes={"a.py": {"content": "x" * 9000}})
    ],
}


def lines(records: Sequence[Json]) -> Lines:
    return Lines([Record(offset, fields) for offset, fields in enumerate(records)], len(records))


def slim(whole: Lines) -> Lines:
    return Lines([slimmed(record) for record in whole.records], whole.consumed, whole.flaws)


@pytest.mark.parametrize("records", LONG.values(), ids=LONG)
def test_nothing_is_read_differently(records: list[Json]) -> None:
    whole = lines(records)

    assert read_transcript(slim(whole)) == read_transcript(whole)


WITH_WORDS = {"a refusal", "a refusal behind white space", "an answer", "an answer behind white space"}


@pytest.mark.parametrize("name", sorted(LONG.keys() - WITH_WORDS))
def test_what_nobody_reads_is_not_kept(name: str) -> None:
    kept = sum(len(json.dumps(record.fields)) for record in slim(lines(LONG[name])).records)

    assert kept < 3000


@pytest.mark.parametrize("records", LONG.values(), ids=LONG)
def test_a_slim_record_cannot_be_made_slimmer(records: list[Json]) -> None:
    once = slim(lines(records))

    assert slim(once) == once


@pytest.mark.parametrize("keys", [("data", "message"), ("payload", "item"), ("message", "content")])
def test_records_told_in_records_without_end_are_survived(keys: tuple[str, ...]) -> None:
    nested: object = "x"
    for depth in range(5000):
        nested = {"type": "agent_progress", "agentId": "a1", keys[depth % len(keys)]: nested}
    assert isinstance(nested, dict)

    assert read_transcript(slim(lines([nested]))).session.turns == []


KEYS = [
    *(
        "type",
        "uuid",
        "parentUuid",
        "message",
        "content",
        "text",
        "id",
        "tool_use_id",
        "input",
        "name",
        "usage",
    ),
    *(
        "isMeta",
        "isSidechain",
        "origin",
        "kind",
        "timestamp",
        "attachment",
        "prompt",
        "operation",
        "toolUseResult",
    ),
    *(
        "questions",
        "answers",
        "annotations",
        "notes",
        "summary",
        "leafUuid",
        "slug",
        "cwd",
        "is_error",
        "data",
    ),
    *("source_uuid", "commandUuid", "agentId", "payload", "role", "call_id", "arguments", "output", "action"),
    *(
        "item",
        "changes",
        "info",
        "total_token_usage",
        "input_tokens",
        "turn_id",
        "thread_name",
        "instructions",
    ),
]
WORDS = [
    *("user", "assistant", "attachment", "queue-operation", "summary", "queued_command", "text", "tool_use"),
    *(
        "tool_result",
        "enqueue",
        "remove",
        "u1",
        "u2",
        "human",
        "Write",
        "Bash",
        "apply_patch",
        "/init",
        "progress",
    ),
    *(
        "agent_progress",
        "response_item",
        "event_msg",
        "session_meta",
        "function_call",
        "function_call_output",
    ),
    *("user_message", "item_completed", "UserMessage", "request_user_input", "token_count", "excerpt"),
    *("<system-reminder>", "</system-reminder>", "\x1b[1m", " x\r\n" * 700, "A" * 300, '{"output":"x"}'),
    *(REFUSED, ANSWERED),
]
odd_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
#: Records such as there are, with anything at all in any place.
claude_records = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant"]),
        "uuid": st.sampled_from(["u1", "u2", "u3"]),
        "message": st.fixed_dictionaries(
            {
                "content": st.lists(
                    st.fixed_dictionaries(
                        {
                            "type": st.sampled_from(["text", "tool_use", "tool_result", "excerpt"]),
                            "text": odd_json,
                            "content": odd_json,
                        },
                        optional={
                            "tool_use_id": st.just("t1"),
                            "id": st.just("t1"),
                            "is_error": st.booleans(),
                            "name": st.sampled_from(WORDS),
                            "input": odd_json,
                        },
                    ),
                    max_size=3,
                )
            }
        ),
    }
)
codex_records = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["response_item", "event_msg", "session_meta"]),
        "payload": st.fixed_dictionaries(
            {"type": st.sampled_from(WORDS)},
            optional={
                "call_id": st.just("c1"),
                "output": odd_json,
                "content": odd_json,
                "changes": odd_json,
                "item": odd_json,
                "arguments": odd_json,
                "name": st.sampled_from(WORDS),
                "role": st.sampled_from(["user", "assistant"]),
            },
        ),
    }
)
odd_records = st.dictionaries(st.sampled_from(KEYS), odd_json, max_size=8)


@given(st.lists(claude_records | codex_records | odd_records, max_size=6))
def test_no_record_is_read_differently(records: list[Json]) -> None:
    whole = lines(records)

    assert read_transcript(slim(whole)) == read_transcript(whole)
