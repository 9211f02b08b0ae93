"""When a name that changed is given out again. Time is what the test says it is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.http.debounce import Debounce

A, B = Path("a.jsonl"), Path("b.jsonl")
NEVER = float("inf")


def test_a_name_is_given_out_once_it_was_quiet_for_long_enough() -> None:
    waiting = Debounce(quiet_s=2, longest_s=10)
    waiting.tell([A], 100)

    assert waiting.take(101.9) == []
    assert waiting.take(102) == [A]
    assert waiting.take(200) == []


def test_a_storm_on_one_name_gives_it_out_once() -> None:
    waiting = Debounce(quiet_s=2, longest_s=10)
    for hundredth in range(100):
        waiting.tell([A], 100 + hundredth / 100)

    assert waiting.take(102.5) == []
    assert waiting.take(103) == [A]
    assert waiting.next_at() == NEVER


def test_a_name_that_never_rests_is_given_out_all_the_same() -> None:
    waiting = Debounce(quiet_s=2, longest_s=10)
    given_out = []
    for second in range(31):
        waiting.tell([A], second)
        if waiting.take(second):
            given_out.append(second)

    assert given_out == [10, 21]


def test_names_do_not_wait_for_each_other() -> None:
    waiting = Debounce(quiet_s=2, longest_s=10)
    waiting.tell([A], 100)
    waiting.tell([B], 101)

    assert waiting.next_at() == 102
    assert waiting.take(102) == [A]
    assert waiting.next_at() == 103
    assert waiting.take(103) == [B]


@pytest.mark.parametrize("paths", [[A], [A, B]])
def test_only_who_tells_first_brings_the_next_moment_forward(paths: list[Path]) -> None:
    waiting = Debounce(quiet_s=2, longest_s=10)

    assert not waiting.tell([], 99)
    assert waiting.tell(paths, 100)
    assert not waiting.tell(paths, 101)


@given(
    st.lists(st.tuples(st.sampled_from([A, B]), st.floats(0, 5)), min_size=1),
    st.floats(0.1, 3),
    st.floats(0.1, 9),
)
def test_every_name_comes_out_in_time_if_one_looks_when_told_to(
    told: list[tuple[Path, float]], quiet_s: float, longest_s: float
) -> None:
    waiting, now, first = Debounce(quiet_s, longest_s), 0.0, dict[Path, float]()
    for path, pause in told:
        while waiting.next_at() <= now + pause:
            at = waiting.next_at()
            assert all(at <= first.pop(out) + longest_s for out in waiting.take(at))
        now += pause
        waiting.tell([path], now)
        first.setdefault(path, now)

    assert set(waiting.take(now + quiet_s)) == set(first)
