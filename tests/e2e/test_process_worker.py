"""The worker beside the requests: it rests, it works, and nothing ends it but its owner."""

import threading

import pytest

from backstory.engine import Engine, Work
from backstory.errors import BackstoryError
from backstory.http.worker import Worker


class Steps:
    """Stands in for upkeep: does what it is told, one step after another."""

    def __init__(self, *steps: bool | Exception) -> None:
        self._steps = list(steps)
        self.done = threading.Event()

    def __call__(self, engine: Engine, work: Work) -> bool:
        if not self._steps:
            self.done.set()
            return False
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def run(engine: Engine, steps: Steps) -> list[BackstoryError | None]:
    """Let a worker take all the steps; what those who watch were told."""
    told: list[BackstoryError | None] = []
    with Worker(engine, steps, idle_s=0.001, watching=lambda took_s, error: told.append(error)) as worker:
        steps.done.wait()
        assert worker.last_error is None
    return told


def test_steps_that_did_something_are_told_of(engine: Engine) -> None:
    assert run(engine, Steps(True, True, False, True)) == [None, None, None]


def test_a_failure_nobody_foresaw_does_not_end_it(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    told = run(engine, Steps(ZeroDivisionError("canary"), True))

    assert [type(error) for error in told] == [BackstoryError, type(None)]
    assert "canary" not in str(told[0])
    assert "ZeroDivisionError" in caplog.text


def test_it_rests_when_there_is_nothing_to_do(engine: Engine) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def upkeep(engine: Engine, work: Work) -> bool:
        at_work.set()
        go_on.wait()
        return False

    with Worker(engine, upkeep, idle_s=60) as worker:
        at_work.wait()
        resting = worker.resting
        go_on.set()

    assert not resting
    assert worker.resting


def test_whoever_leaves_work_wakes_it(engine: Engine) -> None:
    looked = threading.Semaphore(0)

    def upkeep(engine: Engine, work: Work) -> bool:
        looked.release()
        return False

    with Worker(engine, upkeep, idle_s=600), Worker(engine, upkeep, idle_s=600):
        assert all(looked.acquire(timeout=60) for _ in range(2))
        engine.bell.ring()
        assert all(looked.acquire(timeout=60) for _ in range(2))


def test_a_summary_that_takes_long_keeps_nothing_from_being_embedded(engine: Engine) -> None:
    summing_up, embedded = threading.Event(), threading.Event()

    def slow(engine: Engine, work: Work) -> bool:
        summing_up.set()
        embedded.wait()
        return False

    def upkeep(engine: Engine, work: Work) -> bool:
        if summing_up.is_set():
            embedded.set()
        return not embedded.is_set()

    with Worker(engine, slow, idle_s=60), Worker(engine, upkeep, idle_s=60):
        assert embedded.wait(timeout=60)
