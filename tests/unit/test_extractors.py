"""How memories come out of a talk: texts with labels, and a language model that refines what rules found."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.adapters.extractors.llm import MOST_STRETCHES, LlmExtractor
from backstory.adapters.extractors.rules import RuleExtractor
from backstory.adapters.language_model import Api
from backstory.analysis.speakers import turns_in
from backstory.model.candidate import CandidateMemory, Extracted
from backstory.model.summary import SaidTurn
from tests.contract.model_servers import ModelServer, answer, model_at, serving

RULES = RuleExtractor()

TALK = [
    SaidTurn(1, "Let's keep the orders in SQLite because nobody has to install it.", "Done."),
    SaidTurn(2, "Always use pnpm here,\n  never npm.", "Ok, the lock file is written anew."),
]


def quietly(_done: int, _of: int) -> None:
    """Tell nobody how far it is."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as listening:
        yield listening


def by_rules(talk: Sequence[SaidTurn] = TALK) -> Sequence[CandidateMemory]:
    return RULES.extract(talk, {}, quietly).candidates


def refined(server: ModelServer, *items: object, talk: Sequence[SaidTurn] = TALK) -> Extracted:
    """What is made of a talk by a model that says this."""
    server.says(answer(Api.OLLAMA, json.dumps(items)))
    return LlmExtractor(model_at(server, Api.OLLAMA), RULES).extract(talk, {}, quietly)


def the_only(extracted: Extracted) -> CandidateMemory:
    (only,) = extracted.candidates
    return only


def test_a_candidate_that_the_model_keeps_stays_as_it_was(server: ModelServer) -> None:
    assert refined(server, {"candidate": 1}) == Extracted([by_rules()[0]])


def test_a_candidate_that_the_model_leaves_out_is_gone(server: ModelServer) -> None:
    assert refined(server) == Extracted([])


def test_a_candidate_is_worded_anew_and_its_fields_follow(server: ModelServer) -> None:
    content = "Orders are kept in SQLite because nobody has to install it."

    better = the_only(refined(server, {"candidate": 1, "content": content, "confidence": 0.97}))

    assert (better.type, better.content, better.confidence) == ("design", content, 0.97)
    assert better.fields["decision"] == content
    assert better.fields["rationale"] == "nobody has to install it"
    assert better.evidence == by_rules()[0].evidence


def test_the_session_is_worded_anew_and_its_summary_follows(server: ModelServer) -> None:
    number = [each.type for each in by_rules()].index("session") + 1

    better = the_only(refined(server, {"candidate": number, "content": "Orders moved to SQLite."}))

    assert better.fields["summary"] == "Orders moved to SQLite."
    assert better.fields["key_decisions"] == by_rules()[-1].fields["key_decisions"]


def test_a_memory_of_the_model_s_own_has_the_fields_that_its_words_give(server: ModelServer) -> None:
    item = {
        "type": "preference",
        "content": "Use pnpm, never npm.",
        "evidence": "Always use pnpm here, never npm.",
        "fields": {"category": "Tool"},
    }

    own = the_only(refined(server, item))

    assert (own.fields["key"], own.fields["value"], own.fields["category"]) == (
        "js_package_manager",
        "pnpm",
        "Tool",
    )
    assert own.confidence == 0.7


def test_evidence_is_given_as_it_was_said_and_where(server: ModelServer) -> None:
    item = {"type": "preference", "content": "Use pnpm.", "evidence": "use pnpm here, never npm", "turn": 1}

    own = the_only(refined(server, item))

    assert (own.evidence, own.turn) == ("use pnpm here,\n  never npm", 2)


def test_a_quotation_is_looked_for_in_the_turn_that_was_named_first(server: ModelServer) -> None:
    talk = [SaidTurn(number, "We use uv for that.", "") for number in (1, 2, 3)]
    item = {"type": "design", "content": "uv does it.", "evidence": "We use uv", "turn": 2}

    assert the_only(refined(server, item, talk=talk)).turn == 2


@pytest.mark.parametrize(
    "item",
    [
        {"type": "design", "content": "Events go through Kafka.", "evidence": "events go through Kafka"},
        {"type": "design", "content": "Events go through Kafka."},
        {"type": "design", "content": "Events go through Kafka.", "evidence": "the"},
        {"type": "session", "content": "All is well.", "evidence": "keep the orders in SQLite"},
        {"type": "component", "content": "The orders.", "evidence": "keep the orders in SQLite"},
        {"type": "test_history", "content": "A test failed.", "evidence": "keep the orders in SQLite"},
        {"type": "design", "content": " ", "evidence": "keep the orders in SQLite"},
        {"candidate": 99},
    ],
)
def test_what_a_model_makes_up_is_left_out_and_told(server: ModelServer, item: object) -> None:
    extracted = refined(server, item)

    assert extracted.candidates == []
    assert extracted.note == (
        "of what some-model found, 1 were left out: they quote what was not said, or cannot be kept"
    )


def test_a_short_quotation_is_enough_where_no_more_was_said(server: ModelServer) -> None:
    talk = [SaidTurn(1, "Which one, uv or pip?", "Tell me."), SaidTurn(2, "uv!", "Fine.")]

    own = the_only(refined(server, {"type": "design", "content": "uv it is.", "evidence": "uv!"}, talk=talk))

    assert (own.evidence, own.turn) == ("uv!", 2)


def test_fields_that_the_type_does_not_take_are_left_out(server: ModelServer) -> None:
    item = {"candidate": 1, "fields": {"status": "Perhaps"}}

    assert the_only(refined(server, item)) == by_rules()[0]


def test_names_and_links_to_others_are_not_the_model_s_to_make_up(server: ModelServer) -> None:
    item = {
        "type": "requirement",
        "content": "Orders are in SQLite.",
        "evidence": "keep the orders in SQLite",
        "fields": {"requirement_id": "REQ-ORD-1", "implementing_components": ["orders"], "priority": "High"},
    }

    own = the_only(refined(server, item))

    assert str(own.fields["requirement_id"]).startswith("REQ-SAID-")
    assert "implementing_components" not in own.fields
    assert own.fields["priority"] == "High"


def test_what_is_no_object_in_the_list_is_left_out(server: ModelServer) -> None:
    assert refined(server, {"candidate": 1}, "keep the orders", 7, None).candidates == [by_rules()[0]]


def test_a_memory_that_is_told_twice_is_there_once(server: ModelServer) -> None:
    assert len(refined(server, {"candidate": 1}, {"candidate": 1}).candidates) == 1


def test_a_list_is_found_in_whatever_is_written_around_it(server: ModelServer) -> None:
    server.says(answer(Api.OPENAI, 'As asked [1]:\n```json\n[ {"candidate": 1}]\n```\nAnything [else]?'))

    found = LlmExtractor(model_at(server, Api.OPENAI), RULES).extract(TALK, {}, quietly)

    assert found == Extracted([by_rules()[0]])


@pytest.mark.parametrize(
    "said", ["Nothing to remember.", "[1, 2", '[{"candidate": 1}', '{"candidate": 1}', "]["]
)
def test_an_answer_that_is_no_list_leaves_what_the_rules_found(server: ModelServer, said: str) -> None:
    server.says(answer(Api.OLLAMA, said))

    found = LlmExtractor(model_at(server, Api.OLLAMA), RULES).extract(TALK, {}, quietly)

    assert found == Extracted(by_rules(), "some-model was not used: its answer is no list of memories")


@pytest.mark.parametrize("api", Api)
def test_a_server_that_fails_leaves_what_the_rules_found_and_is_told_of(
    server: ModelServer, api: Api
) -> None:
    server.status = 503
    server.says({"error": "sk-hidden is not a key that we know"})

    found = LlmExtractor(model_at(server, api, key="sk-hidden"), RULES).extract(TALK, {}, quietly)

    assert found == Extracted(by_rules(), "some-model was not used: its server answered with status 503")


@pytest.mark.parametrize("api", Api)
def test_the_talk_is_sent_as_material_with_what_the_rules_found(server: ModelServer, api: Api) -> None:
    server.says(answer(api, "[]"))
    tools = {2: "x" * 5_000 + "1 failed"}

    LlmExtractor(model_at(server, api), RULES).extract(TALK, tools, quietly)

    body = server.asked[0].body
    task = body.get("system") or body["messages"][0]["content"]
    boundary, *lines, end = body["messages"][-1]["content"].splitlines()
    told = [json.loads(line) for line in lines]
    assert boundary == end
    assert boundary in task
    assert "never an instruction" in task
    assert [each.get("turn") for each in told[:2]] == [1, 2]
    assert told[1]["tools"].endswith("1 failed")
    assert len(told[1]["tools"]) == 1_000
    assert [each["candidate"] for each in told[2:]] == list(range(1, len(by_rules()) + 1))


def long_talk(turns: int) -> list[SaidTurn]:
    """Each turn decides something, and fills a tenth of what a model takes."""
    return [
        SaidTurn(number, f"We decided to use tool{number} for part{number}.", "word " * 3_000)
        for number in range(1, turns + 1)
    ]


def test_a_long_talk_is_sent_in_stretches_and_the_session_stays_whole(server: ModelServer) -> None:
    server.says(answer(Api.OLLAMA, '[{"candidate": 1}]'))
    steps: list[tuple[int, int]] = []

    found = LlmExtractor(model_at(server, Api.OLLAMA), RULES).extract(
        long_talk(12), {}, lambda done, of: steps.append((done, of))
    )

    assert len(server.asked) == 2
    assert steps[-2:] == [(0, 2), (1, 2)]
    assert [(each.type, each.turn) for each in found.candidates] == [
        ("design", 1),
        ("design", 8),
        ("session", 1),
    ]
    assert found.note == ""


def test_when_a_model_fails_in_the_middle_the_rules_tell_of_the_rest(server: ModelServer) -> None:
    server.says(answer(Api.OLLAMA, "[]"))

    def fail_then(done: int, _of: int) -> None:
        server.status = 500 if done else 200

    found = LlmExtractor(model_at(server, Api.OLLAMA), RULES).extract(long_talk(12), {}, fail_then)

    assert [each.turn for each in found.candidates if each.type == "design"] == [8, 9, 10, 11, 12]
    assert found.note == "some-model was not used from turn 8 on: its server answered with status 500"


def test_a_model_is_asked_about_so_many_stretches_and_no_more(server: ModelServer) -> None:
    server.says(answer(Api.OLLAMA, "[]"))
    little = replace(model_at(server, Api.OLLAMA), max_input_tokens=6_000)

    found = LlmExtractor(little, RULES).extract(long_talk(MOST_STRETCHES + 2), {}, quietly)

    assert len(server.asked) == MOST_STRETCHES
    assert [each.turn for each in found.candidates if each.type == "design"] == [9, 10]
    assert "from turn 9 on: it is asked about 8 stretches" in found.note


def test_a_turn_that_is_longer_than_the_model_takes_is_left_to_the_rules(server: ModelServer) -> None:
    tiny = replace(model_at(server, Api.OLLAMA), max_input_tokens=100)

    found = LlmExtractor(tiny, RULES).extract(TALK, {}, quietly)

    assert server.asked == []
    assert found.candidates == by_rules()
    assert "and it is given 100 at most" in found.note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We use uv.\nAnd Ruff.", [("We use uv.\nAnd Ruff.", "")]),
        ("User: Which one?\nAssistant: uv.\nUser: Fine.", [("Which one?", "uv."), ("Fine.", "")]),
        ("**Human:** Which?\n\n**Claude:** uv.\n\nIt is quick.", [("Which?", "uv.\n\nIt is quick.")]),
        ("Hello.\nAI: uv it is.\nme: ok", [("Hello.", "uv it is."), ("ok", "")]),
        ("Assistant: Done.\nUser: Thanks.", [("", "Done."), ("Thanks.", "")]),
        ("User: a\nUser: b\nAgent: c\nBot: d", [("a\n\nb", "c\n\nd")]),
        ("The user: a person.", [("The user: a person.", "")]),
        ("User:\nAssistant:", []),
        ("", []),
    ],
)
def test_a_text_is_read_as_the_talk_that_its_labels_say(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(turn.user, turn.assistant) for turn in turns_in(text)] == expected


@given(st.text(max_size=300) | st.text("User:Ast \n*", max_size=300))
def test_turns_of_a_text_are_numbered_and_hold_what_it_says(text: str) -> None:
    turns = turns_in(text)

    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert all(
        piece in text
        for turn in turns
        for said in (turn.user, turn.assistant)
        for piece in said.split("\n\n")
    )
