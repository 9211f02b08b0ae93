"""A small MCP server that stands where a bridge looks for the process. Run with a home.

Its tools do what the real ones never do at a test's command: wait, report, count, die. What a tool
does is told line by line on stdout.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation
from mcp.server.mcpserver import Context
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from backstory.bridge.locking import try_lock
from backstory.bridge.whereabouts import Whereabouts

TOKEN = os.environ.get("FIXTURE_TOKEN", "a token of the test's own")
PORT = int(os.environ.get("FIXTURE_PORT", "0"))

server = MCPServer("fixture", instructions="For tests.")


def say(text: str) -> None:
    """Tell the test what happens."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    """The text again."""
    return text


@server.tool(structured_output=False)
async def steps(number: int, ctx: Context) -> str:
    """As many reports of progress."""
    for step in range(1, number + 1):
        await ctx.report_progress(step, number, f"step {step}")
    return "walked"


@server.tool(structured_output=False)
async def wait(name: str) -> str:
    """Never ends, unless it is cancelled."""
    say(f"begun {name}")
    try:
        await anyio.sleep_forever()
    finally:
        say(f"cancelled {name}")
    return "never"


class Name(BaseModel):
    """What the client is asked for."""

    name: str


@server.tool(structured_output=False)
async def greet(ctx: Context) -> str:
    """Ask the client for a name, as the legacy era does it."""
    match await ctx.elicit("Who are you?", Name):
        case AcceptedElicitation(data=Name(name=name)):
            return f"Hello {name}"
        case _:
            return "Hello"


@server.tool(structured_output=False)
async def headers(ctx: Context) -> str:
    """The headers of this request."""
    return json.dumps(dict(ctx.headers or {}))


@server.tool(structured_output=False)
async def die_at_first(folder: str, ctx: Context) -> str:
    """Kill the process in the first call; in the next one, tell the keys of both."""
    keys = Path(folder) / "keys"
    with keys.open("a") as file:
        file.write((ctx.headers or {}).get("idempotency-key", "none") + "\n")
    if len(told := keys.read_text().splitlines()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return " ".join(told)


@server.tool(structured_output=False)
async def change(ctx: Context) -> str:
    """Tell everyone who listens that the tools changed."""
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "changed"


def guarded(app: ASGIApp, id: str) -> ASGIApp:
    """The app behind a token, with the health route that a bridge looks for."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        is_known = dict(scope["headers"]).get(b"authorization") == f"Bearer {TOKEN}".encode()
        if scope["path"] == "/ready":
            await _send(send, 200, {"status": "ok"} | ({"id": id} if is_known else {}))
        elif is_known:
            await app(scope, receive, send)
        else:
            error = {"code": -32001, "message": "no token"}
            await _send(send, 401, {"jsonrpc": "2.0", "id": None, "error": error})

    return answer


async def _send(send: Send, status: int, body: object) -> None:
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


def main(home: str) -> None:
    """Serve until killed."""
    where, id = Whereabouts(Path(home)), os.urandom(8).hex()
    where.token.write_text(TOKEN)
    lock = where.owner_lock.open("a+")
    assert try_lock(lock)
    listening = socket.create_server(("127.0.0.1", PORT))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer takes 40 ms
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    about = {"pid": os.getpid(), "id": id, "url": url, "version": "0", "started_at": ""}
    where.process.write_text(json.dumps(about))
    say("listening")
    app = guarded(server.streamable_http_app(), id)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
