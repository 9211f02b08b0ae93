"""Relevance: a scale on which it can be said whether anything that was found is worth showing."""

import math

from hypothesis import given
from hypothesis import strategies as st

from backstory.ranking.relevance import JUDGED, Evidence, relevances
from backstory.ranking.words import terms


def judged(question: str, *candidates: tuple[float | None, str]) -> list[float]:
    """The relevance of messages that stand alone, by their cosine and their text."""
    evidence = [Evidence(meaning, terms(text), terms(text)) for meaning, text in candidates]
    return relevances(terms(question), evidence)


def test_a_message_that_says_what_was_asked_is_worth_showing() -> None:
    (said,) = judged("Which save does Feel No Pain give?", (0.5, "Feel No Pain gives a save of 5+"))

    assert said > 0.7


def test_a_message_that_shares_a_common_word_alone_is_not() -> None:
    common = [(0.1, f"We had a game on day {day}") for day in range(JUDGED - 1)]

    *others, best = judged("Which save does Feel No Pain give in a game?", *common, (0.1, "A game!"))

    assert max(best, *others) < 0.5


def test_a_rare_word_counts_for_more_than_a_common_one() -> None:
    common = [(0.2, f"the game of day {day}") for day in range(20)]

    rare, frequent, *_ = judged("the Tyranid game", (0.2, "Tyranid tactics"), (0.2, "a game"), *common)

    assert rare > frequent


def test_what_was_said_just_before_counts_too() -> None:
    alone = Evidence(0.3, terms("Yes, the second one."), terms("Yes, the second one."))
    asked = Evidence(0.3, alone.terms, terms("Shall we take the Hive Guard list? Yes, the second one."))

    first, second = relevances(terms("which Hive Guard list"), [alone, asked])

    assert second > first


def test_without_meaning_words_decide() -> None:
    all_words, no_words = judged("cart rounding", (None, "The cart has a rounding bug"), (None, "Lunch?"))

    assert all_words > 0.7 > no_words


def test_in_a_conversation_of_one_turn_the_same_words_are_worth_as_much_as_in_a_long_one() -> None:
    said = (0.4, "the cart total is rounded up")
    fillers = [(0.0, f"filler {number}") for number in range(JUDGED - 1)]

    assert math.isclose(judged("cart total", said)[0], judged("cart total", said, *fillers)[0], abs_tol=0.01)


def test_a_question_without_a_word_to_look_for_finds_nothing_by_half_a_likeness() -> None:
    assert judged("what was it?", (0.4, "The cart total is rounded up"))[0] < 0.7


_WORDS = ["cart", "total", "rounding", "login", "oauth", "token"]
_TEXTS = st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join)
_CANDIDATES = st.lists(
    st.builds(Evidence, st.none() | st.floats(-1, 1), _TEXTS, _TEXTS), min_size=1, max_size=2 * JUDGED
)


@given(_TEXTS, _CANDIDATES)
def test_every_candidate_has_a_relevance_between_0_and_1(question: str, candidates: list[Evidence]) -> None:
    found = relevances(question, candidates)

    assert len(found) == len(candidates)
    assert all(0 <= each <= 1 for each in found)


@given(_TEXTS, _CANDIDATES, st.floats(0.01, 1))
def test_what_is_nearer_in_meaning_is_never_less_relevant(
    question: str, candidates: list[Evidence], nearer: float
) -> None:
    first = candidates[0]
    there = first.meaning if first.meaning is not None else 0.0
    far = Evidence(there, first.terms, first.window)
    near = Evidence(there + nearer, first.terms, first.window)

    assert relevances(question, [near, *candidates[1:]])[0] >= relevances(question, [far, *candidates[1:]])[0]
