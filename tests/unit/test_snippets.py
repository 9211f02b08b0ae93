"""The part of a text that shows why it was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.search import Snippet
from backstory.ranking.snippets import snippet
from backstory.ranking.words import terms

FILLER = "Nothing of interest stands here. " * 20


def shown(text: str, query: str, max_chars: int = 300) -> Snippet:
    return snippet(text, terms(query), max_chars)


def marked(found: Snippet) -> list[str]:
    return [found.text[start:end] for start, end in found.marks]


def test_a_short_text_is_shown_whole() -> None:
    assert shown("Rounding happens in the cart.", "cart").text == "Rounding happens in the cart."


def test_the_words_that_match_are_marked_in_whatever_form_they_stand() -> None:
    found = shown(
        "Rounding: see roundTotal() and round_total in the CART.", "how are totals rounded in the cart"
    )

    assert marked(found) == ["Rounding", "roundTotal", "round_total", "CART"]


def test_a_long_text_is_shown_where_most_of_the_words_stand() -> None:
    found = shown(f"A bakery. {FILLER} We found a bakery in Paris. {FILLER}", "bakery Paris")

    assert marked(found) == ["bakery", "Paris"]
    assert found.text.startswith("\u2026We found a bakery in Paris.")
    assert found.text.endswith("\u2026")
    assert len(found.text) <= 300


def test_different_words_count_for_more_than_one_word_again_and_again() -> None:
    found = shown(f"{'cart ' * 40}{FILLER} the cart total", "cart total")

    assert marked(found) == ["cart", "total"]


def test_a_text_without_any_of_the_words_is_shown_from_its_beginning() -> None:
    found = shown(f"  First words. {FILLER}", "bakery")

    assert found.text.startswith("First words.")
    assert found.marks == []


def test_nothing_is_cut_inside_a_word_where_words_are_short() -> None:
    found = shown(f"{FILLER}the bakery {FILLER}", "bakery", 60)

    assert set(found.text.strip("\u2026").split()) <= set(f"{FILLER} the bakery".split())


def test_a_character_of_a_script_without_blanks_is_marked_by_itself() -> None:
    assert marked(shown("\u6570\u636e\u5e93", "\u636e")) == ["\u636e"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\ud800", "\0"])
def test_a_text_of_nothing_has_a_snippet_of_nothing(text: str) -> None:
    assert not shown(text, "bakery").marks


@given(
    st.lists(
        st.sampled_from(["cart", "Total", "rounding", "a", ". ", "\n", "x" * 400, "\u6570"])
        | st.text(max_size=9)
    ).map(" ".join),
    st.sampled_from(["cart", "cart totals", "\u6570", "", "who is it"]),
    st.integers(3, 400),
)
def test_a_snippet_is_a_piece_of_the_text_and_its_marks_are_matching_words(
    text: str, query: str, max_chars: int
) -> None:
    found = shown(text, query, max_chars)

    assert len(found.text) <= max_chars
    assert found.text.removeprefix("\u2026").removesuffix("\u2026") in text
    assert list(found.marks) == sorted(found.marks)
    for word in marked(found):
        assert set(terms(word).split()) & set(terms(query).split())
    if set(terms(text[: max_chars - 2]).split()) & set(terms(query).split()):
        assert found.marks
