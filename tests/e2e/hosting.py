"""The process in a thread of the test, on a free port, asked over real sockets."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic
from typing import Any

from backstory.engine import Engine
from backstory.http.process import Hosting
from backstory.settings import Settings, read_settings
from backstory.wiring import open_engine

TOKEN = "t" * 43
MODERN = "2026-07-28"
LEGACY = "2025-11-25"

Headers = Mapping[str, str]

BOTH_KINDS = "application/json, text/event-stream"


@dataclass(frozen=True)
class Answer:
    """What came back over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; of an event stream or of lines, the last one."""
        last = self.body.decode().strip().splitlines()[-1]
        return json.loads(last.removeprefix("data: "))

    @property
    def lines(self) -> list[Any]:
        """The body as lines of JSON."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass(frozen=True)
class Client:
    """Sends requests as other programs do. `token=None` sends none."""

    port: int
    token: str | None = TOKEN
    host: str = "127.0.0.1"

    def ask(self, method: str, path: str, body: str | None = None, headers: Headers | None = None) -> Answer:
        """One request on a connection of its own."""
        own = {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        with closing(HTTPConnection(self.host, self.port, timeout=30)) as connection:
            connection.request(method, path, body, {**own, **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers.items()), response.read())

    def raw(self, request: bytes) -> bytes:
        """Whatever the bytes are answered with, until the connection is closed."""
        with socket.create_connection((self.host, self.port), timeout=30) as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def local(self, verb: str, arguments: Mapping[str, Any] | None = None, **headers: str) -> Answer:
        """A verb of the local endpoint."""
        return self.ask("POST", f"/local/{verb}", json.dumps(arguments or {}), headers)

    def call(self, tool: str, arguments: Mapping[str, Any], **headers: str) -> Answer:
        """A tool call in the protocol's newer era."""
        params = {"name": tool, "arguments": arguments}
        return self.modern("tools/call", params, {"Mcp-Name": tool, **headers})

    def modern(
        self, method: str, params: Mapping[str, Any] | None = None, headers: Headers | None = None
    ) -> Answer:
        """A message of the newer era, with what every one of them carries."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
        own = {
            "Content-Type": "application/json",
            "Accept": BOTH_KINDS,
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }
        return self.ask("POST", "/mcp", json.dumps(message), {**own, **(headers or {})})

    def legacy(self, method: str, params: Mapping[str, Any], headers: Headers | None = None) -> Answer:
        """A message of the older era."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        own = {"Content-Type": "application/json", "Accept": BOTH_KINDS}
        return self.ask("POST", "/mcp", json.dumps(message), {**own, **(headers or {})})

    def initialize(self) -> str:
        """Begin a session of the older era; its id."""
        params = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        return self.legacy("initialize", params).headers["mcp-session-id"]


def settings_for(home: Path, **variables: str) -> Settings:
    """Settings of a process that disturbs nobody."""
    quiet = {
        "BACKSTORY_HOME": str(home),
        "BACKSTORY_MIN_FREE_MB": "1",
        "MCP_PORT": "0",
        "BACKSTORY_REQUESTS_PER_MINUTE": "off",
    }
    return read_settings({**quiet, **variables})


@contextmanager
def hosted(
    engine: Engine,
    settings: Settings,
    *,
    token: str | None = TOKEN,
    clock: Callable[[], float] = monotonic,
) -> Iterator[tuple[Hosting, Client]]:
    """The process over an opened engine, answering until the block ends."""
    with Hosting(engine, settings, token=token, clock=clock) as hosting:
        answering = threading.Thread(target=hosting.run)
        answering.start()
        try:
            yield hosting, Client(int(hosting.url.rpartition(":")[2]), token)
        finally:
            hosting.stop()
            answering.join()


@contextmanager
def whole(home: Path, **variables: str) -> Iterator[Client]:
    """A store of its own, and the process over it."""
    settings = settings_for(home, **variables)
    with open_engine(settings) as engine, hosted(engine, settings) as (_, client):
        yield client
