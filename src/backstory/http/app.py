"""The process as an ASGI app: its routes, and the layers around all of them.

From outside in: requests are counted, guarded, watched (to know when the process is idle, and to end
well), and served. What a route does is in the module of its name.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from backstory.http import metrics as numbers
from backstory.http.addresses import METRICS_PATH
from backstory.http.guard import MCP_PATH, Guard, Refusal, Rules, error_body, is_authorised
from backstory.http.health import Health, status_of
from backstory.http.local import Local
from backstory.http.metrics import Counting, Metrics
from backstory.http.traffic import Traffic

ROUTES: Final = frozenset({MCP_PATH, "/health", "/ready", METRICS_PATH, "/local"})

_REFUSALS: Final = {
    404: Refusal(404, "path", "there is nothing here", f"there are {', '.join(sorted(ROUTES))}"),
    405: Refusal(405, "method", "that cannot be done here", "use a method that Allow names"),
}
_BROKEN: Final = Refusal(500, "BackstoryError", "that failed unexpectedly; see the log", "try again")

Answering = Callable[[Request], Awaitable[Response]]


def create_app(
    server: MCPServer,
    local: Local,
    metrics: Metrics,
    traffic: Traffic,
    rules: Rules,
    *,
    shows_metrics: bool = True,
) -> ASGIApp:
    """The whole app around an MCP server, to which a test may have added tools of its own."""
    health = local.health
    routes = [
        _route(MCP_PATH, _mcp(server, rules), "GET", "POST", "DELETE"),
        _route("/health", _health(health), "GET"),
        _route("/ready", _ready(health, traffic), "GET"),
        _route("/local/{verb}", local, "POST"),
    ]
    if shows_metrics:
        routes.append(_route(METRICS_PATH, _metrics(metrics, local.face.threads), "GET"))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused, Exception: _refused},
    )
    app.router.redirect_slashes = False  # a path is right or it is not
    return Counting(Guard(traffic.around(app), rules), metrics, ROUTES)


def _route(path: str, endpoint: ASGIApp | Answering, *methods: str) -> Route:
    route = Route(path, endpoint, methods=list(methods))
    route.methods = set(methods)  # without the HEAD that comes with every GET
    return route


def _mcp(server: MCPServer, rules: Rules) -> ASGIApp:
    # The library checks Host and Origin too. It gets the guard's exact lists: by default it would compare
    # beginnings only, and let "localhost:80.evil.example" in.
    hosts = {host for entrance in rules.entrances.values() for host in entrance.hosts}
    origins = {origin for entrance in rules.entrances.values() for origin in entrance.origins}
    server.streamable_http_app(
        max_request_body_size=rules.max_bytes,
        transport_security=TransportSecuritySettings(
            allowed_hosts=sorted(hosts), allowed_origins=sorted(origins)
        ),
    )
    return StreamableHTTPASGIApp(server.session_manager)


def _health(health: Health) -> Answering:
    async def answer(request: Request) -> Response:
        if is_authorised(request.scope):
            return JSONResponse(await health.report())
        return JSONResponse({"status": status_of(await health.checks())})

    return answer


def _ready(health: Health, traffic: Traffic) -> Answering:
    async def answer(request: Request) -> Response:
        told = await health.ready()
        told["stopping"] = traffic.stopping
        if traffic.stopping:
            told |= {"ready": False, "reasons": [*told["reasons"], "the process is stopping"]}
        status = 200 if told["ready"] else 503
        if not is_authorised(request.scope):
            told = {"ready": told["ready"]}
        return JSONResponse(told, status_code=status)

    return answer


def _metrics(metrics: Metrics, threads: anyio.CapacityLimiter) -> Answering:
    async def answer(_: Request) -> Response:
        busy = 100 * threads.borrowed_tokens / threads.total_tokens
        text = await anyio.to_thread.run_sync(metrics.text, busy)
        return Response(text, headers={"Content-Type": numbers.CONTENT_TYPE})

    return answer


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what the router or an endpoint gave up on; the error itself is the log's."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    refusal = _REFUSALS.get(status, _BROKEN)
    return JSONResponse(
        error_body(request.scope["path"], refusal), status_code=refusal.status, headers=headers
    )
