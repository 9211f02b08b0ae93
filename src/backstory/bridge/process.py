"""The process that owns the data: is it there, and if not, start it.

Two who start it at the same moment start one. What is said to it afterwards is left to `link` and
to the command line.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import IO, Final

from backstory.bridge.locking import try_lock, waiting_lock
from backstory.bridge.whereabouts import HOME_VARIABLE, Whereabouts
from backstory.bridge.wire import Connection

#: It takes about two seconds; a machine that just woke up, or a store to migrate, takes longer.
START_LIMIT_S: Final = 60.0

#: It answers in milliseconds; a step of upkeep can hold it for a second.
ANSWER_LIMIT_S: Final = 5.0

#: How often a starting process is asked whether it is there.
POLL_S: Final = 0.02

#: As much of the log as fits into a message.
REASON_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class Process:
    """The process as it describes itself in `process.json`."""

    pid: int
    id: str
    url: str
    version: str
    started_at: str


class NotStarted(Exception):
    """The process is not there and could not be started; the message says why and where the log is."""


def running(where: Whereabouts) -> Process | None:
    """The process, if it answers, is the one that `process.json` tells of, and is not about to end."""
    told = _told(where)
    said = _said(where, told) if told is not None else {}
    return told if told is not None and said.get("id") == told.id and not said.get("stopping") else None


def ensure(where: Whereabouts) -> Process:
    """The process that runs, or a new one, once it answers; raises `NotStarted`."""
    found = running(where)
    if found:
        return found
    try:
        with waiting_lock(where.start_lock):
            return _await_the_owner(where) or _start(where)
    except OSError as error:
        raise NotStarted(f"the data folder {where.home} cannot be used: {error}") from error


def token(where: Whereabouts) -> str:
    """The secret that the process asks for; empty when there is none yet."""
    try:
        return where.token.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def _told(where: Whereabouts) -> Process | None:
    try:
        told = json.loads(where.process.read_text("utf-8"))
        return Process(told["pid"], told["id"], told["url"], told["version"], told["started_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _said(where: Whereabouts, told: Process) -> dict[str, object]:
    """What the process says of itself: its id, if our token is right; nothing, if it is not there."""
    if not _is_alive(told.pid):
        return {}
    try:
        with closing(Connection(told.url, ANSWER_LIMIT_S)) as connection:
            answer = connection.ask("GET /ready", {"Authorization": f"Bearer {token(where)}"})
            said = json.loads(answer.body.read())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _is_alive(pid: int) -> bool:
    """Whether the process id is in use, by the same user.

    The token is not shown to whoever listens at the address after the process died.
    """
    if sys.platform == "win32":  # there, signal 0 would interrupt the process
        return True
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError, TypeError):
        return False
    return True


def _await_the_owner(where: Whereabouts) -> Process | None:
    """The process, if somebody holds the data: one that starts comes to answer, one that stops lets go."""
    deadline = time.monotonic() + START_LIMIT_S
    while _is_held(where):
        if found := running(where):
            return found
        told = _told(where)
        if told is not None and (said := _said(where, told)) and "id" not in said:
            raise NotStarted(
                f"process {told.pid} does not accept the token in {where.token};"
                " end that process, and it is started anew"
            )
        if time.monotonic() > deadline:
            raise NotStarted(f"a process holds {where.home} but does not answer; its log is in {where.logs}")
        time.sleep(POLL_S)
    return None


def _is_held(where: Whereabouts) -> bool:
    with where.owner_lock.open("a+", encoding="utf-8") as file:
        return not try_lock(file)


def _start(where: Whereabouts) -> Process:
    where.logs.mkdir(parents=True, exist_ok=True)
    log_path = where.logs / "start.log"
    with log_path.open("w+", encoding="utf-8", errors="replace") as log:
        child = _spawn(where, log)
        # A child that nobody waits for stays in the process table after its end.
        threading.Thread(target=child.wait, daemon=True).start()
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            ended = child.poll() is not None
            # Asked after it ended, too: another one may hold the data, and run.
            if found := running(where):
                return found
            if ended:
                raise NotStarted(f"the process did not start: {_reason(log)} (the log is {log_path})")
            time.sleep(POLL_S)
    raise NotStarted(f"the process does not answer after {START_LIMIT_S:.0f} s; the log is {log_path}")


def _spawn(where: Whereabouts, log: IO[str]) -> "subprocess.Popen[bytes]":
    detached = 0
    if sys.platform == "win32":
        detached = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "backstory", "serve", "--detached"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=where.home,
        env={**os.environ, HOME_VARIABLE: str(where.home)},
        start_new_session=True,
        creationflags=detached,
    )


def _reason(log: IO[str]) -> str:
    with suppress(OSError):
        log.seek(0)
        if text := log.read().strip():
            return text[-REASON_CHARACTERS:]
    return "it said nothing"
