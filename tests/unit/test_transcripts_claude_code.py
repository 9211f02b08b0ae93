"""A Claude Code transcript as a session: its turns, its branches, its title, and how reading it went."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.transcript import Session, Title, TitleSource, Usage
from backstory.transcripts.claude_code import read_session
from backstory.transcripts.lines import read_lines

Json = dict[str, object]

ASIDE: Json = {"isSidechain": True}


def said(words: object, uuid: str = "", parent: str | None = None, **more: object) -> Json:
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"content": words}, **more}


def answered(*blocks: Json, uuid: str = "", parent: str | None = None, **message: object) -> Json:
    content = {"id": uuid, "content": list(blocks), **message}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": content}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def use(id: str, name: str = "Bash", **given: object) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(id: str, content: str) -> Json:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def session(*records: Json, **place: str) -> Session:
    return read_session(
        read_lines(b"".join(json.dumps(record).encode() + b"\n" for record in records)), **place
    )


def test_a_turn_holds_what_was_said_and_all_that_followed() -> None:
    read = session(
        said("why?", "u1"),
        answered({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, uuid="a1", parent="u1"),
        answered(text("Let me look."), uuid="a2", parent="a1"),
        answered(use("t1", command="ls"), uuid="a3", parent="a2"),
        said([result("t1", "a.py")], "u2", "a3"),
        answered(text("\n\n"), text("Because."), uuid="a4", parent="u2"),
        said("thanks", "u3", "a4"),
    )

    first, second = read.turns
    assert (first.number, first.human_text, first.assistant_text) == (1, "why?", "Let me look.\n\nBecause.")
    assert [(call.name, call.result) for call in first.tool_calls] == [("Bash", "a.py")]
    assert list(first.uuids) == ["u1", "a1", "a2", "a3", "u2", "a4"]
    assert (second.number, second.human_text, second.assistant_text) == (2, "thanks", "")
    assert read.human_utterances == 2


def test_human_words_hidden_in_a_result_begin_a_turn() -> None:
    refused = "The user doesn't want to proceed with this tool use. The user said:\nuse uv"
    read = session(
        said("install", "u1"),
        answered(use("t1"), uuid="a1"),
        said([{**result("t1", refused), "is_error": True}], "u2"),
        answered(text("With uv, then."), uuid="a2"),
    )

    assert [turn.human_text for turn in read.turns] == ["install", "use uv"]
    assert read.turns[0].tool_calls[0].is_error
    assert read.turns[1].assistant_text == "With uv, then."


def test_commands_are_kept_with_their_arguments_but_are_no_human_words() -> None:
    read = session(
        said("<bash-input>make test</bash-input>"),
        said("fix it"),
        said("<command-name>/review</command-name>\n<command-args>the parser</command-args>"),
        said("<command-name>/clear</command-name>\n<command-args></command-args>"),
        said("<user-memory-input>use tabs</user-memory-input>"),
    )

    assert [turn.human_text for turn in read.turns] == ["fix it"]
    assert list(read.turns[0].commands) == ["!make test", "/review the parser", "#use tabs"]


def test_tokens_are_counted_once_an_answer_and_the_last_count_holds() -> None:
    def counted(uuid: str, output: int) -> Json:
        usage = {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 5}
        return answered(text(uuid), uuid=uuid, id="m1", usage=usage)

    read = session(said("hi", "u1"), counted("a1", 3), counted("a2", 3), said("and?"), counted("a3", 278))

    assert read.usage == Usage(input=10, output=278, cache_read=5)
    assert read.turns[0].usage == read.usage


def test_what_the_program_says_in_the_model_s_place_is_left_out() -> None:
    synthetic = answered(text("No response requested."), uuid="a1", model="<synthetic>")

    assert session(said("hi"), synthetic).turns[0].assistant_text == ""
    assert session(synthetic).turns == []


def test_a_rewind_begins_a_branch_and_both_are_kept() -> None:
    read = session(
        said("begin", "u1"),
        answered(text("ok"), uuid="a1", parent="u1"),
        said("go left", "u2", "a1"),
        answered(text("left"), uuid="a2", parent="u2"),
        {"type": "system", "uuid": "s1", "parentUuid": "a1"},
        said("go right", "u3", "s1"),
        answered(text("right"), uuid="a3", parent="u3"),
        said("further right", "u4", "a3"),
        said("further left", "u5", "a2"),
    )

    assert [(turn.human_text, turn.branch) for turn in read.turns] == [
        ("begin", 1),
        ("go left", 1),
        ("go right", 2),
        ("further right", 2),
        ("further left", 1),
    ]


def test_parallel_tool_calls_and_commands_under_one_caveat_are_no_branches() -> None:
    read = session(
        said("caveat", "m1", isMeta=True),
        said("<command-name>/clear</command-name>", "c1", "m1"),
        said("go", "u1", "m1"),
        answered(use("t1"), uuid="a1", parent="u1"),
        said([result("t1", "1"), text("one")], "r1", "a1"),
        answered(use("t2"), uuid="a2", parent="a1"),
        said([result("t2", "2"), text("two")], "r2", "a2"),
    )

    assert {turn.branch for turn in read.turns} == {1}


def test_subagents_in_the_same_file_have_turns_of_their_own() -> None:
    read = session(
        said("do both", "u1"),
        answered(use("t1", "Task"), uuid="a1", parent="u1"),
        said("task one", "x1") | ASIDE,
        said("task two", "y1") | ASIDE,
        answered(text("one done"), uuid="x2", parent="x1") | ASIDE,
        answered(text("two done"), uuid="y2", parent="y1") | ASIDE,
        answered(text("Both done."), uuid="a2", parent="a1"),
    )

    assert [(turn.human_text, turn.assistant_text, turn.is_sidechain) for turn in read.turns] == [
        ("do both", "Both done.", False),
        ("task one", "one done", True),
        ("task two", "two done", True),
    ]
    assert (read.human_utterances, read.agent) == (1, "")


def test_a_subagent_whose_chain_is_broken_goes_on() -> None:
    read = session(
        said("task one", "x1") | ASIDE, answered(text("one done"), uuid="x2", parent="gone") | ASIDE
    )

    assert [(turn.human_text, turn.assistant_text) for turn in read.turns] == [("task one", "one done")]


def test_a_subagent_s_file_names_its_agent_and_its_session() -> None:
    read = session(said("look", "x1", isSidechain=True, agentId="a1b2", sessionId="s1"))

    assert (read.id, read.agent, read.title.text) == ("s1", "a1b2", "look")
    assert session(said("look", sessionId="s1"), id="s2", agent="a").id == "s2"


def test_broken_chains_and_circles_change_nothing() -> None:
    read = session(
        said("one", "u1", "u2"),
        answered(text("1"), uuid="a1", parent="a1"),
        said("two", "u2", "gone"),
        answered(text("2"), uuid="a2", parent="u1"),
    )

    assert [(turn.human_text, turn.assistant_text) for turn in read.turns] == [("one", "1"), ("two", "2")]


def test_a_file_that_begins_with_an_answer_loses_nothing() -> None:
    [turn] = session(answered(text("As I said."), uuid="a1")).turns

    assert (turn.number, turn.human_text, turn.assistant_text) == (1, "", "As I said.")


def test_records_written_again_are_left_out_and_counted() -> None:
    read = session(
        said("hi", "u1"), said("hi", "u1"), answered(text("ho"), uuid="a1"), answered(text("ho"), uuid="a1")
    )

    assert [(turn.human_text, turn.assistant_text) for turn in read.turns] == [("hi", "ho")]
    assert read.report.repeated == 2


def test_unknown_records_are_counted_and_skipped() -> None:
    report = session(said("hi"), {"type": "hologram"}, {"type": ["x"]}, {}).report

    assert report.counts == {"user": 1, "hologram": 1, "": 2}
    assert report.unknown == {"hologram": 1, "": 2}


def test_repairs_and_losses_are_reported() -> None:
    report = read_session(read_lines(b'{"type":"user"}{"type":"user"}\n{"type":\n')).report

    assert (report.repaired, report.unreadable) == (1, 1)


def test_a_session_knows_where_when_and_with_what_it_ran() -> None:
    read = session(
        said(
            "a",
            timestamp="2026-01-01T10:00:00.500Z",
            cwd="/w",
            gitBranch="main",
            version="2.1.1",
            slug="odd-old-owl",
        ),
        said("b", timestamp="2026-01-01T09:00:00Z", cwd="/w/sub", gitBranch="fix", version="2.1.1"),
        said("c", timestamp="yesterday"),
        said("d", timestamp="0001-01-01T00:00:00+23:59"),
    )

    assert (read.folder, read.slug) == ("/w", "odd-old-owl")
    assert (list(read.git_branches), list(read.versions)) == (["main", "fix"], ["2.1.1"])
    assert read.started_at == datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert read.ended_at == datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    assert read.turns[1].started_at == read.started_at


CUSTOM: Json = {"type": "custom-title", "customTitle": "Mine"}
AI: Json = {"type": "ai-title", "aiTitle": "Its own"}
SUMMARY: Json = {"type": "summary", "summary": "Summed up", "leafUuid": "u1"}
PROMPT = said("Please   fix\nthe parser", "u1")
SLUGGED = said("Please fix", "u1", slug="odd-old-owl")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([SUMMARY, AI, CUSTOM, SLUGGED], Title("Mine", TitleSource.CUSTOM)),
        ([CUSTOM, SLUGGED, {**CUSTOM, "customTitle": "Renamed"}], Title("Renamed", TitleSource.CUSTOM)),
        ([SUMMARY, AI, SLUGGED], Title("Its own", TitleSource.AI)),
        ([SUMMARY, SLUGGED], Title("Summed up", TitleSource.SUMMARY)),
        ([{**SUMMARY, "leafUuid": "elsewhere"}, SLUGGED], Title("odd-old-owl", TitleSource.SLUG)),
        ([PROMPT], Title("Please fix the parser", TitleSource.FIRST_WORDS)),
        ([{**AI, "aiTitle": "/exit"}, PROMPT], Title("Please fix the parser", TitleSource.FIRST_WORDS)),
        (
            [
                said("<local-command-caveat>Caveat</local-command-caveat>"),
                said("<command-name>/x</command-name>"),
                PROMPT,
            ],
            Title("Please fix the parser", TitleSource.FIRST_WORDS),
        ),
        ([], Title()),
    ],
)
def test_the_best_title_is_chosen(records: list[Json], expected: Title) -> None:
    assert session(*records).title == expected


def test_summaries_of_other_sessions_are_handed_on() -> None:
    read = session(SUMMARY, {**SUMMARY, "leafUuid": "elsewhere", "summary": "Another"}, PROMPT)

    assert read.summaries == {"elsewhere": "Another"}


KEYS = [
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
    "isMeta",
    "isSidechain",
    "origin",
    "kind",
    "timestamp",
    "attachment",
    "prompt",
    "operation",
    "toolUseResult",
    "questions",
    "answers",
    "annotations",
    "notes",
    "summary",
    "leafUuid",
    "slug",
    "cwd",
    "is_error",
    "source_uuid",
    "commandUuid",
]
WORDS = [
    "user",
    "assistant",
    "attachment",
    "queue-operation",
    "summary",
    "queued_command",
    "text",
    "tool_use",
    "tool_result",
    "enqueue",
    "remove",
    "u1",
    "u2",
    "human",
    "Read",
    "Bash",
    "apply_patch",
    "<system-reminder>",
    "</system-reminder>",
    "/init",
    "2026-01-01T00:00:00Z",
]
odd_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
odd_records = st.lists(st.dictionaries(st.sampled_from(KEYS), odd_json, max_size=8), max_size=6)


@given(odd_records)
def test_any_objects_make_a_session(records: list[Json]) -> None:
    read = session(*records)

    assert sum(read.report.counts.values()) == len(records)
    assert [turn.number for turn in read.turns] == list(range(1, len(read.turns) + 1))
    assert "\0" not in "".join(turn.human_text + turn.assistant_text for turn in read.turns)


@given(st.binary(max_size=80))
def test_any_bytes_make_a_session(data: bytes) -> None:
    assert read_session(read_lines(data + b"\n")).report.unreadable >= 0
