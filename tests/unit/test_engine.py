"""How long work reports and stops."""

import pytest

from backstory.engine import Work
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
