"""Sessions with an MCP server that cost next to nothing themselves: bytes on streams.

The SDK's client takes longer than most servers, and the machine is shared with it. These know as much
of the protocol as a call needs, in both of its eras, over HTTP and over a process's stdin and stdout.
"""

import asyncio
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

Message = dict[str, Any]

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
_CLIENT: Final = {"name": "benchmarks", "version": "1"}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}

#: The longest line of an answer that is taken; a page of memories is far below.
_LINE_BYTES: Final = 1 << 24


class Failed(Exception):
    """The server answered with an error, or not at all."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server to be reached over HTTP, and what lets us in."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A server to be started, which speaks over stdin and stdout."""

    arguments: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)


class Session(ABC):
    """One client's conversation with a server, one call after another."""

    def __init__(self, era: str) -> None:
        self._era = era
        self._last_id = 0

    async def begin(self) -> None:
        """Say hello, in the way of the era."""
        if self._era == MODERN:
            await self._ask("server/discover", {})
            return
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
        await self._ask("initialize", hello)
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Message:
        """The tool's result; raises `Failed` when there is none."""
        result = await self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Failed(str(result["content"]))
        return result

    async def _ask(self, method: str, params: Mapping[str, object]) -> Message:
        self._last_id += 1
        meta = {"_meta": _META} if self._era == MODERN else {}
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, **meta}}
        try:
            answer = await self._send(message)
        except (OSError, EOFError, ValueError, IndexError) as error:
            raise Failed(repr(error)) from error
        if not answer or "result" not in answer:
            raise Failed(str(answer))
        result: Message = answer["result"]
        return result

    @abstractmethod
    async def _send(self, message: Message) -> Message | None:
        """The answer to a message; None when it is none that is answered."""


class HttpSession(Session):
    """A conversation over one connection that is kept."""

    def __init__(self, address: Address, era: str) -> None:
        super().__init__(era)
        self._address = address
        self._netloc = urlsplit(address.url).netloc
        self._session: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def _send(self, message: Message) -> Message | None:
        reader, writer = await self._connection()
        body = json.dumps(message).encode()
        head = [
            f"POST {urlsplit(self._address.url).path} HTTP/1.1",
            f"Host: {self._netloc}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in self._headers(message).items()),
        ]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        headers = await _head(reader)
        text = await _body(reader, headers)
        if "mcp-session-id" in headers:
            self._session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        return _answer(text, headers) if text else None

    async def close(self) -> None:
        """Hang up."""
        if self._writer:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._reader or not self._writer:
            host, _, port = self._netloc.rpartition(":")
            opened = await asyncio.open_connection(host, int(port), limit=_LINE_BYTES)
            self._reader, self._writer = opened
        return self._reader, self._writer

    def _headers(self, message: Message) -> Mapping[str, str]:
        standard = {"MCP-Protocol-Version": self._era}
        if self._era == MODERN:
            standard["Mcp-Method"] = message["method"]
            if name := message["params"].get("name"):
                standard["Mcp-Name"] = name
        return {**self._address.headers, **standard, **self._session}


class StdioSession(Session):
    """A conversation with a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, era: str) -> None:
        super().__init__(era)
        self._process = process

    @property
    def pid(self) -> int:
        """The process at the other end."""
        return self._process.pid

    async def _send(self, message: Message) -> Message | None:
        reader, writer = self._process.stdout, self._process.stdin
        if not reader or not writer:
            raise EOFError
        writer.write(json.dumps(message).encode() + b"\n")
        while "id" in message:
            line = await reader.readline()
            if not line:
                raise EOFError
            answer: Message = json.loads(line)
            if answer.get("id") == message["id"]:
                return answer
        return None

    async def close(self) -> None:
        """Close its stdin, at which it ends."""
        if self._process.stdin:
            self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def session(server: Address | Command, era: str) -> AsyncIterator[HttpSession | StdioSession]:
    """A conversation that has begun, until the block ends."""
    opened: HttpSession | StdioSession
    if isinstance(server, Address):
        opened = HttpSession(server, era)
    else:
        opened = StdioSession(await _started(server), era)
    try:
        await opened.begin()
        yield opened
    finally:
        await opened.close()


async def first_reply_s(command: Command, era: str) -> float:
    """How long it takes from starting a server to its first reply."""
    begun = time.perf_counter()
    async with session(command, era):
        return time.perf_counter() - begun


async def _started(command: Command) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command.arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **command.environ},
        limit=_LINE_BYTES,
    )


async def _head(reader: asyncio.StreamReader) -> Mapping[str, str]:
    status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    if int(status.split()[1]) >= 300:
        raise ValueError(f"{status} {(await _body(reader, headers)).decode()}")
    return headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


def _answer(text: bytes, headers: Mapping[str, str]) -> Message | None:
    """The message in a body; of a stream of events, the last."""
    if headers.get("content-type", "").startswith("text/event-stream"):
        data = [line[5:] for line in text.splitlines() if line.startswith(b"data:") and len(line) > 6]
        text = data[-1]
    answer: Message = json.loads(text)
    return answer
