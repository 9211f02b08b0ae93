"""Servers on this machine that speak as language models do.

A test sets what one says, and sees what it was asked.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from backstory.adapters.language_model import Api, LanguageModel


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server saw it."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class ModelServer:
    """What it says next, and what it was asked so far. Silent, it never begins; endless, it never ends."""

    url: str
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    endless: bool = False
    asked: list[Asked] = field(default_factory=list)

    def says(self, value: object) -> None:
        """Answer with this as JSON from now on."""
        self.body = json.dumps(value).encode()


def answer(api: Api, text: str, *, cut: bool = False) -> dict[str, Any]:
    """A model's answer in the words of its API; `cut` if it ran out of tokens."""
    match api:
        case Api.ANTHROPIC:
            blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}]
            return {"type": "message", "content": blocks, "stop_reason": "max_tokens" if cut else "end_turn"}
        case Api.OPENAI:
            message = {"role": "assistant", "content": text}
            return {
                "choices": [{"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}]
            }
        case Api.OLLAMA:
            message = {"role": "assistant", "content": text}
            return {"message": message, "done": True, "done_reason": "length" if cut else "stop"}


def model_at(server: ModelServer, api: Api, *, key: str = "", timeout_s: float = 30) -> LanguageModel:
    """The model that this server runs."""
    url = f"{server.url}/v1" if api is Api.OPENAI else server.url
    return LanguageModel(api, url, "some-model", key, timeout_s)


@contextmanager
def serving() -> Iterator[ModelServer]:
    """A server on a free port of this machine, gone when the block ends."""
    ended = threading.Event()

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.asked.append(Asked(self.path, dict(self.headers), json.loads(body)))
            if server.silent:
                ended.wait()
                return
            with suppress(ConnectionError):  # whoever asked had enough
                self.send_response(server.status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(10**9 if server.endless else len(server.body)))
                self.end_headers()
                self.wfile.write(server.body)
                while server.endless:
                    self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as listening:
        server = ModelServer(f"http://127.0.0.1:{listening.server_port}")
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            listening.shutdown()
            thread.join()
