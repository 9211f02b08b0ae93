"""What of a talk is worth remembering."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.analysis.extraction import extract
from backstory.analysis.statements import statements
from backstory.model.candidate import CandidateMemory
from backstory.model.memory import NewMemory, problems_of
from backstory.model.summary import SaidTurn
from benchmarks.extraction import HELD_OUT, TUNED_ON, TYPES, counted, read_excerpts

EXCERPTS = read_excerpts()


def talk(*said: tuple[str, str]) -> list[SaidTurn]:
    return [SaidTurn(number, user, assistant) for number, (user, assistant) in enumerate(said, 1)]


def found(*said: tuple[str, str], type_: str) -> list[CandidateMemory]:
    """The memories of a type in a talk."""
    return [each for each in extract(talk(*said)) if each.type == type_]


def the_only(*said: tuple[str, str]) -> CandidateMemory:
    """The one memory in a talk, beside the session itself."""
    (only,) = (each for each in extract(talk(*said)) if each.type != "session")
    return only


def nothing_in(*said: tuple[str, str]) -> bool:
    return not [each for each in extract(talk(*said)) if each.type != "session"]


def test_a_decision_is_found_with_its_reason_and_the_words_it_was_said_in() -> None:
    decision = the_only(("ok, so let's use Redis for the rate limits because it expires keys.", "Sure."))

    assert decision.type == "design"
    assert decision.content == "Let's use Redis for the rate limits because it expires keys."
    assert decision.evidence == "ok, so let's use Redis for the rate limits because it expires keys."
    assert decision.fields["rationale"] == "it expires keys"
    assert decision.fields["status"] == "Accepted"
    assert decision.turn == 1


def test_a_preference_has_a_key_that_is_the_same_whatever_was_chosen() -> None:
    one = the_only(("Always use pnpm here, never npm.", "Ok."))
    other = the_only(("I prefer yarn.", "Ok."))

    assert (one.type, other.type) == ("preference", "preference")
    assert one.fields["key"] == other.fields["key"] == "js_package_manager"
    assert (one.fields["value"], other.fields["value"]) == ("pnpm", "yarn")
    assert (one.fields["scope"], other.fields["scope"]) == ("Project", "Global")


def test_a_preference_without_a_known_topic_is_its_own_value() -> None:
    preference = the_only(("From now on show the plan before the code.", "Ok."))

    assert preference.fields["value"] == "From now on show the plan before the code."
    assert preference.fields["key"]


def test_a_requirement_keeps_the_id_that_it_was_given() -> None:
    requirement = the_only(("REQ-OPS-7 says that logs are kept for 90 days.", "It is so."))

    assert requirement.type == "requirement"
    assert requirement.fields["requirement_id"] == "REQ-OPS-7"


def test_a_requirement_without_an_id_gets_the_same_one_each_time() -> None:
    said = ("Exports must be encrypted at rest.", "Ok.")

    assert the_only(said).fields["requirement_id"] == the_only(said).fields["requirement_id"]
    assert str(the_only(said).fields["requirement_id"]).startswith("REQ-SAID-")


def test_a_convention_of_the_code_is_found_in_an_answer_of_the_agent() -> None:
    convention = the_only(
        ("how are flags read in Python?", "All flags go through `flags.is_on`, in Python code too.")
    )

    assert convention.type == "code_pattern"
    assert convention.fields["pattern_type"] == "Convention"
    assert convention.fields["language"] == "python"


def test_an_agent_that_praises_its_own_work_states_no_convention() -> None:
    assert nothing_in(("add the forms", "All components use proper interfaces and are reusable."))


@pytest.mark.parametrize(
    "message",
    [
        "What if we used Redis instead of the database?",
        "Maybe we should use GraphQL for this.",
        "We still haven't decided between Kafka and NATS.",
        "In my last company we used Kafka for everything.",
        "Add a button to the header.",
        "Can you please rename the variable?",
        "The docs say that you must always call init first.",
        "> We decided to drop Python 3.8.",
        "```\n# we must always close the body, let's use a pool\n```",
        "2024-05-02 10:11:09 ERROR we must always have a DATABASE_URL",
        'The button is called "always use pnpm".',
        "thanks, all tests pass now",
    ],
)
def test_questions_guesses_stories_tasks_and_quotations_are_not_remembered(message: str) -> None:
    assert nothing_in((message, "Okay."))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Never push to main without asking me first.", "never push"),
        ("We will not use Tailwind.", "not use"),
        ("Payments must not be retried.", "must not"),
        ("Please don't add emojis to commit messages.", "don't add"),
        ("We've decided against microservices.", "against"),
    ],
)
def test_a_negation_stays_in_what_is_remembered(said: str, kept: str) -> None:
    assert kept in the_only((said, "Ok.")).content.lower()


def test_two_things_in_one_sentence_are_two_memories() -> None:
    memories = found(
        ("Files up to 2 GB must be accepted, and a broken upload has to resume.", "Ok."), type_="requirement"
    )

    assert [each.evidence for each in memories] == [
        "Files up to 2 GB must be accepted",
        "a broken upload has to resume.",
    ]


def test_a_proposal_that_is_agreed_to_is_a_decision_with_the_words_of_the_proposal() -> None:
    decision = the_only(
        ("writes get lost", "I'd keep a version with each note and reject stale writes."),
        ("yes, do that", "Done."),
    )

    assert decision.type == "design"
    assert decision.content == "Keep a version with each note and reject stale writes."
    assert decision.evidence == "I'd keep a version with each note and reject stale writes."
    assert decision.turn == 1


@pytest.mark.parametrize("reply", ["I'll think about it", "no", "ok, but not now", "why?", "later"])
def test_a_proposal_that_is_not_agreed_to_is_no_decision(reply: str) -> None:
    assert nothing_in(("writes get lost", "I'd keep a version with each note."), (reply, "Okay."))


def test_an_answer_to_a_choice_is_remembered_with_the_question() -> None:
    decision = the_only(
        ("cache the rates", "Should the rates be cached in Redis or in the process?"),
        ("in the process", "Ok."),
    )

    assert decision.content == "Should the rates be cached in Redis or in the process? In the process"
    assert decision.evidence == "in the process"
    assert decision.turn == 2


def test_what_is_left_to_the_agent_is_decided_by_it() -> None:
    decision = the_only(("astro or 11ty, you pick", "Astro fits better, as it renders React."))

    assert decision.content == "Astro fits better, as it renders React."


def test_a_decision_that_is_taken_back_is_forgotten() -> None:
    decision = the_only(
        ("Let's use GraphQL for the mobile API.", "Okay."),
        ("Scratch that. We'll stay with REST for the mobile API.", "Fine."),
    )

    assert "REST" in decision.content


def test_a_change_of_mind_without_a_new_decision_takes_back_the_last_one() -> None:
    assert nothing_in(("Let's use GraphQL for the API.", "Okay."), ("never mind", "Fine."))


def test_a_pronoun_is_explained_by_what_was_said_before_it() -> None:
    memories = found(
        ("The sync runs in the background. It must never overwrite a newer note.", "Ok."), type_="requirement"
    )

    assert memories[0].content == "The sync runs in the background. It must never overwrite a newer note."
    assert memories[0].evidence == "It must never overwrite a newer note."


def test_a_short_reply_is_explained_by_the_turn_before() -> None:
    (decision,) = found(
        ("The status is five booleans.", "Thirty-two combinations, seven make sense."),
        ("make it an enum", "Done."),
        type_="design",
    )

    assert "booleans" in decision.content
    assert decision.evidence == "make it an enum"


def test_what_is_said_twice_is_remembered_once_and_surer() -> None:
    once = the_only(("Always use pnpm in this repo.", "Ok."))
    twice = the_only(("Always use pnpm in this repo.", "Ok."), ("always use pnpm in this repo!", "Sorry."))

    assert twice.confidence > once.confidence


def test_the_opposite_of_what_was_said_is_not_the_same() -> None:
    said = [("Always squash before a merge.", "Ok."), ("Never squash before a merge.", "Ok.")]

    assert len(found(*said, type_="preference")) == 2


def test_items_under_a_heading_are_of_its_type() -> None:
    memories = found(
        ("what did we settle?", "**Decisions:**\n- Payloads are JSON, not Avro.\n- Consumers poll.\n"),
        type_="design",
    )

    assert [each.evidence for each in memories] == ["Payloads are JSON, not Avro.", "Consumers poll."]


PYTEST = "FAILED tests/test_due.py::test_due_date - AssertionError: assert 31 == 1"


def test_a_failed_test_is_remembered_with_the_fix_of_a_later_turn() -> None:
    failure = the_only(
        (PYTEST, "Let me look at it."),
        ("and?", "The date was naive. I fixed it by passing the time zone. `test_due_date` passes now."),
    )

    assert failure.type == "test_history"
    assert failure.evidence == PYTEST
    assert failure.turn == 1
    assert failure.fields == {
        "test_name": "test_due_date",
        "test_file": "tests/test_due.py",
        "status": "Failed",
        "failure_message": "AssertionError: assert 31 == 1",
        "fix_applied": "I fixed it by passing the time zone.",
    }
    assert "Cause: The date was naive." in failure.content


def test_a_failed_test_without_a_fix_is_less_sure() -> None:
    failure = the_only((PYTEST, "Let me look at it."))

    assert "fix_applied" not in failure.fields
    assert failure.confidence < 0.7


@pytest.mark.parametrize(
    ("report", "name"),
    [
        ("FAILED tests/a_test.py::TestCart::test_sum[3-4] - assert 1 == 2", "TestCart::test_sum"),
        ("_______ TestCart.test_sum _______\nE   AssertionError: no", "TestCart.test_sum"),
        ("FAIL: test_links (tests.site.LinkTests)\nAssertionError: 'a' != 'b'", "test_links"),
        ("  \u25cf Checkout \u203a charges once\n\n    Expected: 1", "Checkout \u203a charges once"),
        (" FAIL  src/f.test.ts > price > rounds up\nAssertionError: no", "price > rounds up"),
        ("  \u2715 applies coupons (12 ms)\n\n    Expected: 90", "applies coupons"),
        ("--- FAIL: TestEvict (0.02s)\n    cache_test.go:8: expected 1", "TestEvict"),
        ("test parser::tests::quotes ... FAILED", "parser::tests::quotes"),
        ("OrderTest > rejectsEmpty() FAILED\n    AssertionFailedError", "OrderTest > rejectsEmpty"),
        ("1) App\\CartTest::testDiscount\nFailed asserting that 1 is 2.", "App\\CartTest::testDiscount"),
        ("  1) Scheduler\n       skips holidays:\n     AssertionError: no", "Scheduler > skips holidays"),
        ("rspec ./spec/user_spec.rb:31 # User normalises the email", "User normalises the email"),
    ],
)
@pytest.mark.parametrize("where", ["person", "agent", "code", "tools"])
def test_reports_of_the_known_runners_are_read_wherever_they_stand(
    report: str, name: str, where: str
) -> None:
    texts = {"person": report, "agent": f"It fails:\n\n{report}", "code": f"Look:\n```\n{report}\n```"}
    turn = SaidTurn(1, texts[where] if where == "person" else "go", texts.get(where, ""))

    (failure,) = extract([turn], {1: report} if where == "tools" else None)

    assert failure.fields["test_name"] == name
    assert failure.evidence in report
    assert failure.evidence


def test_lines_may_end_as_on_windows() -> None:
    report = "  \u25cf Checkout \u203a charges once\r\n\r\n    Expected: 1\r\n"

    assert the_only((report, "Hm.")).fields["test_name"] == "Checkout \u203a charges once"


def test_a_failure_that_is_told_and_reported_is_one() -> None:
    said = "test_sum is failing again:"

    assert the_only((f"{said}\n\nFAILED tests/t.py::test_sum - assert 1 == 2", "Hm.")).fields["test_file"]


def test_news_of_a_test_that_passes_is_no_failure() -> None:
    assert nothing_in(("and?", "`test_due_date` no longer fails, and test_sum passes as well."))


def test_the_complaint_of_a_linter_is_no_failed_test() -> None:
    report = "  \u2716 The assignment should not be in an expression. \n\nFound 1 error."

    assert extract(talk(("go", "Hm.")), {1: report}) == []


def test_a_talk_that_came_to_something_has_a_summary() -> None:
    (session,) = found(
        ("Please add an importer for price lists. Let's keep the parser synchronous.", "Okay."),
        ("whenever you add a dependency, tell me its licence", "I added the importer. Still open: the form."),
        type_="session",
    )

    assert session.content.splitlines() == [
        "Asked: Add an importer for price lists.",
        "Decided: Let's keep the parser synchronous. Whenever you add a dependency, tell me its licence.",
        "Done: I added the importer.",
        "Open: Still open: the form.",
    ]
    assert session.fields["outcome"] == "I added the importer."


def test_a_summary_says_when_the_session_was() -> None:
    start, end = datetime(2026, 3, 1, 9, tzinfo=UTC), datetime(2026, 3, 1, 11, tzinfo=UTC)
    turns = [SaidTurn(1, "Let's use Redis for it.", "Ok.", at=start), SaidTurn(2, "go", "Done.", at=end)]

    session = extract(turns)[-1]

    assert (session.fields["start_time"], session.fields["end_time"]) == (start.isoformat(), end.isoformat())


def test_a_talk_that_came_to_nothing_has_none() -> None:
    assert extract(talk(("lol that was fast", "Thanks! What's next?"), ("coffee", "Enjoy it."))) == []
    assert extract([]) == []


WORDS = (
    "let's use we decided must never always Redis `x` it that . , ; ? and yes FAILED tests/a.py::test_b - - "
    "**Decisions:** passes I'd keep \n ``` > scratch actually 42 \u2019 \ud800 \u25a1"
)
words = st.sampled_from(WORDS.split(" "))
texts = st.one_of(st.text(max_size=200), st.lists(words, max_size=40).map(" ".join))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(texts, texts), max_size=4), texts)
def test_whatever_is_said_evidence_is_a_quotation_and_candidates_are_well_formed(
    said: list[tuple[str, str]], output: str
) -> None:
    turns = talk(*said)
    memories = extract(turns, {1: output})

    assert memories == extract(turns, {1: output})
    for each in memories:
        sources = [*said[each.turn - 1], output]
        assert each.evidence
        assert any(each.evidence in source for source in sources)
        assert each.type in TYPES
        assert 0 < each.confidence <= 1
        assert each.content.strip()
        json.dumps(each.fields)


@given(texts)
def test_statements_stand_in_the_message_in_order(message: str) -> None:
    said = statements(message)

    assert [each.start for each in said] == sorted(each.start for each in said)
    assert all(message[each.start :].startswith(each.quote) for each in said)


def test_the_annotated_talks_are_sound() -> None:
    for excerpt in EXCERPTS:
        said = "\n".join(
            [*(f"{turn.user}\n{turn.assistant}" for turn in excerpt.turns), *excerpt.tools.values()]
        )
        assert all(each.quote in said and each.type in TYPES and each.says for each in excerpt.wanted)
    assert len({excerpt.name for excerpt in EXCERPTS}) == len(EXCERPTS) >= 48
    assert all(counted(EXCERPTS, half).wanted[name] >= 8 for half in (HELD_OUT, TUNED_ON) for name in TYPES)


def test_what_is_found_in_the_annotated_talks_could_be_stored() -> None:
    for excerpt in EXCERPTS:
        for each in extract(excerpt.turns, excerpt.tools):
            assert not list(problems_of(NewMemory(each.type, each.content, each.fields, each.confidence)))


def test_most_of_what_should_be_found_is_and_little_else() -> None:
    counts = counted(EXCERPTS, HELD_OUT)

    assert counts.right.total() / counts.found.total() >= 0.85
    assert counts.right.total() / counts.wanted.total() >= 0.75


def test_pages_that_a_person_pasted_are_not_what_the_person_says() -> None:
    page = "\n".join(f"You should always pass --locked to command {number} in CI." for number in range(80))
    said = f"From now on use uv in this repo.\nHere are its docs:\n{page}\nWe decided to pin Python 3.12."

    found = extract([SaidTurn(1, said, "All right.")])

    texts = " ".join(each.content for each in found)
    assert "use uv" in texts
    assert "Python 3.12" in texts
    assert not any("command 40 " in each.content for each in found)
