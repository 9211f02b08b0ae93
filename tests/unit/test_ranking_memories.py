"""What a memory's score is made of, as arithmetic."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.search import MemoryCues, Scored
from backstory.ranking.fusion import Fused
from backstory.ranking.memories import (
    GIVING,
    HALF_LIFE,
    IMPORTANCE,
    LINKED,
    RECENCY,
    WEIGHED,
    WEIGHTS,
    matches,
    rank,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEW = MemoryCues(0.5, 0, None, NOW, NOW)
IDS = st.sampled_from("abcdefgh")

CUES = st.builds(
    lambda importance, uses, age: NEW._replace(
        importance=importance, access_count=uses, created_at=NOW - age, updated_at=NOW - age
    ),
    st.floats(0, 1),
    st.integers(0, 100),
    st.timedeltas(timedelta(0), timedelta(days=2_000)),
)
LISTS = st.dictionaries(
    st.sampled_from(sorted(WEIGHTS)),
    st.dictionaries(IDS, st.floats(0, 50)).map(lambda own: [Scored(*each) for each in own.items()]),
)


def found(**scores: float) -> list[Fused]:
    ranked = sorted(scores.items(), key=lambda each: -each[1])
    return [Fused(id, score, {"words": score}) for id, score in ranked]


@given(LISTS, st.dictionaries(IDS, CUES), st.data())
def test_a_score_is_the_sum_of_its_parts_and_the_best_comes_first(
    lists: dict[str, list[Scored]], cues: dict[str, MemoryCues], data: st.DataObject
) -> None:
    matching = [each for each in matches(lists) if each.id in cues]
    givers = [each.id for each in matching[:GIVING]]
    links = data.draw(st.lists(st.tuples(st.sampled_from(givers), IDS))) if givers else []

    ranked = rank(matching, cues, links, NOW)

    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    assert len({each.id for each in ranked}) == len(ranked)
    assert {each.id for each in matching} <= {each.id for each in ranked} <= cues.keys()
    for each in ranked:
        assert each.score == pytest.approx(math.fsum(each.parts.values()))
        assert {"importance", "recency"} < each.parts.keys()


@given(CUES, st.floats(0, 1))
def test_more_importance_never_costs_a_place(cues: MemoryCues, importance: float) -> None:
    low, high = sorted((cues.importance, importance))
    known = {"a": cues._replace(importance=low), "b": cues._replace(importance=high)}

    ranked = {each.id: each.score for each in rank(found(a=0.5, b=0.5), known, (), NOW)}

    assert ranked["b"] >= ranked["a"]


def test_a_new_memory_gets_all_of_recency_and_half_of_it_after_its_time() -> None:
    old = NEW._replace(updated_at=NOW - HALF_LIFE)

    ranked = {each.id: each.parts for each in rank(found(a=1, b=1), {"a": NEW, "b": old}, (), NOW)}

    assert ranked["a"]["recency"] == RECENCY
    assert ranked["b"]["recency"] == RECENCY / 2


def test_a_clock_that_was_set_back_gives_nothing_more() -> None:
    ahead = NEW._replace(updated_at=NOW + timedelta(days=9), created_at=NOW + timedelta(days=9))

    (hit,) = rank(found(a=1), {"a": ahead}, (), NOW)

    assert hit.parts["recency"] == RECENCY
    assert hit.parts["importance"] <= IMPORTANCE


def test_a_link_gives_a_share_of_the_best_hit_it_comes_from() -> None:
    cues = dict.fromkeys("abc", NEW)

    ranked = {each.id: each for each in rank(found(a=1.2, b=0.4), cues, [("b", "c"), ("a", "c")], NOW)}

    assert ranked["c"].parts["linked to a"] == pytest.approx(LINKED * 1.2)
    assert "linked to b" not in ranked["c"].parts


def test_hits_that_are_linked_to_one_another_give_to_one_another() -> None:
    links = [("a", "b"), ("b", "a")]

    ranked = {each.id: each.parts for each in rank(found(a=1.0, b=0.5), dict.fromkeys("ab", NEW), links, NOW)}

    assert ranked["a"]["linked to b"] == pytest.approx(LINKED * 0.5)
    assert ranked["b"]["linked to a"] == pytest.approx(LINKED * 1.0)


def test_a_hit_that_scores_nothing_gives_nothing() -> None:
    ranked = rank(found(a=1.0, b=0.0), dict.fromkeys("abc", NEW), [("b", "c")], NOW)

    assert [each.id for each in ranked] == ["a", "b"]


def test_no_more_are_weighed_than_somebody_reads() -> None:
    many = [Scored(f"{number:03}", float(-number)) for number in range(2 * WEIGHED)]

    best = matches({"words": many[:WEIGHED], "meaning": many[WEIGHED:]})

    assert len(best) == WEIGHED
    assert best[0] == replace(best[0], id="000", score=1.0)
