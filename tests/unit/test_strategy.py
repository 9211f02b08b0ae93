"""Which context a query asks for."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.ranking.strategy import STRATEGIES, Strategy, classify, strategy_of
from benchmarks.classifier import HELD_OUT, TUNED_ON, read_queries

AN_HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy("just_now", 20, 0, uses_thread=True, span=AN_HOUR),
        Strategy("continuation", 20, 5, uses_thread=True, span=AN_HOUR),
        Strategy("new_topic", 5, 10, uses_thread=False, span=timedelta(days=7)),
        Strategy("clarification", 10, 15, uses_thread=True, span=None),
        Strategy("quick_lookup", 5, 3, uses_thread=False, span=timedelta(hours=24)),
        Strategy("history", 5, 15, uses_thread=False, span=None),
        Strategy("default", 15, 8, uses_thread=True, span=AN_HOUR),
    ],
    ids=lambda strategy: strategy.name,
)
def test_each_class_fetches_what_was_decided_for_it(strategy: Strategy) -> None:
    assert STRATEGIES[strategy.name] == strategy
    assert len(STRATEGIES) == 7


def test_what_were_we_just_discussing_uses_no_semantic_search() -> None:
    strategy = strategy_of("What were we just discussing?")

    assert strategy.semantic == 0
    assert strategy.uses_thread
    assert strategy.recent == 20


@pytest.mark.parametrize(
    "query",
    [
        "We talked about Tyranid tactics before, what did we decide?",
        "We discussed Tyranid tactics last week, what did we decide?",
    ],
)
def test_what_was_decided_before_is_searched_in_all_history(query: str) -> None:
    strategy = strategy_of(query)

    assert strategy.name == "history"
    assert strategy.span is None
    assert not strategy.uses_thread


@pytest.mark.parametrize(
    "query", ["How does the feel no pain rule work again?", "How does Feel No Pain work?"]
)
def test_how_a_rule_works_is_searched_in_all_history_beside_the_thread(query: str) -> None:
    strategy = strategy_of(query)

    assert strategy.name == "clarification"
    assert strategy.span is None
    assert strategy.uses_thread


@pytest.mark.parametrize("query", ["Building a new Astra Militarum list", "How do I counter Death Guard?"])
def test_a_new_undertaking_leaves_the_thread_alone(query: str) -> None:
    assert strategy_of(query).name == "new_topic"


def test_so_about_that_goes_on_with_what_is_on_the_table() -> None:
    assert strategy_of("So about that army list...").name == "continuation"


@pytest.mark.parametrize(
    "query", ["what port does redis use", "price of the small plan", "who owns billing?"]
)
def test_a_question_for_one_fact_fetches_little(query: str) -> None:
    assert strategy_of(query).name == "quick_lookup"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   \n",
        "?",
        "qwerty",
        "the deploy is stuck since noon",
        "wie funktioniert der Zwischenspeicher",
        "\u4eca\u65e5\u306f",
    ],
)
def test_what_says_nothing_of_the_turns_it_needs_gets_the_middle_way(query: str) -> None:
    assert strategy_of(query).name == "default"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("what did we just decide last year", "history"),
        ("where did we stop", "just_now"),
        ("where did we stop yesterday", "history"),
        ("just fix the broken link", "default"),
        ("remember to close the file handle", "default"),
        ("before we deploy, run the migrations", "default"),
        ("the explain button does nothing", "default"),
        ("what did you say a minute ago", "just_now"),
        ("what did you say about caching a month ago", "history"),
    ],
)
def test_a_word_that_speaks_for_a_class_does_not_decide_alone(query: str, name: str) -> None:
    assert strategy_of(query).name == name


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("what's the staging url", "whats the staging url"),
        ("what\u2019s the staging url", "WHATS the Staging URL??"),
        ("Lets talk about something else", "let's talk about something else!"),
    ],
)
def test_capitals_apostrophes_and_marks_make_no_difference(query: str, same: str) -> None:
    assert classify(query) == classify(same)


@pytest.mark.parametrize(
    "pasted", ["{question}\n\n{paste}", "{paste}\n\n{question}"], ids=["before the paste", "after the paste"]
)
def test_a_question_is_seen_beside_a_long_paste(pasted: str) -> None:
    paste = "GET /index.html 200\n" * 5_000
    query = pasted.format(question="what did we decide about this last month?", paste=paste)

    assert strategy_of(query).name == "history"


def test_the_reasons_are_those_that_spoke_for_the_class_that_was_chosen() -> None:
    found = classify("what did we just decide last year")

    assert "names a time gone by" in found.because
    assert "asks what was just said or done" not in found.because


words_of_queries = st.sampled_from(
    [*sorted({word for each in read_queries() for word in each.query.split()}), "?", ".", "\n", "^", "$", "'"]
)
queries = st.lists(words_of_queries | st.text(max_size=8), max_size=30).map(" ".join)


@given(st.text() | queries | st.text(st.characters()).map(lambda text: 300 * text))
def test_any_text_has_one_of_the_seven_strategies_and_a_reason(query: str) -> None:
    found = classify(query)

    assert found.strategy in STRATEGIES.values()
    assert found.because
    assert len(set(found.because)) == len(found.because)
    assert found == classify(query)
    assert found.strategy == strategy_of(query)


@given(queries, st.sampled_from([" ", "\n", "\t ", 1_000 * "\n"]))
def test_blanks_around_a_query_make_no_difference(query: str, blank: str) -> None:
    assert classify(f"{blank}{query}{blank}") == classify(query)


def test_the_labelled_queries_are_enough_and_both_halves_know_every_class() -> None:
    labelled = read_queries()

    assert len({each.query for each in labelled}) == len(labelled) >= 220
    for half in (HELD_OUT, TUNED_ON):
        classes = Counter(each.strategy for each in labelled if each.half == half)
        assert classes.keys() == STRATEGIES.keys()
        assert min(classes.values()) >= 15


def test_most_queries_that_were_not_tuned_on_get_their_class() -> None:
    held_out = [each for each in read_queries() if each.half == HELD_OUT]
    right = sum(strategy_of(each.query).name == each.strategy for each in held_out)

    assert right / len(held_out) >= 0.9
