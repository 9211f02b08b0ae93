"""Spans of time that questions name."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.ranking.dates import spans

A_THURSDAY = date(2023, 6, 15)


def held(question: str, day: date, asked_on: date | None = A_THURSDAY) -> bool:
    return any(span.holds(day) for span in spans(question, asked_on, [2022, 2023]))


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did she buy on 8 May 2023?", date(2023, 5, 8)),
        ("What did she buy on the 8th of May, 2023?", date(2023, 5, 8)),
        ("who came to dinner on May 3, 2023", date(2023, 5, 3)),
        ("what broke on 2023-05-08", date(2023, 5, 8)),
        ("what broke on 2023/5/8", date(2023, 5, 8)),
        ("Where did they go in May 2023?", date(2023, 5, 20)),
        ("where did they go in sept. 2022", date(2022, 9, 30)),
        ("What happened in 2022?", date(2022, 2, 1)),
        ("what did we decide last week", date(2023, 6, 9)),
        ("what did we decide in the past three months", date(2023, 4, 1)),
        ("what did we decide in the last few weeks", date(2023, 5, 27)),
        ("what did we decide this month", date(2023, 6, 2)),
        ("Which book did I finish two weeks ago?", date(2023, 6, 1)),
        ("which book did I finish 10 days ago", date(2023, 6, 5)),
        ("which books have I finished since two weeks ago", date(2023, 6, 14)),
        ("what broke yesterday", date(2023, 6, 14)),
        ("what broke today", date(2023, 6, 15)),
        ("what did I do last weekend", date(2023, 6, 11)),
        ("who called last Monday", date(2023, 6, 12)),
        ("who called on Thursday", date(2023, 6, 8)),
    ],
)
def test_a_question_that_names_a_time_means_the_days_of_it(question: str, day: date) -> None:
    assert held(question, day)
    assert not held(question, date(2021, 1, 1))


@pytest.mark.parametrize("question", ["on 8 May", "on May 8th", "in May"])
def test_without_a_year_every_year_that_there_is_may_be_meant(question: str) -> None:
    assert held(question, date(2022, 5, 8))
    assert held(question, date(2023, 5, 8))
    assert not held(question, date(2023, 8, 8))


def test_what_happened_on_a_day_may_be_told_in_the_week_after_it() -> None:
    assert held("What did she buy on 8 May 2023?", date(2023, 5, 14))
    assert not held("What did she buy on 8 May 2023?", date(2023, 5, 20))


@pytest.mark.parametrize("question", ["last week", "two days ago", "yesterday", "last Monday", "this month"])
def test_what_is_counted_back_means_nothing_to_one_who_does_not_know_the_day(question: str) -> None:
    assert spans(question, None, [2023]) == []


@pytest.mark.parametrize(
    "question",
    [
        "",
        "How may I march on?",
        "What do I do on Saturday mornings?",
        "Which coins are pre-1920?",
        "How many weeks ago did I move?",
        "what is on port 20230",
        "on 31 June 2023",
        "on 2023-06-31",
        "which flights did I take before today",
    ],
)
def test_a_question_that_names_no_time_means_none(question: str) -> None:
    assert spans(question, A_THURSDAY, [2022, 2023]) == []


def test_a_day_is_not_read_as_its_whole_year_too() -> None:
    assert len(spans("on 8 May 2023", A_THURSDAY, [2022, 2023])) == 1


words_of_time = st.sampled_from(
    [
        "8",
        "31",
        "2023",
        "2023-05-08",
        "May",
        "Sept.",
        "Monday",
        "\u017funday",
        "\u0662\u0660\u0662\u0663",
        "a",
    ]
) | st.sampled_from(
    ["few", "two", "999", "days", "weeks", "years", "ago", "since", "last", "this", "on", "of", "in"]
)


@given(
    st.lists(words_of_time | st.text(max_size=8)).map(" ".join),
    st.none() | st.dates(),
    st.lists(st.integers(1, 9999), max_size=3),
)
def test_any_text_gives_spans_that_end_after_they_begin(
    text: str, asked_on: date | None, years: list[int]
) -> None:
    assert all(span.first <= span.last for span in spans(text, asked_on, years))
