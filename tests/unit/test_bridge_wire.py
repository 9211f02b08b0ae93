"""HTTP answers as they come from a socket, in whatever pieces."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.bridge.wire import Answer, BrokenOff, Connection, Connections, events

cuts = st.lists(st.integers(0, 200), max_size=12)
datas = st.lists(st.binary(min_size=1).filter(lambda data: not set(b"\r\n") & set(data)), max_size=5)
ends = st.sampled_from([b"\n", b"\r\n"])


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[start:end] for start, end in pairwise(places)]


class _Arriving(io.RawIOBase):
    """Bytes that arrive in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than Buffer
        piece = self._pieces.pop(0) if self._pieces else b""
        if rest := piece[len(buffer) :]:
            self._pieces.insert(0, rest)
        buffer[: len(piece)] = piece[: len(buffer)]
        return min(len(piece), len(buffer))


def _answer(data: bytes, cuts: list[int]) -> Answer:
    return Answer(io.BufferedReader(_Arriving(_pieces(data, cuts)), 1 << 16))


def _chunked(body: bytes, cuts: list[int]) -> bytes:
    chunks = [b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in _pieces(body, cuts)]
    return b"".join([*chunks, b"0\r\n\r\n"])


@given(datas=datas, end=ends, cuts=cuts, chunks=cuts)
def test_events_do_not_depend_on_how_their_bytes_are_split(
    datas: list[bytes], end: bytes, cuts: list[int], chunks: list[int]
) -> None:
    body = b"".join(
        b"event: message" + end + b"data: " + data + end * 2 + b": ping" + end * 2 for data in datas
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    answer = _answer(head + _chunked(body, chunks), cuts)

    assert answer.is_stream
    assert list(events(answer.body)) == datas
    assert answer.leaves_the_connection_usable


@given(body=st.binary(), rest=st.binary(), cuts=cuts)
def test_a_body_with_a_length_ends_there(body: bytes, rest: bytes, cuts: list[int]) -> None:
    head = b"HTTP/1.1 404 Not Found\r\ncontent-length: %d\r\n\r\n" % len(body)

    answer = _answer(head + body + rest, cuts)

    assert (answer.status, answer.body.read()) == (404, body)
    assert answer.leaves_the_connection_usable


@given(body=st.binary(min_size=1), cuts=cuts, share=st.floats(0, 1, exclude_max=True))
def test_an_answer_that_breaks_off_anywhere_is_known_to_have_broken_off(
    body: bytes, cuts: list[int], share: float
) -> None:
    whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _chunked(body, cuts)
    part = whole[: int(len(whole) * share)]

    with pytest.raises(BrokenOff):
        _answer(part, cuts).body.read()


def test_an_event_of_several_lines_is_put_together() -> None:
    body = io.BytesIO(b"data: one\ndata:two\n\ndata: three, without an end\n")

    assert list(events(body)) == [b"one\ntwo"]


@contextmanager
def _serving(serve: Callable[[socket.socket], None], times: int = 1) -> Iterator[Connections]:
    """A server that does this with each of so many connections."""

    def run() -> None:
        for _ in range(times):
            taken, _ = listening.accept()
            with taken:
                serve(taken)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run)
        thread.start()
        with closing(Connections(f"http://127.0.0.1:{listening.getsockname()[1]}")) as connections:
            yield connections
        thread.join()


def _head_of_a_request(taken: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n") and (piece := taken.recv(1)):
        data += piece
    return data


def test_a_connection_that_the_server_closed_meanwhile_is_replaced_unnoticed() -> None:
    def serve(taken: socket.socket) -> None:
        assert _head_of_a_request(taken)
        taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with _serving(serve, times=3) as connections:
        for _ in range(3):
            with connections.connection() as connection:
                assert connection.ask("GET /", {}).body.read() == b"ok"


def test_a_connection_is_used_again_when_its_answer_was_read() -> None:
    def serve(taken: socket.socket) -> None:
        while _head_of_a_request(taken):
            taken.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with _serving(serve) as connections:
        for _ in range(3):
            with connections.connection() as connection:
                connection.ask("GET /", {}).body.read()


def test_breaking_off_wakes_who_waits_for_the_answer() -> None:
    asked, broken = threading.Event(), threading.Event()

    def wait_in_vain(connection: Connection) -> None:
        try:
            connection.ask("GET /", {})
        except OSError:
            broken.set()

    def serve(taken: socket.socket) -> None:
        _head_of_a_request(taken)
        asked.set()
        assert taken.recv(1) == b""  # nothing comes but the end

    with _serving(serve) as connections, connections.connection() as connection:
        waiting = threading.Thread(target=wait_in_vain, args=(connection,))
        waiting.start()
        asked.wait()
        connection.break_off()
        waiting.join()

    assert broken.is_set()


def test_a_large_body_that_is_not_wanted_is_not_sent() -> None:
    def serve(taken: socket.socket) -> None:
        assert b"Expect: 100-continue" in _head_of_a_request(taken)
        taken.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo much")
        assert taken.recv(1) == b""

    with _serving(serve) as connections, connections.connection() as connection:
        answer = connection.ask("POST /", {}, b"x" * 10_000_000)

        assert (answer.status, answer.body.read()) == (413, b"too much")
