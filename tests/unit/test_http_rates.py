"""How fast a caller may ask, on a clock that the test drives."""

from hypothesis import given
from hypothesis import strategies as st

from backstory.http.rates import MAX_CALLERS, Buckets, Rate

SLOW = Rate(burst=3, per_second=0.5)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_let_through_and_then_the_wait_is_told() -> None:
    buckets = Buckets(Clock())

    assert [buckets.take("a", SLOW) for _ in range(4)] == [0, 0, 0, 2.0]


def test_after_the_wait_there_is_one_again_and_only_one() -> None:
    clock = Clock()
    buckets = Buckets(clock)
    for _ in range(4):
        wait = buckets.take("a", SLOW)
    clock.now += wait

    assert [buckets.take("a", SLOW) for _ in range(2)] == [0, 2.0]


def test_callers_do_not_take_from_each_other() -> None:
    buckets = Buckets(Clock())
    for _ in range(4):
        buckets.take("a", SLOW)

    assert buckets.take("b", SLOW) == 0


def test_callers_that_were_not_seen_for_long_are_forgotten() -> None:
    buckets = Buckets(Clock())
    for _ in range(4):
        buckets.take("first", SLOW)
    for number in range(MAX_CALLERS):
        buckets.take(str(number), SLOW)

    assert buckets.take("first", SLOW) == 0


@given(st.lists(st.floats(0, 100), max_size=200))
def test_never_more_than_the_burst_and_what_time_gave(pauses: list[float]) -> None:
    clock = Clock()
    buckets = Buckets(clock)
    let_through = 0
    for pause in pauses:
        clock.now += pause
        let_through += buckets.take("a", SLOW) == 0

    assert let_through <= SLOW.burst + SLOW.per_second * sum(pauses) + 1e-6
