"""Conversations as resources: what is found at which address.

A resource is asked by its address as a tool is by its name, sees the projects that a tool would see, and
is checked, done and noted in the same way (`calls`). The protocol is left to `resource_methods`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from backstory.actions.conversations.browse import Wanted, browse, read_live
from backstory.actions.transcripts.read import read_conversation
from backstory.actions.transcripts.search import search_turns
from backstory.errors import InputError
from backstory.mcp import moments
from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments, names_of
from backstory.mcp.budget import written
from backstory.mcp.cursors import Cursor, page_at
from backstory.mcp.face import Face
from backstory.mcp.resource_answers import (
    ConversationLinked,
    ConversationOpened,
    ConversationsLinked,
    TurnsLinked,
)
from backstory.mcp.resource_fitting import fit_page
from backstory.mcp.tool import Request, Tool
from backstory.mcp.tools.parameters import PageCursor, ReadingProject
from backstory.mcp.tools.transcript_arguments import LISTED, SearchAsked, Since, Until, question
from backstory.mcp.transcript_fitting import fit_found, fitting
from backstory.mcp.uris import SCHEME, Address, write_address
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT

_MOST_TURNS: Final = 1_000_000

_Listed = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Conversations on a page.")]


class ListAsked(Arguments):
    """What conversations://list is asked."""

    interface_type: Annotated[
        str | None, Field(min_length=1, max_length=100, description="Only of this interface: codex, matrix.")
    ] = None
    since: Since = None
    until: Until = None
    project: ReadingProject = None
    limit: _Listed = LISTED
    cursor: PageCursor = None

    @property
    def wanted(self) -> Wanted:
        """The conversations that are asked for."""
        return Wanted(
            interface_type=self.interface_type,
            since=moments.since(self.since) if self.since else None,
            until=moments.until(self.until) if self.until else None,
        )


class RoomAsked(Arguments):
    """What conversations://room is asked."""

    room: Annotated[str, Field(alias="roomId", min_length=1, max_length=300, description="The chat room.")]
    project: ReadingProject = None
    limit: _Listed = LISTED
    cursor: PageCursor = None


class RecentAsked(Arguments):
    """What conversations://recent is asked."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many.")] = DEFAULT_LIMIT
    project: ReadingProject = None


class GetAsked(Arguments):
    """What conversations://get is asked."""

    id: Annotated[str, Field(min_length=1, max_length=300, description="Id of the conversation.")]
    offset: Annotated[int, Field(ge=0, le=_MOST_TURNS, description="Turns to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Turns on a page.")] = DEFAULT_LIMIT
    project: ReadingProject = None


def _list(request: Request, asked: ListAsked) -> ConversationsLinked:
    return _page(request, asked, asked.wanted, "list")


def _room(request: Request, asked: RoomAsked) -> ConversationsLinked:
    return _page(request, asked, Wanted(room=asked.room), "room", asked.room)


def _recent(request: Request, asked: RecentAsked) -> ConversationsLinked:
    found = browse(request.engine, request.scope(asked.project), Wanted(), limit=asked.limit)
    shown = fitting([ConversationLinked.linked(each, asked.project) for each in found.conversations])
    return ConversationsLinked(total=found.total, conversations=shown)


def _page(
    request: Request, asked: ListAsked | RoomAsked, wanted: Wanted, kind: str, name: str = ""
) -> ConversationsLinked:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = browse(request.engine, scope, wanted, limit=asked.limit, offset=page.offset)
    shown = fitting([ConversationLinked.linked(each, asked.project) for each in found.conversations])
    end = page.offset + len(shown)
    following = Cursor(end, page.moment).pack(asking) if end < found.total else None
    return ConversationsLinked(
        total=found.total, conversations=shown, next=_next(kind, name, asked, cursor=following)
    )


def _get(request: Request, asked: GetAsked) -> ConversationOpened:
    scope, place = request.scope(asked.project), {"offset": asked.offset, "limit": asked.limit}
    if live := read_live(request.engine, scope, asked.id, **place):
        page = ConversationOpened.live(live, asked.offset)
    else:
        page = ConversationOpened.kept(
            read_conversation(request.engine, scope, asked.id, **place), asked.offset
        )
    fitted = fit_page(page)
    following = _next("get", asked.id, asked, offset=fitted.next_offset)
    return fitted.model_copy(update={"next": following})


def _search(request: Request, asked: SearchAsked) -> TurnsLinked:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = fit_found(search_turns(request.engine, scope, asked.query(page)), page, asked.limit, asking)
    return TurnsLinked.of(found, asked.project, _next("search", "", asked, cursor=found.next_cursor))


def _next(kind: str, name: str, asked: Arguments, **place: object) -> str | None:
    """The address of the page that follows, if one does: all that was asked, at another place."""
    if None in place.values():
        return None
    given = asked.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"id", "room"})
    texts = {key: value if isinstance(value, str) else written(value) for key, value in given.items()}
    return write_address(kind, name, {**texts, **place})


def _body(answer: Answer) -> str:
    return written(answer.structured())


@dataclass(frozen=True, slots=True)
class Resource:
    """What is found at addresses of one kind. `variable` is what stands for the name in its template."""

    kind: str
    tool: Tool[Any, Any]
    variable: str = ""

    @property
    def template(self) -> str:
        """The addresses, as RFC 6570 writes them."""
        path = f"/{{{self.variable}}}" if self.variable else ""
        asked = [name for name in names_of(self.tool.arguments) if name != self.variable]
        return f"{SCHEME}{self.kind}{path}{{?{','.join(asked)}}}"


def _resource(
    kind: str,
    title: str,
    description: str,
    arguments: type[Arguments],
    function: Callable[[Request, Any], Answer],
    variable: str = "",
) -> Resource:
    tool: Tool[Any, Any] = Tool(
        name=f"{SCHEME}{kind}",
        title=title,
        description=description,
        toolsets=(),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=arguments,
        answer=Answer,
        function=function,
        render=_body,
    )
    return Resource(kind, tool, variable)


RESOURCES: Final[Mapping[str, Resource]] = {
    each.kind: each
    for each in (
        _resource("list", "Conversations", "All conversations, those held last first.", ListAsked, _list),
        _resource("recent", "Recent conversations", "The conversations held last.", RecentAsked, _recent),
        _resource("get", "A conversation", "One conversation, some turns at a time.", GetAsked, _get, "id"),
        _resource(
            "room",
            "A room's conversations",
            "The conversations held in one room.",
            RoomAsked,
            _room,
            "roomId",
        ),
        _resource("search", "Search conversations", "What was said about something.", SearchAsked, _search),
    )
}


def with_resources(face: Face) -> Face:
    """The same face, with resources in place of tools; each has the beginning of its addresses for a name."""
    return replace(face, tools={each.tool.name: each.tool for each in RESOURCES.values()})


def resource_at(address: Address) -> tuple[Resource, Mapping[str, object]]:
    """The resource at an address and what it is asked; raises `InputError` when there is none."""
    found = RESOURCES.get(address.kind)
    if found is None or (address.name and not found.variable):
        raise InputError(
            f"there is no resource at {write_address(address.kind, address.name)[:100]}",
            hint=f"there are {', '.join(each.template for each in RESOURCES.values())}",
        )
    return found, {**address.asked, **({found.variable: address.name} if found.variable else {})}
