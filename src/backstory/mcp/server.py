"""The protocol's side of the face: tools listed, called in worker threads, told of and stopped.

The SDK carries messages and knows both protocol eras. Arguments, errors and what is noted of a call
are ours (`calls`), so the SDK never sees an exception of a tool, nor logs what a user wrote. Transports
are left to the process that serves.
"""

import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Final

import anyio
from anyio import from_thread, to_thread
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ConfigDict

import backstory
from backstory.engine import Work
from backstory.mcp.calls import Caller, Outcome, perform, unknown_tool
from backstory.mcp.face import Face
from backstory.mcp.instructions import INSTRUCTIONS
from backstory.mcp.schemas import lean_schema
from backstory.mcp.tool import Tool

#: Ten reports a second are as many as a person can follow, and each costs a hop between threads.
REPORT_EVERY_S: Final = 0.1

#: The list of tools changes only when the process is started anew.
_TOOLS_FRESH_MS: Final = 300_000


class _AnyArguments(ArgModelBase):
    """Takes every argument as it comes: they are checked by `calls`, which finds better words."""

    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        return {"arguments": dict(self.__pydantic_extra__ or {})}


def create_server(face: Face, instructions: str = INSTRUCTIONS) -> MCPServer:
    """A server that offers the tools of a face; it needs a transport to be reached.

    Logging must be set up before: the SDK adds a handler of its own to a root logger without any.
    """
    server = MCPServer(
        name="backstory",
        title="Backstory",
        description="Long-term memory for coding agents.",
        instructions=instructions,
        version=backstory.__version__,
        tools=[_sdk_tool(face, tool) for tool in face.tools.values()],
        cache_hints={"tools/list": CacheHint(ttl_ms=_TOOLS_FRESH_MS, scope="private")},
    )
    server.middleware.append(_Counter(face, server))
    return server


class _Counter:
    """Stands before the tools: shows the offered ones, and turns away who asks for one there is not.

    An unknown tool is an error of the protocol, where the SDK alone would give a tool's answer. Tools
    that were added to the server by others are left alone.
    """

    def __init__(self, face: Face, server: MCPServer) -> None:
        self._face = face
        self._server = server
        self._hidden = set(face.tools) - set(face.toolbox.offered)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "tools/call" and isinstance(name := (ctx.params or {}).get("name"), str):
            await self._check(name)
        result = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(result, dict):
            shown = [tool for tool in result["tools"] if tool["name"] not in self._hidden]
            return {**result, "tools": shown}
        return result

    async def _check(self, name: str) -> None:
        if name in self._face.tools or any(tool.name == name for tool in await self._server.list_tools()):
            return
        error = unknown_tool(name, self._face.tools)
        raise MCPError(INVALID_PARAMS, f"{error}; {error.hint}")


def _sdk_tool(face: Face, tool: Tool[Any, Any]) -> SdkTool:
    """The tool as the SDK keeps it, with our schemas in place of the ones it would make."""
    return SdkTool(
        fn=partial(_call, face, tool.name),
        name=tool.name,
        title=tool.title,
        description=tool.description,
        parameters=lean_schema(tool.arguments),
        fn_metadata=FuncMetadata(arg_model=_AnyArguments, output_schema=lean_schema(tool.answer)),
        is_async=True,
        context_kwarg="ctx",
        annotations=tool.annotations,
        meta={"anthropic/alwaysLoad": True} if tool.always_loaded else None,
    )


async def _call(
    face: Face, name: str, *, arguments: Mapping[str, object], ctx: Context[Any, Any]
) -> CallToolResult:
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
    return _result(outcome)


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


def _result(outcome: Outcome) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=outcome.text)],
        structured_content=outcome.structured,
        is_error=outcome.error is not None,
    )
