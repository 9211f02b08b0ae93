"""A language model that somebody runs or sells, asked for a text: Anthropic, OpenAI's protocol, Ollama.

Plain HTTP without redirects or proxies: what was said goes to the address that was set, and nowhere else.
Whatever goes wrong is `NoAnswer`, in words that may be shown: they tell of statuses and kinds of failure,
never of keys or of what a server wrote. What to ask, what to make of an answer and what to do without one is
left to those who ask. So is retrying.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from backstory.model.summary import SaidTurn
from backstory.model.tokens import tokens

_OK: Final = 200
_ANSWER_BYTES: Final = 4 * 1024 * 1024  # more is no answer to anything asked here
_READ_BYTES: Final = 65_536

# What a model may write beside the answer: its own tokens are smaller than ours, and some think aloud.
_SPARE_TOKENS: Final = 1_024

_SMALLEST_WINDOW: Final = 4_096

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


class Api(StrEnum):
    """How a server is spoken to."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OLLAMA = "ollama"


_PATHS: Final[Mapping[Api, str]] = {
    Api.ANTHROPIC: "/v1/messages",
    Api.OPENAI: "/chat/completions",
    Api.OLLAMA: "/api/chat",
}


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model and the server it runs on. `url` is what the API's own paths are appended to.

    For OpenAI's protocol it mostly ends in "/v1". Longer prompts than `max_input_tokens` are not sent.
    """

    api: Api
    url: str
    model: str
    key: str = field(default="", repr=False)
    timeout_s: float = 60.0
    max_input_tokens: int = 30_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is told to do, and with what."""

    task: str
    material: str

    @property
    def tokens(self) -> int:
        """What it takes of the model's input."""
        return tokens(self.task) + tokens(self.material)


class NoAnswer(Exception):
    """Why there is no answer that could be used, in words that may be shown."""


def answer_of(model: LanguageModel, prompt: Prompt, max_tokens: int) -> str:
    """What the model writes, without what it thought aloud; raises `NoAnswer`."""
    if (size := prompt.tokens) > (most := model.max_input_tokens):
        raise NoAnswer(f"the conversation takes {size} tokens, and it is given {most} at most")
    with _failures_told(model):
        answer = _post(model, _body(model, prompt, max_tokens))
    text = _THOUGHTS.sub("", _text_of(answer)).strip()
    if not text:
        raise NoAnswer("its answer holds no text, or was cut off")
    return text


def marked_off(lines: Sequence[str]) -> tuple[str, str]:
    """Material between two lines that nobody in it can have written, since they are made from it.

    The line comes first, for the task to name.
    """
    # Servers refuse half of a surrogate pair.
    said = "\n".join(lines).encode("utf-8", "replace").decode("utf-8")
    boundary = f"=== {hashlib.sha256(said.encode()).hexdigest()[:16]} ==="
    return boundary, f"{boundary}\n{said}\n{boundary}"


def as_json(turn: SaidTurn, tools: str = "") -> str:
    """A turn as a line of material, with what tools gave back in it."""
    told: dict[str, object] = {"turn": turn.number}
    if turn.at:
        told["at"] = turn.at.isoformat(timespec="minutes")
    if turn.user_name:
        told["name"] = turn.user_name
    told |= {"user": turn.user, "assistant": turn.assistant}
    return json.dumps(told | {"tools": tools} if tools else told, ensure_ascii=False)


def _body(model: LanguageModel, prompt: Prompt, max_tokens: int) -> dict[str, object]:
    material = {"role": "user", "content": prompt.material}
    messages = [{"role": "system", "content": prompt.task}, material]
    room = max_tokens + _SPARE_TOKENS
    match model.api:
        case Api.ANTHROPIC:
            return {"model": model.model, "max_tokens": room, "system": prompt.task, "messages": [material]}
        case Api.OPENAI:
            # No limit: it has two names, and each is refused by some of those who speak this protocol.
            return {"model": model.model, "messages": messages}
        case Api.OLLAMA:
            options = {"temperature": 0, "num_ctx": _window(prompt.tokens + room), "num_predict": room}
            return {"model": model.model, "messages": messages, "stream": False, "options": options}


def _window(size: int) -> int:
    """The context that Ollama is to keep for a model.

    Left to itself, it silently cuts the beginning off whatever takes more than some 4,000 tokens. It loads
    a model anew for each size, so there are few sizes.
    """
    return max(_SMALLEST_WINDOW, 1 << (size - 1).bit_length())


def _headers(model: LanguageModel) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if model.api is Api.ANTHROPIC:
        headers["anthropic-version"] = "2023-06-01"
    if model.key:
        name, prefix = ("x-api-key", "") if model.api is Api.ANTHROPIC else ("Authorization", "Bearer ")
        headers[name] = prefix + model.key
    return headers


def _post(model: LanguageModel, body: Mapping[str, object]) -> Any:
    """The server's JSON answer, within the time that there is."""
    deadline = time.monotonic() + model.timeout_s
    address = urlsplit(model.url.rstrip("/") + _PATHS[model.api])
    with closing(_connection(address, model.timeout_s)) as connection:
        connection.request("POST", address.path, json.dumps(body).encode(), _headers(model))
        response = connection.getresponse()
        if response.status != _OK:
            raise NoAnswer(f"its server answered with status {response.status}")
        return json.loads(_read(response, deadline))


def _connection(address: SplitResult, timeout_s: float) -> HTTPConnection:
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    return kind(address.hostname or "", address.port, timeout=timeout_s)


def _read(response: HTTPResponse, deadline: float) -> bytes:
    """The body. The connection's limit is for each piece of it; this one is for the whole."""
    body = b""
    while piece := response.read1(_READ_BYTES):
        body += piece
        if len(body) > _ANSWER_BYTES:
            raise NoAnswer(f"its answer has more than {_ANSWER_BYTES:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    return body


def _text_of(answer: Any) -> str:
    """The text in an answer of any of the three; empty where there is none or the model was cut short."""
    match answer:
        case {"content": [*blocks], "stop_reason": "end_turn" | "stop_sequence" | None}:
            return "".join(map(_text_of_block, blocks))
        case {"choices": [{"message": {"content": str(text)}, **rest}, *_]}:
            return "" if rest.get("finish_reason") in {"length", "content_filter"} else text
        case {"message": {"content": str(text)}, **rest}:
            return "" if rest.get("done_reason") == "length" or rest.get("done") is False else text
        case _:
            return ""


def _text_of_block(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case _:  # what it thought, or would like a tool to do
            return ""


@contextmanager
def _failures_told(model: LanguageModel) -> Iterator[None]:
    """Raise `NoAnswer` for whatever a server or the way to it does, in words that hold no secret."""
    try:
        yield
    except TimeoutError as error:
        raise NoAnswer(f"its server gave no answer within {model.timeout_s:g} s") from error
    except OSError as error:
        raise NoAnswer(f"its server cannot be reached ({type(error).__name__})") from error
    except (HTTPException, RecursionError, ValueError) as error:
        # `ValueError`: no JSON, no text, or an address or key that cannot be sent; it may quote the key.
        raise NoAnswer(f"its server could not be asked or understood ({type(error).__name__})") from None
