"""One ranking from several lists."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.search import Scored
from backstory.ranking.fusion import fuse

WEIGHTS = {"words": 1.0, "meaning": 0.8}

finite = st.floats(-1e6, 1e6)
lists = st.dictionaries(
    st.sampled_from(list(WEIGHTS)),
    st.dictionaries(st.sampled_from("abcdefgh"), finite).map(
        lambda scores: [Scored(*item) for item in scores.items()]
    ),
)


def order(**named: Sequence[Scored]) -> list[str]:
    return [each.id for each in fuse(named, WEIGHTS)]


def test_what_two_lists_agree_on_comes_before_what_one_alone_says() -> None:
    words = [Scored("both", 9.0), Scored("words", 8.9), Scored("last", 1.0)]
    meaning = [Scored("meaning", 0.9), Scored("both", 0.8), Scored("last", 0.1)]

    assert order(words=words, meaning=meaning)[0] == "both"


def test_how_sure_a_retriever_was_counts_and_not_only_its_order() -> None:
    sure = [Scored("right", 10.0), Scored("wrong", 2.0), Scored("worst", 1.0)]
    unsure = [Scored("wrong", 0.52), Scored("right", 0.50), Scored("worst", 0.10)]

    assert order(words=sure, meaning=unsure)[0] == "right"


def test_a_list_of_equals_counts_fully_for_each() -> None:
    assert [each.score for each in fuse({"words": [Scored("b", 3.0), Scored("a", 3.0)]}, WEIGHTS)] == [
        1.0,
        1.0,
    ]


def test_nothing_gives_nothing() -> None:
    assert list(fuse({}, WEIGHTS)) == []
    assert list(fuse({"words": []}, WEIGHTS)) == []


@given(lists)
def test_every_candidate_appears_once_with_a_score_that_its_parts_add_up_to(
    named: dict[str, list[Scored]],
) -> None:
    fused = list(fuse(named, WEIGHTS))

    assert sorted(each.id for each in fused) == sorted(
        {scored.id for given in named.values() for scored in given}
    )
    for each in fused:
        assert each.score == pytest.approx(sum(each.parts.values()))
        assert 0 <= each.score <= sum(WEIGHTS.values())
    assert [each.score for each in fused] == sorted((each.score for each in fused), reverse=True)


@given(lists)
def test_the_order_in_which_a_list_comes_does_not_matter(named: dict[str, list[Scored]]) -> None:
    turned = {name: given[::-1] for name, given in named.items()}

    assert list(fuse(turned, WEIGHTS)) == list(fuse(named, WEIGHTS))


@given(lists, st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_unit_of_a_retriever_s_scores_does_not_matter(
    named: dict[str, list[Scored]], factor: float
) -> None:
    scaled = {name: [Scored(each.id, each.score * factor) for each in given] for name, given in named.items()}

    before, after = fuse(named, WEIGHTS), fuse(scaled, WEIGHTS)

    assert {each.id: pytest.approx(each.score) for each in before} == {each.id: each.score for each in after}
