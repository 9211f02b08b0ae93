"""The one door from lines to sessions: which agent wrote them, and the subagents they tell of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.transcript import Found
from backstory.transcripts.lines import read_lines
from backstory.transcripts.reader import CLAUDE_CODE, CODEX, Reading, read_transcript

Json = dict[str, object]

CLAUDE: Json = {"type": "user", "uuid": "u1", "message": {"content": "hi"}}
ROLLOUT: Json = {"type": "event_msg", "payload": {"type": "user_message", "message": "hi"}}


def reading(*records: Json, **place: str) -> Reading:
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    return read_transcript(read_lines(data), **place)


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([CLAUDE], CLAUDE_CODE),
        ([{"type": "summary", "summary": "x"}], CLAUDE_CODE),
        ([{"type": "hologram", "payload": {}}, ROLLOUT], CODEX),
        ([{"type": "hologram"}, CLAUDE], CLAUDE_CODE),
        ([ROLLOUT], CODEX),
        ([{"odd": 1}, ROLLOUT], CODEX),
        ([{"id": "s1", "timestamp": "", "instructions": ""}], CODEX),
        ([{"type": "message", "role": "user", "content": []}], CODEX),
    ],
)
def test_what_the_first_records_are_tells_who_wrote_the_file(first: list[Json], expected: str) -> None:
    assert reading(*first).interface_type == expected
    assert reading(*first, CLAUDE, ROLLOUT).interface_type == expected


def progress(agent: str, uuid: str, message: Json) -> Json:
    told = {
        "type": "agent_progress",
        "agentId": agent,
        "prompt": "look",
        "message": {"uuid": uuid, **message},
    }
    return {"type": "progress", "uuid": f"p-{uuid}", "sessionId": "s1", "cwd": "/w", "data": told}


def asked(words: str) -> Json:
    return {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": words}]}}


def answered(words: str) -> Json:
    return {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": words}]}}


def test_subagents_are_put_together_from_what_the_session_s_file_tells_of_them() -> None:
    read = reading(
        CLAUDE,
        progress("a1", "x1", asked("look left")),
        progress("a2", "y1", asked("look right")),
        progress("a1", "x2", answered("nothing")),
        progress("a2", "y2", answered("a cat")),
        {"type": "progress", "uuid": "p9", "data": {"type": "hook_progress", "agentId": "a3"}},
        id="s1",
    )

    assert [(one.id, one.agent, one.folder, one.human_utterances) for one in read.agents] == [
        ("s1", "a1", "/w", 0),
        ("s1", "a2", "/w", 0),
    ]
    [left], [right] = (one.turns for one in read.agents)
    assert (left.human_text, left.assistant_text, list(left.uuids)) == ("look left", "nothing", ["x1", "x2"])
    assert (right.assistant_text, right.is_sidechain, right.utterances[0].found) == (
        "a cat",
        True,
        Found.TASK,
    )
    assert [turn.human_text for turn in read.session.turns] == ["hi"]


def test_a_subagent_that_said_nothing_is_none() -> None:
    assert reading(CLAUDE, progress("a1", "x1", {"type": "user"})).agents == []


@given(st.binary(max_size=80))
def test_any_bytes_are_read(data: bytes) -> None:
    assert read_transcript(read_lines(data + b"\n")).session.report.unreadable >= 0
