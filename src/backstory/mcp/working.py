"""Calls in worker threads, told of and stopped: what stands between the protocol and `calls`."""

import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from typing import Any, Final

import anyio
from anyio import from_thread, to_thread
from mcp.server.mcpserver import Context

from backstory.engine import Work
from backstory.mcp.calls import Caller, Outcome, perform
from backstory.mcp.face import Face

#: Ten reports a second are as many as a person can follow, and each costs a hop between threads.
REPORT_EVERY_S: Final = 0.1


async def perform_beside(
    face: Face, name: str, arguments: Mapping[str, object], ctx: Context[Any, Any]
) -> Outcome:
    """Do a call in a worker thread; if the request is cancelled, the thread ends at its next step.

    The thread is waited for in any case: the store must not be closed under it.
    """
    work = Work(_reporter(ctx.report_progress))
    caller = Caller.from_headers(ctx.headers)
    done = anyio.Event()
    async with anyio.create_task_group() as beside:
        beside.start_soon(_cancel_with_me, work, done)
        limiter = face.threads_for(name)
        outcome = await to_thread.run_sync(perform, face, name, arguments, caller, work, limiter=limiter)
        done.set()
    return outcome


async def _cancel_with_me(work: Work, done: anyio.Event) -> None:
    try:
        await done.wait()
    finally:
        work.cancel()


def _reporter(
    report: Callable[[float, float | None, str | None], Coroutine[Any, Any, None]],
) -> Callable[[int, int | None, str], None]:
    """Reports to the client from the worker thread, now and then and at the end."""
    last = float("-inf")

    def report_from_thread(done: int, total: int | None, message: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < REPORT_EVERY_S and done != total:
            return
        last = now
        try:
            from_thread.run(report, done, total, message)
        except (CancelledError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # nobody listens any more; if the request was cancelled, the next step ends the work

    return report_from_thread
