"""What the tools of the toolset `memory` are asked, and what that means to the actions."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from backstory.mcp import moments
from backstory.mcp.arguments import Arguments
from backstory.mcp.cursors import Cursor
from backstory.mcp.tools.parameters import (
    MemoryIdText,
    MemoryTypeName,
    PageCursor,
    PlainValue,
    ReadingProject,
    WritingProject,
)
from backstory.model.graph import RelationshipType
from backstory.model.memory import DEFAULT_IMPORTANCE, MAX_CONTENT_CHARS, MemoryId, NewMemory, Relationship
from backstory.model.project import Scope
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT, MemoryQuery


class Link(Arguments):
    """A link to another memory of the project."""

    type: Annotated[RelationshipType, Field(description="What this memory is to the other.")]
    to: Annotated[str, Field(min_length=1, max_length=100, description="Id of the other memory.")]


class AddAsked(Arguments):
    """What memory_add takes."""

    type: Annotated[MemoryTypeName, Field(description="What the memory is about; see backstory_help.")]
    content: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_CONTENT_CHARS,
            description="What to remember, understandable without this conversation.",
        ),
    ]
    metadata: Annotated[
        dict[str, Any], Field(description="Facts to filter by, such as title, file_path, session_id.")
    ] = Field(default_factory=dict)
    relationships: Annotated[
        list[Link], Field(max_length=100, description="Links to memories of the same project.")
    ] = Field(default_factory=list)
    importance: Annotated[float, Field(ge=0, le=1, description="0.5 is ordinary, 1 is vital.")] = (
        DEFAULT_IMPORTANCE
    )
    project: WritingProject = None

    def new(self) -> NewMemory:
        """The memory that is asked for."""
        links = [Relationship(link.type, MemoryId(link.to)) for link in self.relationships]
        return NewMemory(self.type, self.content, self.metadata, self.importance, links)


class GetAsked(Arguments):
    """What memory_get takes."""

    id: MemoryIdText
    offset: Annotated[
        int,
        Field(
            ge=0, le=MAX_CONTENT_CHARS, description="Character to begin at: next_offset of the last answer."
        ),
    ] = 0
    project: ReadingProject = None


class SearchAsked(Arguments):
    """What memory_search takes."""

    query_text: Annotated[
        str,
        Field(
            alias="query", min_length=1, max_length=4000, description="A question, words or code to look for."
        ),
    ]
    types: Annotated[list[MemoryTypeName], Field(max_length=8, description="Only these types.")] = Field(
        default_factory=list
    )
    session_id: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Only memories of this session.")
    ] = None
    since: Annotated[
        str | None,
        Field(
            alias="from", max_length=40, description="Created at or after: ISO time or date, UTC if no zone."
        ),
    ] = None
    until: Annotated[
        str | None,
        Field(alias="to", max_length=40, description="Created at or before; a date includes its day."),
    ] = None
    metadata: Annotated[
        dict[str, PlainValue], Field(description="Only memories whose metadata has exactly these values.")
    ] = Field(default_factory=dict)
    project: ReadingProject = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Hits on a page.")] = DEFAULT_LIMIT
    cursor: PageCursor = None

    def question(self, scope: Scope) -> Mapping[str, object]:
        """What a cursor belongs to: all that was asked but the place and the size of the page."""
        return {"scope": str(scope), **self.model_dump(exclude={"project", "limit", "cursor"})}

    def query(self, page: Cursor) -> MemoryQuery:
        """The search that is asked for. A later page sees what there was at the time of the first."""
        until = moments.until(self.until) if self.until else None
        if page.offset:
            until = min(until, page.moment) if until else page.moment
        session = {"session_id": self.session_id} if self.session_id else {}
        return MemoryQuery(
            text=self.query_text,
            types=self.types,
            since=moments.since(self.since) if self.since else None,
            until=until,
            metadata={**self.metadata, **session},
            limit=self.limit,
            offset=page.offset,
        )


class DeleteAsked(Arguments):
    """What memory_delete takes."""

    id: MemoryIdText
    project: WritingProject = None
