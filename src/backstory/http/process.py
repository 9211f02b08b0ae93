"""The process that owns the data: from opening the store to letting it go.

`serve` is all of it. `Hosting` is the part that answers, over an engine that somebody opened; tests run
it in a thread. What is answered is left to `app`.
"""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import uvicorn
from starlette.types import ASGIApp

from backstory import __version__
from backstory.engine import Engine
from backstory.errors import StoreReadOnly
from backstory.http.addresses import check_host, listen
from backstory.http.app import create_app
from backstory.http.guard import Rules
from backstory.http.health import Health
from backstory.http.idle import Idle
from backstory.http.local import Local
from backstory.http.logs import logger, logging_to
from backstory.http.metrics import Metrics
from backstory.http.observing import Observer
from backstory.http.token import read_or_make_token
from backstory.http.tracing import sending_spans
from backstory.http.traffic import Traffic
from backstory.http.watcher import Pace, Watcher
from backstory.http.worker import STEPS, Worker
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.settings import Settings
from backstory.wiring import open_engine

#: How long calls in flight may go on after the process was told to stop. A search takes milliseconds; longer
#: work goes on where it stopped, when it is asked for again.
GRACE_S: Final = 5.0

#: After this time the process ends without closing anything, as if it were killed: nothing acknowledged is
#: lost. It is less than the ten seconds after which a container is killed from outside.
MOST_S: Final = 9.0

#: A client that keeps its connection saves half a millisecond a call; an idle one costs a file handle.
KEEP_ALIVE_S: Final = 120

_log = logger("process")


def serve(settings: Settings, *, detached: bool, started: Callable[[str], None] | None = None) -> None:
    """Run the process until it is told to stop. Raises `StoreLocked` when another process owns the data.

    `started` is told the address as soon as it can be asked.
    """
    check_host(settings)
    os.umask(0o077)  # whatever is written, memories, logs or backups, is its user's alone
    where = settings.whereabouts
    _make_home(where.home)
    with ExitStack() as stack:
        stack.enter_context(logging_to(where.logs, settings.log, stderr=not detached))
        watchdog = threading.Timer(MOST_S, _end_at_once)
        watchdog.daemon = True
        stack.callback(watchdog.cancel)
        stack.enter_context(sending_spans(settings.tracing.endpoint))
        engine = stack.enter_context(open_engine(settings))
        hosting = stack.enter_context(Hosting(engine, settings, token=read_or_make_token(where.token)))
        stack.enter_context(_announced(where.process, engine.owner, hosting.url))
        _log.info("started", operation="serve", context={"url": hosting.url, "version": __version__})
        if started:
            started(hosting.url)
        hosting.run(stopping=watchdog.start)
        _log.info("stopping", operation="serve")


class Hosting:
    """The part that answers, on bound ports; upkeep and watching go on beside it. From `with` to its end."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        *,
        token: str | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        server = settings.server
        self._listening = listen(settings)
        self.url = self._listening.url
        metrics = Metrics(engine, clock)
        self.workers = [Worker(engine, step, watching=metrics.count_step) for step in STEPS]
        pace = Pace(pass_s=settings.transcripts.index_interval_s)
        self.watcher = Watcher(engine, pace, watching=metrics.count_reading)
        self.traffic = Traffic(clock)
        face = Face(engine, server.toolsets, settings.project.name, Observer(metrics))
        #: The MCP server, to which a test may add tools of its own.
        self.mcp = create_server(face)
        rules = Rules(self._listening.entrances, token, server.max_request_bytes, server.requests_per_minute)
        health = Health(engine, self.workers, self.watcher, self.url, settings.context.storage_path, clock)
        local = Local(face, health, settings, self.stop)
        app = create_app(
            self.mcp, local, metrics, self.traffic, rules, shows_metrics=settings.metrics.enabled
        )
        self._server = _Server(app, self.traffic, Idle(server.idle_stop_s, self.traffic, self._is_busy))

    def __enter__(self) -> Self:
        for worker in self.workers:
            worker.__enter__()
        self.watcher.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.watcher.stop()
        for worker in self.workers:
            worker.stop()
        self._listening.close()

    def run(self, stopping: Callable[[], None] | None = None) -> None:
        """Answer until told to stop; `stopping` is called when that begins to happen."""
        self._server.stopping = stopping
        self._server.run(list(self._listening.sockets))

    def _is_busy(self) -> bool:
        return not all(worker.resting for worker in self.workers) or self.watcher.status.at_work

    def stop(self) -> None:
        """Stop answering, once what is in flight has come to its end. May be called from any thread."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """Uvicorn, which ends in our order: no new requests, calls come to their end, streams are ended."""

    def __init__(self, app: ASGIApp, traffic: Traffic, idle: Idle) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                ws="none",
                log_config=None,  # the log is ours
                access_log=False,  # it would quote what clients ask for
                proxy_headers=False,  # a client must not say who it is
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=1,  # for what is left after our own draining
                callback_notify=self._look_whether_idle,
                timeout_notify=1,
            )
        )
        self._traffic = traffic
        self._idle = idle
        self.stopping: Callable[[], None] | None = None

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Come to an end."""
        if self.stopping:
            self.stopping()
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()  # those that wait for a request; the others after their answer
        await self._traffic.drain(GRACE_S)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. Uvicorn's own would raise it again afterwards, before the store is closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        # Not `handle_exit`: the library for event streams watches that, and would end them before the calls.
        def stop(*_: object) -> None:
            self.should_exit = True

        before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, former in before.items():
                signal.signal(each, former)

    async def _look_whether_idle(self) -> None:
        if self._idle.is_over:
            _log.info("idle for long", operation="stop")
            self.should_exit = True


def _make_home(home: Path) -> None:
    """Make the data folder, if it is not there, so that only its user can look into it."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {home} cannot be made: {error.strerror}",
            hint="check its permissions, or set BACKSTORY_HOME to a folder you can write",
        ) from error


@contextmanager
def _announced(path: Path, owner: str, url: str) -> Iterator[None]:
    """Tell where the process is, in a file for other programs, while the block runs."""
    told = {
        "pid": os.getpid(),
        "id": owner,
        "url": url,
        "version": __version__,
        "started_at": datetime.now(UTC).isoformat(),
    }
    new = path.with_name(f"{path.name}.{owner}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(told, file)
    new.replace(path)
    try:
        yield
    finally:
        if _is_own(path, owner):
            path.unlink(missing_ok=True)


def _is_own(path: Path, owner: str) -> bool:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return bool(json.loads(path.read_text("utf-8"))["id"] == owner)
    return False


def _end_at_once() -> None:
    _log.error("did not come to an end in time", operation="stop", context={"seconds": MOST_S})
    os._exit(1)
