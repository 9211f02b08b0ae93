"""The protocol's side of the face, put together: tools, resources, and who is told of changes.

The SDK carries messages and knows both protocol eras. Arguments, errors and what is noted of a call
are ours (`calls`, in threads by `working`), so the SDK never sees an exception of a tool, nor logs what a
user wrote. Transports are left to the process that serves.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.subscriptions import InMemorySubscriptionBus, SubscriptionBus
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import ConfigDict

import backstory
from backstory.mcp.calls import Outcome, unknown_tool
from backstory.mcp.face import Face
from backstory.mcp.instructions import INSTRUCTIONS
from backstory.mcp.resource_methods import ResourceMethods
from backstory.mcp.schemas import lean_schema
from backstory.mcp.subscriptions import Subscriptions
from backstory.mcp.tool import Tool
from backstory.mcp.working import perform_beside

#: The list of tools changes only when the process is started anew.
_TOOLS_FRESH_MS: Final = 300_000


class _AnyArguments(ArgModelBase):
    """Takes every argument as it comes: they are checked by `calls`, which finds better words."""

    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        return {"arguments": dict(self.__pydantic_extra__ or {})}


def create_server(face: Face, instructions: str = INSTRUCTIONS) -> MCPServer[Any]:
    """A server that offers the tools of a face, and conversations; it needs a transport to be reached.

    Logging must be set up before: the SDK adds a handler of its own to a root logger without any.
    """
    bus = InMemorySubscriptionBus()
    server = MCPServer(
        name="backstory",
        title="Backstory",
        description="Long-term memory for coding agents.",
        instructions=instructions,
        version=backstory.__version__,
        tools=[_sdk_tool(face, tool) for tool in face.tools.values()],
        cache_hints={"tools/list": CacheHint(ttl_ms=_TOOLS_FRESH_MS, scope="private")},
        subscriptions=bus,
        lifespan=_tasks,
    )
    server.middleware.append(_Counter(face, server))
    _answer_about_resources(server, face, bus)
    return server


@asynccontextmanager
async def _tasks(_: MCPServer[TaskGroup]) -> AsyncIterator[TaskGroup]:
    """Where tasks run that last as long as a session does."""
    async with anyio.create_task_group() as group:
        yield group
        group.cancel_scope.cancel()


def _answer_about_resources(server: MCPServer[Any], face: Face, bus: SubscriptionBus) -> None:
    # MCPServer takes resources that are functions of their own arguments, and has no place for subscriptions
    # of the older era. The SDK's advice is to register such methods with the server beneath it.
    protocol = server._lowlevel_server  # noqa: SLF001
    others = protocol.get_request_handler("resources/read")
    if others is None:
        raise LookupError("the SDK does not read resources any more")
    resources = ResourceMethods(face, server, others.handler)
    protocol.add_request_handler("resources/list", PaginatedRequestParams, resources.list_resources)
    protocol.add_request_handler("resources/templates/list", PaginatedRequestParams, resources.list_templates)
    protocol.add_request_handler("resources/read", ReadResourceRequestParams, resources.read)
    news = Subscriptions(face.engine.changes, bus)
    protocol.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, news.listen)
    protocol.add_request_handler("resources/subscribe", SubscribeRequestParams, news.subscribe)
    protocol.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, news.unsubscribe)
    protocol.add_notification_handler("notifications/initialized", NotificationParams, news.greet)


class _Counter:
    """Stands before the tools: shows the offered ones, and turns away who asks for one there is not.

    An unknown tool is an error of the protocol, where the SDK alone would give a tool's answer. Tools
    that were added to the server by others are left alone. A session of the older era learns here that it
    will hear when the list of resources changes, which the SDK does not say.
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
        if ctx.method == "initialize" and isinstance(result, dict):
            return _with_list_changes(result)
        return result

    async def _check(self, name: str) -> None:
        if name in self._face.tools or any(tool.name == name for tool in await self._server.list_tools()):
            return
        error = unknown_tool(name, self._face.tools)
        raise MCPError(INVALID_PARAMS, f"{error}; {error.hint}")


def _with_list_changes(result: Mapping[str, Any]) -> dict[str, Any]:
    able = result["capabilities"]
    return {**result, "capabilities": {**able, "resources": {**able["resources"], "listChanged": True}}}


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
    return _result(await perform_beside(face, name, arguments, ctx))


def _result(outcome: Outcome) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=outcome.text)],
        structured_content=outcome.structured,
        is_error=outcome.error is not None,
    )
