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


def run(engine: Engine, steps: Steps, monkeypatch: pytest.MonkeyPatch) -> list[BackstoryError | None]:
    """Let a worker take all the steps; what those who watch were told."""
    told: list[BackstoryError | None] = []
    monkeypatch.setattr("backstory.http.worker.upkeep", steps)
    with Worker(engine, idle_s=0.001, watching=lambda took_s, error: told.append(error)) as worker:
        steps.done.wait()
        assert worker.last_error is None
    return told


def test_steps_that_did_something_are_told_of(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(engine, Steps(True, True, False, True), monkeypatch) == [None, None, None]


def test_a_failure_nobody_foresaw_does_not_end_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = run(engine, Steps(ZeroDivisionError("canary"), True), monkeypatch)

    assert [type(error) for error in told] == [BackstoryError, type(None)]
    assert "canary" not in str(told[0])
    assert "ZeroDivisionError" in caplog.text


def test_it_rests_when_there_is_nothing_to_do(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def upkeep(engine: Engine, work: Work) -> bool:
        at_work.set()
        go_on.wait()
        return False

    monkeypatch.setattr("backstory.http.worker.upkeep", upkeep)
    with Worker(engine, idle_s=60) as worker:
        at_work.wait()
        resting = worker.resting
        go_on.set()

    assert not resting
    assert worker.resting


def test_whoever_leaves_work_wakes_it(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Semaphore(0)

    def upkeep(engine: Engine, work: Work) -> bool:
        looked.release()
        return False

    monkeypatch.setattr("backstory.http.worker.upkeep", upkeep)
    with Worker(engine, idle_s=600):
        assert looked.acquire(timeout=60)
        engine.work_waits.set()
        assert looked.acquire(timeout=60)


def test_upkeep_that_fails_keeps_conversations_from_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, failure = Steps(True, False), BackstoryError("no upkeep today")
    told: list[BackstoryError | None] = []

    def upkeep(engine: Engine, work: Work) -> bool:
        raise failure

    monkeypatch.setattr("backstory.http.worker.upkeep", upkeep)
    monkeypatch.setattr("backstory.http.worker.background.step", steps)
    with Worker(engine, idle_s=0.001, watching=lambda took_s, error: told.append(error)) as worker:
        steps.done.wait()

    assert worker.last_error is failure
    assert set(told) == {failure}
