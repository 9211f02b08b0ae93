"""What a line from the client is, and what is said about it to the process and back. Pure.

There are two eras of the protocol. A modern message (2026-07-28 and later) carries its version in
itself and needs no session; a legacy one belongs to the session that `initialize` opened. One
client may mix them, so the era is decided for each message. Sending is left to `forward`.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603

LEGACY_VERSIONS: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
FIRST_MODERN_VERSION: Final = "2026-07-28"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"

#: The parameter by which a modern request is routed, besides its method.
NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_SAFE: Final = re.compile(r"[\x20-\x7e]*")
_WRAPPED: Final = re.compile(r"=\?base64\?.*\?=")


class BadLine(Exception):
    """A line that is no message. `answer` tells the client so."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = error_answer(None, code, message)


@dataclass(frozen=True, slots=True)
class Message:
    """One message from the client; `line` is sent on as it came."""

    line: bytes
    method: str | None
    id: Any
    has_id: bool
    params: Mapping[str, Any]

    @property
    def is_request(self) -> bool:
        """Whether the client waits for an answer."""
        return self.method is not None and self.has_id

    @property
    def key(self) -> str:
        """The id as a key: 1 and "1" are different ids."""
        return json.dumps(self.id)

    @property
    def cancels(self) -> str | None:
        """The key of the request that this message takes back."""
        if self.method != "notifications/cancelled" or "requestId" not in self.params:
            return None
        return json.dumps(self.params["requestId"])

    @property
    def version(self) -> str | None:
        """The version of a modern message; None for one of the legacy era."""
        if self.method == "initialize":
            return None
        meta = self.params.get("_meta")
        version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
        if isinstance(version, str) and version not in LEGACY_VERSIONS:
            return version
        return FIRST_MODERN_VERSION if self.method == "server/discover" else None


def read_message(line: bytes) -> Message:
    """The message in a line; raises `BadLine`."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(PARSE_ERROR, f"Parse error: the line is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadLine(INVALID_REQUEST, "Invalid request: a message is one JSON object on one line")
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        method = None
    if method is None and not ("id" in value and ("result" in value or "error" in value)):
        raise BadLine(INVALID_REQUEST, "Invalid request: the message has neither a method nor an answer")
    return Message(line, method, value.get("id"), "id" in value, params if isinstance(params, dict) else {})


def modern_headers(message: Message) -> dict[str, str]:
    """The headers that a modern message is routed by; empty for a legacy one."""
    if message.version is None:
        return {}
    headers = {
        "MCP-Protocol-Version": header_value(message.version),
        "Mcp-Method": header_value(message.method or ""),
    }
    name = message.params.get(NAMED_BY.get(message.method or "", ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """The text as a header can carry it: as it is, or wrapped in base64."""
    if _SAFE.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def percent_encoded(text: str) -> str:
    """The text as UTF-8 with everything but letters, digits and `-._~/` percent-encoded."""
    return "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "-._~/") else f"%{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    )


def error_answer(id: Any, code: int, message: str, data: Any = None) -> bytes:
    """An error as a line for the client."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _line({"jsonrpc": "2.0", "id": id, "error": error})


def refusal(id: Any, status: int, body: bytes) -> bytes:
    """What the process answered instead of a result, as an answer to the request with this id.

    It may not have read as far as the id, or not have spoken JSON at all.
    """
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    error = told.get("error") if isinstance(told, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), int):
        return _line({"jsonrpc": "2.0", "id": id, "error": error})
    text = body.decode("utf-8", "replace").strip()[:200]
    return error_answer(id, INTERNAL_ERROR, f"the process answered {status}: {text or 'without a word'}")


@dataclass(frozen=True, slots=True)
class Reply:
    """One message from the process."""

    line: bytes
    method: str | None
    id: Any
    is_answer: bool
    result: Mapping[str, Any] | None


def read_reply(body: bytes) -> Reply:
    """The message in the data of an event, or in a whole body; raises `ValueError`."""
    told = json.loads(body)
    if not isinstance(told, dict):
        raise ValueError("the process sent something that is no message")  # noqa: TRY004  # of its content
    line = body if b"\n" not in body and b"\r" not in body else json.dumps(told).encode()
    method, result = told.get("method"), told.get("result")
    is_answer = "id" in told and method is None
    return Reply(line, method, told.get("id"), is_answer, result if isinstance(result, dict) else None)


def own_answer(id: Any, status: int, reply: Reply) -> bytes:
    """The reply as the answer to the request with this id, which the process may not have understood."""
    return reply.line if reply.id == id else refusal(id, status, reply.line)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii")
