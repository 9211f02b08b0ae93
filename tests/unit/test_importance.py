"""What a memory is worth by now: by what was said of it, by its use, and by the time since."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.memory import DEFAULT_IMPORTANCE
from backstory.ranking.importance import EXPLICIT, FREQUENCY, HALF_LIFE, HALF_OF_USES, RECENCY, importance

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - 100 * HALF_LIFE

shares = st.floats(0, 1)
counts = st.integers(0, 10**12)
ages = st.timedeltas(timedelta(0), timedelta(days=20_000))
times = ages.map(lambda age: NOW - age)


@given(shares, counts, st.none() | times, times)
def test_importance_is_a_number_from_0_to_1(
    explicit: float, uses: int, used: datetime | None, created: datetime
) -> None:
    assert 0 <= importance(explicit, uses, used, created, NOW) <= 1


@given(shares, shares, counts, times)
def test_what_was_given_more_is_never_worth_less(
    one: float, other: float, uses: int, created: datetime
) -> None:
    low, high = sorted((one, other))

    assert importance(low, uses, None, created, NOW) <= importance(high, uses, None, created, NOW)


@given(shares, counts, counts, times)
def test_what_is_used_more_is_never_worth_less(
    explicit: float, one: int, other: int, created: datetime
) -> None:
    few, many = sorted((one, other))

    assert importance(explicit, few, None, created, NOW) <= importance(explicit, many, None, created, NOW)


@given(shares, counts, times, times, times)
def test_what_was_used_later_is_never_worth_less(
    explicit: float, uses: int, one: datetime, other: datetime, created: datetime
) -> None:
    early, late = sorted((one, other))

    assert importance(explicit, uses, early, created, NOW) <= importance(explicit, uses, late, created, NOW)


@given(shares, counts, times, ages, ages)
def test_it_never_grows_by_waiting(
    explicit: float, uses: int, created: datetime, one: timedelta, other: timedelta
) -> None:
    soon, later = sorted((one, other))

    assert importance(explicit, uses, None, created, NOW + later) <= importance(
        explicit, uses, None, created, NOW + soon
    )


def test_the_weights_are_a_whole() -> None:
    assert pytest.approx(1.0) == EXPLICIT + FREQUENCY + RECENCY


def test_an_ordinary_memory_is_ordinary_on_the_day_it_is_written() -> None:
    assert importance(DEFAULT_IMPORTANCE, 0, None, NOW, NOW) == pytest.approx(DEFAULT_IMPORTANCE)


def test_a_vital_memory_that_nobody_used_stays_above_an_ordinary_one_that_nobody_used() -> None:
    assert importance(1.0, 0, None, LONG_AGO, NOW) > importance(0.5, 0, None, NOW, NOW)


def test_use_saturates() -> None:
    def gain(uses: int) -> float:
        return importance(0.5, uses + 1, None, LONG_AGO, NOW) - importance(0.5, uses, None, LONG_AGO, NOW)

    assert gain(0) > 5 * gain(20) > 0
    used = importance(0.0, HALF_OF_USES, None, LONG_AGO, NOW)
    assert used == pytest.approx(FREQUENCY / 2)


def test_half_of_the_recency_is_left_after_a_half_life() -> None:
    assert importance(0.0, 0, NOW - HALF_LIFE, LONG_AGO, NOW) == pytest.approx(RECENCY / 2)


def test_a_clock_that_was_set_back_makes_nothing_worth_more() -> None:
    future = NOW + timedelta(days=3)

    assert importance(0.5, 1, future, NOW, NOW) == importance(0.5, 1, NOW, NOW, NOW)
    assert importance(0.5, 1, NOW - HALF_LIFE, NOW, NOW) == importance(0.5, 1, NOW, NOW, NOW)
