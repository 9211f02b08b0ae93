"""The protocol's side of resources: listed, described and read, each read in a worker thread.

What others added to the server (`server.resource`) is left alone. Subscriptions are in `subscriptions`.
"""

from collections.abc import Mapping
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.extension import RequestHandler
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    Annotations,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from backstory.errors import BackstoryError, InputError
from backstory.mcp.calls import Outcome
from backstory.mcp.conversation_resources import LIST, RECENT
from backstory.mcp.face import Face
from backstory.mcp.memory_resources import SCHEMA, WORKING
from backstory.mcp.resources import RESOURCES, resource_at, with_resources
from backstory.mcp.uris import SCHEMES, read_address
from backstory.mcp.working import perform_beside

_MIME_TYPE: Final = "application/json"

#: What can be read without knowing anything.
_ENTRANCES: Final = (LIST, RECENT, SCHEMA, WORKING)

_Asked = ServerRequestContext[Any, Any]


class ResourceMethods:
    """Answers what a client asks about resources. `others` reads those that are not ours."""

    def __init__(self, face: Face, server: MCPServer[Any], others: RequestHandler) -> None:
        self._face = with_resources(face)
        self._server = server
        self._others = others

    async def list_resources(self, ctx: _Asked, params: PaginatedRequestParams) -> ListResourcesResult:
        """A page of what can be read: on the first the entrances, then the caller's conversations."""
        asked = {} if params.cursor is None else {"cursor": params.cursor}
        outcome = await self._perform(LIST, asked, ctx)
        page: Mapping[str, Any] = outcome.structured or {}
        first = [] if params.cursor else [*map(_entrance, _ENTRANCES), *await self._server.list_resources()]
        following = page.get("next")
        return ListResourcesResult(
            resources=[*first, *map(_listed, page["conversations"])],
            next_cursor=read_address(following).asked["cursor"] if following else None,
        )

    async def list_templates(
        self, _ctx: _Asked, _params: PaginatedRequestParams
    ) -> ListResourceTemplatesResult:
        """How addresses are made."""
        ours = [
            ResourceTemplate(
                uri_template=each.template,
                name=_name(each.place),
                title=each.tool.title,
                description=each.tool.description,
                mime_type=_MIME_TYPE,
            )
            for each in RESOURCES.values()
        ]
        return ListResourceTemplatesResult(
            resource_templates=[*ours, *await self._server.list_resource_templates()]
        )

    async def read(self, ctx: _Asked, params: ReadResourceRequestParams) -> HandlerResult:
        """What is found at an address."""
        if not params.uri.startswith(SCHEMES):
            return await self._others(ctx, params)
        try:
            found, asked = resource_at(read_address(params.uri))
        except InputError as error:
            raise refused(error, params.uri) from error
        outcome = await self._perform(found.place, asked, ctx, params.uri)
        contents = TextResourceContents(uri=params.uri, mime_type=_MIME_TYPE, text=outcome.text)
        return ReadResourceResult(contents=[contents])

    async def _perform(
        self, place: str, asked: Mapping[str, object], ctx: _Asked, uri: str | None = None
    ) -> Outcome:
        outcome = await perform_beside(self._face, place, asked, Context(request_context=ctx))
        if outcome.error:
            raise refused(outcome.error, uri)
        return outcome


def refused(error: BackstoryError, uri: str | None = None) -> MCPError:
    """An error as the protocol has it: the client's own mistakes are told apart from ours."""
    code = INVALID_PARAMS if isinstance(error, InputError) else INTERNAL_ERROR
    text = f"{error}; {error.hint}" if error.hint else str(error)
    return MCPError(code, text, {"uri": uri} if uri else None)


def _entrance(place: str) -> Resource:
    tool = RESOURCES[place].tool
    return Resource(
        uri=place,
        name=_name(place),
        title=tool.title,
        description=tool.description,
        mime_type=_MIME_TYPE,
    )


def _name(place: str) -> str:
    return place.partition("://")[2]


def _listed(conversation: Mapping[str, Any]) -> Resource:
    last = conversation.get("last_timestamp")
    return Resource(
        uri=conversation["uri"],
        name=conversation["session_id"],
        title=conversation.get("title"),
        description=f"{conversation['interface_type']}, {conversation['turn_count']} turns",
        mime_type=_MIME_TYPE,
        annotations=Annotations(last_modified=last) if last else None,
    )
