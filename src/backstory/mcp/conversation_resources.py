"""Conversations as resources: lists of them, one of them, and what was said about something."""

from typing import Annotated, Final

from pydantic import Field

from backstory.actions.conversations.browse import Wanted, browse, read_live
from backstory.actions.transcripts.read import read_conversation
from backstory.actions.transcripts.search import search_turns
from backstory.mcp import moments
from backstory.mcp.arguments import Arguments
from backstory.mcp.budget import fitting, written
from backstory.mcp.cursors import Cursor, page_at
from backstory.mcp.resource import resource
from backstory.mcp.resource_answers import (
    ConversationLinked,
    ConversationOpened,
    ConversationsLinked,
    TurnsLinked,
)
from backstory.mcp.resource_fitting import fit_page
from backstory.mcp.tool import Request
from backstory.mcp.tools.parameters import PageCursor, ReadingProject
from backstory.mcp.tools.transcript_arguments import LISTED, SearchAsked, Since, Until, question
from backstory.mcp.transcript_fitting import fit_found
from backstory.mcp.uris import CONVERSATIONS, GET, ROOM, write_address
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT

LIST: Final = f"{CONVERSATIONS}list"
RECENT: Final = f"{CONVERSATIONS}recent"
SEARCH: Final = f"{CONVERSATIONS}search"

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
    return _page(request, asked, asked.wanted, LIST)


def _room(request: Request, asked: RoomAsked) -> ConversationsLinked:
    return _page(request, asked, Wanted(room=asked.room), ROOM, asked.room)


def _recent(request: Request, asked: RecentAsked) -> ConversationsLinked:
    found = browse(request.engine, request.scope(asked.project), Wanted(), limit=asked.limit)
    shown = fitting([ConversationLinked.linked(each, asked.project) for each in found.conversations])
    return ConversationsLinked(total=found.total, conversations=shown)


def _page(
    request: Request, asked: ListAsked | RoomAsked, wanted: Wanted, place: str, name: str = ""
) -> ConversationsLinked:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = browse(request.engine, scope, wanted, limit=asked.limit, offset=page.offset)
    shown = fitting([ConversationLinked.linked(each, asked.project) for each in found.conversations])
    end = page.offset + len(shown)
    following = Cursor(end, page.moment).pack(asking) if end < found.total else None
    return ConversationsLinked(
        total=found.total, conversations=shown, next=_next(place, name, asked, cursor=following)
    )


def _get(request: Request, asked: GetAsked) -> ConversationOpened:
    scope, window = request.scope(asked.project), {"offset": asked.offset, "limit": asked.limit}
    if live := read_live(request.engine, scope, asked.id, **window):
        page = ConversationOpened.live(live, asked.offset)
    else:
        page = ConversationOpened.kept(
            read_conversation(request.engine, scope, asked.id, **window), asked.offset
        )
    fitted = fit_page(page)
    following = _next(GET, asked.id, asked, offset=fitted.next_offset)
    return fitted.model_copy(update={"next": following})


def _search(request: Request, asked: SearchAsked) -> TurnsLinked:
    scope = request.scope(asked.project)
    asking = question(asked, scope)
    page = page_at(asked.cursor, asking)
    found = fit_found(search_turns(request.engine, scope, asked.query(page)), page, asked.limit, asking)
    return TurnsLinked.of(found, asked.project, _next(SEARCH, "", asked, cursor=found.next_cursor))


def _next(place: str, name: str, asked: Arguments, **where: object) -> str | None:
    """The address of the page that follows, if one does: all that was asked, at another place."""
    if None in where.values():
        return None
    given = asked.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"id", "room"})
    texts = {key: value if isinstance(value, str) else written(value) for key, value in given.items()}
    return write_address(place, name, {**texts, **where})


RESOURCES: Final = (
    resource(LIST, "Conversations", "All conversations, those held last first.", ListAsked, _list),
    resource(RECENT, "Recent conversations", "The conversations held last.", RecentAsked, _recent),
    resource(GET, "A conversation", "One conversation, some turns at a time.", GetAsked, _get, "id"),
    resource(
        ROOM, "A room's conversations", "The conversations held in one room.", RoomAsked, _room, "roomId"
    ),
    resource(SEARCH, "Search conversations", "What was said about something.", SearchAsked, _search),
)
