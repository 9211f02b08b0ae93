"""How long work reports and stops, and what is held of what was used lately."""

import pytest

from backstory.engine import Recent, Work
from backstory.errors import Cancelled


def test_work_tells_how_far_it_is() -> None:
    told: list[tuple[int, int | None, str]] = []
    work = Work(lambda *step: told.append(step))

    work.step(1, 3, "reading")
    work.step(2, None, "writing")

    assert told == [(1, 3, "reading"), (2, None, "writing")]


def test_work_stops_at_the_next_step_once_it_is_cancelled() -> None:
    work = Work()
    work.step(1, 3, "reading")
    work.cancel()

    with pytest.raises(Cancelled, match="reading on"):
        work.step(2, 3, "reading on")


def test_what_was_used_longest_ago_goes_when_there_is_no_room() -> None:
    recent = Recent(30)
    for name in ("a", "b", "c"):
        recent.hold(name, name.upper(), 10)
    assert recent.get("a") == "A"

    recent.hold("d", "D", 10)

    assert [recent.get(name) for name in ("a", "b", "c", "d")] == ["A", None, "C", "D"]
    assert recent.bytes == 30


def test_what_is_held_anew_takes_the_place_of_what_was_held_before() -> None:
    recent = Recent(30)
    recent.hold("a", 1, 20)

    recent.hold("a", 2, 25)
    assert (recent.get("a"), recent.bytes) == (2, 25)
    recent.hold("a", 3, 31)
    assert (recent.get("a"), recent.bytes) == (None, 0)
