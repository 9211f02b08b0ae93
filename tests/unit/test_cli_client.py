"""The client of the process, against one that says what a test wants it to say."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from backstory.bridge.locking import try_lock
from backstory.bridge.whereabouts import Whereabouts
from backstory.errors import BackstoryError, NotFound, StoreLocked, StoreUnavailable
from backstory.http import client
from backstory.http.client import Answer, ask

ID = "0123abcd"
DONE = {"answer": {"n": 1}, "text": "One."}


def progress(done: int, total: int | None) -> dict[str, object]:
    return {"progress": {"done": done, "total": total, "message": "building"}}


class Talk:
    """What the process will say, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.lines: list[object] = [DONE]
        self.breaks_off = False
        self.hang_ups = 0
        self.requests: list[tuple[str, dict[str, str], object]] = []
        self.client_left = threading.Event()


class Talking(ThreadingHTTPServer):
    """A process that follows a talk."""

    daemon_threads = False  # so that the end of the server is the end of its threads

    def __init__(self, talk: Talk) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.talk = talk


class Answering(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Talking

    def do_POST(self) -> None:
        talk = self.server.talk
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        talk.requests.append((self.path, dict(self.headers), body))
        if talk.hang_ups:
            talk.hang_ups -= 1
            return
        self.send_response(talk.status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in talk.lines:
            self._chunk((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        if not talk.breaks_off and self._client_leaves():
            talk.client_left.set()

    def _client_leaves(self) -> bool:
        """Whether the client goes after the answer; it may go while the last of it is sent."""
        try:
            self._chunk(b"")
            return not self.rfile.read(1)
        except ConnectionError:
            return True

    def do_GET(self) -> None:
        body = json.dumps({"status": "ok", "id": ID}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name
        """Say nothing."""


@pytest.fixture
def talk() -> Talk:
    return Talk()


@pytest.fixture
def where(talk: Talk, tmp_path: Path) -> Iterator[Whereabouts]:
    """A data folder whose process follows the talk."""
    where = Whereabouts(tmp_path)
    where.token.write_text("secret")
    with Talking(talk) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        told = {"pid": os.getpid(), "id": ID, "url": url, "version": "1", "started_at": "now"}
        where.process.write_text(json.dumps(told))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield where
        server.shutdown()
        thread.join()


def test_the_answer_comes_with_its_text(where: Whereabouts) -> None:
    assert ask(where, "verb", {}, directory=None) == Answer({"n": 1}, "One.")


def test_a_request_says_what_is_wanted_by_whom_and_from_where(where: Whereabouts, talk: Talk) -> None:
    folder = Path("/home/ä b/100%/\udcff")

    ask(where, "memory_add", {"content": "ünï"}, directory=folder, key="k")

    ((path, headers, body),) = talk.requests
    assert (path, body) == ("/local/memory_add", {"content": "ünï"})
    assert headers["Authorization"] == "Bearer secret"
    assert headers["Idempotency-Key"] == "k"
    assert unquote(headers["Backstory-Directory"], errors="surrogateescape") == str(folder)


def test_every_request_has_a_key_of_its_own_unless_one_is_given(where: Whereabouts, talk: Talk) -> None:
    ask(where, "verb", {}, directory=None)
    ask(where, "verb", {}, directory=None)

    first, second = (headers["Idempotency-Key"] for _, headers, _ in talk.requests)
    assert first != second


def test_progress_is_reported_as_it_comes(where: Whereabouts, talk: Talk) -> None:
    talk.lines = [progress(1, None), progress(2, 3), DONE]
    reported: list[tuple[int, int | None, str]] = []

    answer = ask(where, "verb", {}, directory=None, report=lambda *told: reported.append(told))

    assert reported == [(1, None, "building"), (2, 3, "building")]
    assert answer.text == "One."


def test_progress_that_nobody_wants_is_passed_over(where: Whereabouts, talk: Talk) -> None:
    talk.lines = [progress(1, None), DONE]

    assert ask(where, "verb", {}, directory=None).text == "One."


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("NotFound", NotFound),
        ("StoreLocked", StoreLocked),
        ("FromANewerVersion", BackstoryError),
        ("Exception", BackstoryError),
        ("__name__", BackstoryError),
    ],
)
def test_an_error_is_raised_as_what_it_is(
    where: Whereabouts, talk: Talk, kind: str, raised: type[BackstoryError]
) -> None:
    talk.lines = [{"error": {"kind": kind, "message": "no such thing", "hint": "look elsewhere"}}]

    with pytest.raises(BackstoryError, match="no such thing") as error:
        ask(where, "verb", {}, directory=None)

    assert type(error.value) is raised
    assert error.value.hint == "look elsewhere"


def test_a_request_that_is_refused_tells_why(where: Whereabouts, talk: Talk) -> None:
    talk.status, talk.lines = 413, [{"error": {"kind": "size", "message": "too large", "hint": "send less"}}]

    with pytest.raises(BackstoryError, match="too large") as error:
        ask(where, "verb", {}, directory=None)

    assert error.value.hint == "send less"


@pytest.mark.parametrize("line", [b"<html>", {"detail": "no"}, {"error": "no"}, ["error"]], ids=repr)
def test_a_refusal_that_is_not_understood_tells_its_status(
    where: Whereabouts, talk: Talk, line: object
) -> None:
    talk.status, talk.lines = 500, [line]

    with pytest.raises(StoreUnavailable, match="500"):
        ask(where, "verb", {}, directory=None)


@pytest.mark.parametrize("breaks_off", [True, False])
@pytest.mark.parametrize("lines", [[], [progress(1, 2)], [b'{"answ']], ids=["nothing", "progress", "half"])
def test_an_answer_that_does_not_come_is_an_error(
    where: Whereabouts, talk: Talk, lines: list[object], breaks_off: bool
) -> None:
    talk.lines, talk.breaks_off = lines, breaks_off

    with pytest.raises(StoreUnavailable, match="ended before it had answered"):
        ask(where, "verb", {}, directory=None)
    assert len(talk.requests) == 1


def test_a_process_that_goes_before_it_answers_is_asked_again_with_the_same_key(
    where: Whereabouts, talk: Talk
) -> None:
    talk.hang_ups = 1

    assert ask(where, "verb", {}, directory=None).text == "One."
    first, second = (headers["Idempotency-Key"] for _, headers, _ in talk.requests)
    assert first == second


def test_a_process_that_never_answers_is_asked_twice(where: Whereabouts, talk: Talk) -> None:
    talk.hang_ups = 100

    with pytest.raises(StoreUnavailable, match="does not answer"):
        ask(where, "verb", {}, directory=None)
    assert len(talk.requests) == 2


def test_asking_for_the_status_asks_once(where: Whereabouts, talk: Talk) -> None:
    talk.hang_ups = 1

    with pytest.raises(StoreUnavailable, match="does not answer"):
        client.status(where)


def test_an_interrupt_closes_the_connection(where: Whereabouts, talk: Talk) -> None:
    talk.lines = [progress(1, 2)]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(where, "verb", {}, directory=None, report=interrupt)

    assert talk.client_left.wait(timeout=30)


def test_a_process_that_does_not_let_go_is_not_waited_for_for_ever(
    where: Whereabouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "STOP_LIMIT_S", 0)
    with where.owner_lock.open("w+") as file:
        json.dump({"pid": os.getpid(), "id": ID}, file)
        file.flush()
        assert try_lock(file)

        with pytest.raises(StoreUnavailable, match="still runs"):
            client.stop(where)


def test_a_process_is_gone_when_another_one_has_the_data(where: Whereabouts) -> None:
    with where.owner_lock.open("w+") as file:
        json.dump({"pid": 1, "id": "another"}, file)
        file.flush()
        assert try_lock(file)

        stopped = client.stop(where)

    assert stopped is not None
    assert stopped.id == ID
