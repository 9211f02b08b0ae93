"""The way into the process for programs on the same machine: the command line and the examples.

Finds the process or has it started, asks it, and raises its errors as if they had happened here.
Loads nothing but the standard library and the bridge, because every command waits for it. What
the process can do is left to `http.local`.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from backstory import errors
from backstory.bridge import wire
from backstory.bridge.locking import try_lock, waiting_lock
from backstory.bridge.process import NotStarted, Process, ensure, running, token
from backstory.bridge.whereabouts import Whereabouts
from backstory.errors import BackstoryError, StoreUnavailable

Report = Callable[[int, int | None, str], None]

#: It takes about a second, and the process itself sees to it that it never takes ten.
STOP_LIMIT_S: Final = 30
STOP_POLL_S: Final = 0.02

OK: Final = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What the process answered: the values, and the same as a person reads it."""

    answer: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class _Question:
    """A request as it is sent, and sent again: by `key` the process knows that it is the same."""

    verb: str
    arguments: Mapping[str, object]
    key: str = ""
    directory: Path | None = None
    report: Report | None = None


def ask(
    where: Whereabouts,
    verb: str,
    arguments: Mapping[str, object],
    *,
    directory: Path | None,
    report: Report | None = None,
    key: str | None = None,
) -> Answer:
    """Have the process do something, starting it if need be; raises the error that it raised.

    `directory` is where the caller works: the default project comes from it. An interrupt closes
    the connection, and so cancels the work.
    """
    question = _Question(verb, arguments, key or os.urandom(16).hex(), directory, report)
    try:
        return _put(where, start(where), question)
    except OSError:  # it was about to stop by itself: the next one is asked
        with _no_answer_told():
            return _put(where, start(where), question)


def start(where: Whereabouts) -> Process:
    """The process that runs, or else a new one, started in the background."""
    try:
        return ensure(where)
    except NotStarted as error:
        raise StoreUnavailable(str(error), hint="`backstory doctor` checks what it needs") from error


def status(where: Whereabouts) -> Answer | None:
    """How the process is, in detail; None when none runs. Starts nothing."""
    process = running(where)
    if process is None:
        return None
    with _no_answer_told():
        return _put(where, process, _Question("status", {}))


def stop(where: Whereabouts) -> Process | None:
    """Have the process stop, and wait until it let go of the data; None when none runs."""
    process = running(where)
    if process is None:
        return None
    with _no_answer_told():
        _put(where, process, _Question("stop", {}))
    deadline = time.monotonic() + STOP_LIMIT_S
    with waiting_lock(where.start_lock):  # the next one must not meet the lock while it is tried here
        while not _released(where, process):
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"process {process.pid} was asked to stop, and still runs after {STOP_LIMIT_S} s",
                    hint=f"its log in {where.logs} may tell why; end it by its process id if it hangs",
                )
            time.sleep(STOP_POLL_S)
    return process


def _released(where: Whereabouts, process: Process) -> bool:
    with where.owner_lock.open("r+", encoding="utf-8") as file:
        if try_lock(file):
            return True
        try:
            return bool(json.load(file)["id"] != process.id)
        except (ValueError, LookupError):  # just being written, by the next owner
            return False


def _put(where: Whereabouts, process: Process, question: _Question) -> Answer:
    """Ask this process; raises `OSError` when it does not begin to answer."""
    # No limit to the patience: work may take long without a word.
    with closing(wire.Connection(process.url, None)) as connection:
        body = json.dumps(question.arguments).encode()
        answer = connection.ask(f"POST /local/{question.verb}", _headers(where, question), body)
        if answer.status != OK:
            raise _refusal(answer)
        return _listen(answer, question.report)


def _headers(where: Whereabouts, question: _Question) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token(where)}", "Content-Type": "application/json"}
    if question.key:
        headers["Idempotency-Key"] = question.key
    if question.directory:
        headers["Backstory-Directory"] = quote(str(question.directory), errors="surrogateescape")
    return headers


def _listen(answer: wire.Answer, report: Report | None) -> Answer:
    """Take lines until the answer, which is the last."""
    try:
        for line in answer.body:
            match json.loads(line):
                case {"progress": {"done": int(done), "total": int() | None as total, "message": message}}:
                    if report:
                        report(done, total, str(message))
                case {"answer": dict(values), "text": str(text)}:
                    return Answer(values, text)
                case {"error": dict(told)}:
                    raise _error(told)
    except (OSError, ValueError) as error:
        raise _broken_off() from error
    raise _broken_off()


def _refusal(answer: wire.Answer) -> BackstoryError:
    try:
        return _error(json.load(answer.body)["error"])
    except (OSError, ValueError, LookupError, TypeError):
        return StoreUnavailable(
            f"the process answered with status {answer.status}",
            hint="another version may be running: `backstory stop` ends it, the next command starts this one",
        )


def _error(told: Mapping[str, Any]) -> BackstoryError:
    named = getattr(errors, str(told["kind"]), None)
    kind = named if isinstance(named, type) and issubclass(named, BackstoryError) else BackstoryError
    return kind(str(told["message"]), hint=told.get("hint"))


@contextmanager
def _no_answer_told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"the process does not answer: {error}",
            hint="run it again; `backstory status` says how the process is",
        ) from error


def _broken_off() -> StoreUnavailable:
    return StoreUnavailable(
        "the process ended before it had answered",
        hint="run it again; `backstory status` says how the process is, and its log tells more",
    )
