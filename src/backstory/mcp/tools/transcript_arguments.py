"""What the tools of the toolset `transcripts` are asked, and what that means to the actions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from backstory.mcp import moments
from backstory.mcp.arguments import Arguments
from backstory.mcp.cursors import Cursor
from backstory.mcp.tools.parameters import AnyProject, PageCursor, PlainValue, ReadingProject
from backstory.model.conversation import Role
from backstory.model.project import Scope
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT, TurnQuery

#: Of `list_conversations`: one line each.
LISTED: Final = 50
#: Of `conversation_recall`: each hit comes with the turns around it.
RECALLED: Final = 5
#: Of `conversation_timeline`: a week.
DAYS: Final = 7

_MOST_TOPICS: Final = 10
_MOST_DAYS: Final = 3_650
_MOST_FILES: Final = 1_000_000
_MOST_TURNS: Final = 1_000_000
_MOST_CHARS: Final = 1_000_000_000

Query = Annotated[
    str,
    Field(alias="query", min_length=1, max_length=4000, description="A question, words or code to look for."),
]
SessionId = Annotated[str, Field(min_length=1, max_length=300, description="Id of the conversation.")]
Hits = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Hits on a page.")]
Since = Annotated[
    str | None,
    Field(alias="from", max_length=40, description="Said at or after: ISO time or date, UTC if no zone."),
]
Until = Annotated[
    str | None, Field(alias="to", max_length=40, description="Said at or before; a date includes its day.")
]


UserId = Annotated[str | None, Field(min_length=1, max_length=300, description="Only turns of this user.")]
ThreadId = Annotated[
    str | None, Field(min_length=1, max_length=100, description="Only the thread that began with this turn.")
]
TurnMetadata = Annotated[
    dict[str, PlainValue], Field(description="Only turns whose metadata has exactly these values.")
]


class SearchAsked(Arguments):
    """What search_conversations takes."""

    query_text: Query
    session_id: Annotated[
        str | None, Field(min_length=1, max_length=300, description="Only this conversation.")
    ] = None
    role: Annotated[Role | None, Field(description="Only what this side said.")] = None
    since: Since = None
    until: Until = None
    interface_type: Annotated[
        str | None,
        Field(min_length=1, max_length=100, description="Only of this kind: claude-code, codex, matrix."),
    ] = None
    room_id: Annotated[
        str | None, Field(min_length=1, max_length=300, description="Only of this chat room.")
    ] = None
    user_id: UserId = None
    thread_id: ThreadId = None
    metadata: TurnMetadata = Field(default_factory=dict)
    project: AnyProject = None
    limit: Hits = DEFAULT_LIMIT
    cursor: PageCursor = None

    def query(self, page: Cursor) -> TurnQuery:
        """The search that is asked for."""
        return TurnQuery(
            text=self.query_text,
            conversation=self.session_id,
            role=self.role,
            interface_type=self.interface_type,
            room=self.room_id,
            user=self.user_id,
            thread=self.thread_id,
            metadata=self.metadata,
            since=_since(self.since),
            until=_until(self.until, page),
            limit=self.limit,
            offset=page.offset,
            asked_at=page.moment,
        )


class ListAsked(Arguments):
    """What list_conversations takes."""

    project: AnyProject = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Conversations on a page.")] = LISTED
    cursor: PageCursor = None


class TurnAsked(Arguments):
    """What read_turn takes."""

    session_id: SessionId
    turn_number: Annotated[int, Field(ge=1, le=_MOST_TURNS, description="From 1, as in a hit.")]
    offset: Annotated[
        int,
        Field(ge=0, le=_MOST_CHARS, description="Where to begin: next_offset of the last answer."),
    ] = 0
    project: AnyProject = None


class ConversationAsked(Arguments):
    """What read_conversation takes."""

    session_id: SessionId
    offset: Annotated[int, Field(ge=0, le=_MOST_TURNS, description="Turns to skip.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Turns on a page.")] = DEFAULT_LIMIT
    project: AnyProject = None


class IndexAsked(Arguments):
    """What conversation_index takes."""

    recent_only: Annotated[bool, Field(description="Only files changed in the last 7 days.")] = False
    limit: Annotated[
        int | None, Field(ge=1, le=_MOST_FILES, description="Only so many files, the last changed first.")
    ] = None
    project: ReadingProject = None


class RecallAsked(Arguments):
    """What conversation_recall takes."""

    query_text: Query
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many hits.")] = RECALLED
    include_graph: Annotated[
        bool, Field(description="With the files that were touched, and who else touched them.")
    ] = True
    project: ReadingProject = None

    def query(self, now: datetime) -> TurnQuery:
        """The search that is asked for."""
        return TurnQuery(text=self.query_text, limit=self.limit, asked_at=now)


class DateRange(Arguments):
    """A stretch of time."""

    since: Since = None
    until: Until = None


class TopicsAsked(Arguments):
    """What conversation_search takes."""

    topics: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=1000)]],
        Field(min_length=1, max_length=_MOST_TOPICS, description="What to look for, each by itself."),
    ]
    date_range: Annotated[DateRange, Field(description="When it was said.")] = Field(
        default_factory=DateRange
    )
    project: ReadingProject = None
    limit: Hits = DEFAULT_LIMIT
    cursor: PageCursor = None

    def query(self, page: Cursor) -> TurnQuery:
        """What holds for every topic; its text is that of all of them."""
        return TurnQuery(
            text="\n".join(self.topics),
            since=_since(self.date_range.since),
            until=_until(self.date_range.until, page),
            limit=self.limit,
            offset=page.offset,
            asked_at=page.moment,
        )


class StatsAsked(Arguments):
    """What conversation_stats takes."""

    project: ReadingProject = None


class ExportAsked(Arguments):
    """What conversation_export takes."""

    conversation_id: Annotated[
        str | None, Field(min_length=1, max_length=300, description="One conversation. Default: all.")
    ] = None
    format: Annotated[Literal["json", "markdown"], Field(description="How it is written.")] = "json"
    project: ReadingProject = None
    cursor: PageCursor = None


class TimelineAsked(Arguments):
    """What conversation_timeline takes."""

    days: Annotated[int, Field(ge=1, le=_MOST_DAYS, description="How many days back.")] = DAYS
    project: ReadingProject = None


def question(asked: Arguments, scope: Scope) -> Mapping[str, object]:
    """What a cursor belongs to: all that was asked but the place and the size of the page."""
    return {"scope": str(scope), **asked.model_dump(exclude={"project", "limit", "cursor"})}


def _since(text: str | None) -> datetime | None:
    return moments.since(text) if text else None


def _until(text: str | None, page: Cursor) -> datetime | None:
    """A later page sees what had been said at the time of the first."""
    until = moments.until(text) if text else None
    if page.offset:
        return min(until, page.moment) if until else page.moment
    return until
