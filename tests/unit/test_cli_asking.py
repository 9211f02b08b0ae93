"""How a command shows on a terminal what the process reports."""

import os
import pty
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import pytest

from backstory.cli import asking
from backstory.http import client
from backstory.http.client import Answer, Report

HOUR_S = 3600.0


@dataclass(frozen=True)
class Terminal:
    """A terminal: what is written to it stands on its screen."""

    screen: int
    stderr: TextIO

    def shown(self) -> str:
        """What was written since the last look."""
        return os.read(self.screen, 100_000).decode()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    screen, written = pty.openpty()
    os.set_blocking(screen, False)  # to fail where nothing was written
    with os.fdopen(written, "w", encoding="utf-8") as stderr:
        yield Terminal(screen, stderr)
    os.close(screen)


def test_what_is_waited_for_is_shown_and_not_counted_as_work(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    screens = []

    def ask(*_: object, report: Report, **__: Any) -> Answer:
        nonlocal now
        report(0, None, "waiting for another run to end")
        screens.append(terminal.shown())
        now += HOUR_S
        report(0, 10, "10 transcripts to look at")
        for done in range(1, 6):
            now += 2.0
            report(done, 10, f"{done} of 10 transcripts")
        screens.append(terminal.shown())
        return Answer({}, "")

    monkeypatch.setattr(sys, "stderr", terminal.stderr)
    monkeypatch.setattr(time, "time", lambda: now)
    monkeypatch.setattr(client, "ask", ask)
    asking.answer_to("conversation_index", {})

    waiting, working = screens
    assert "waiting for another run to end" in waiting
    assert "5/10  00:00:10" in working
