"""What the tools of the toolset `memory` are asked, and what that means to the actions."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from backstory.actions.memory.bulk_add import MOST_AT_ONCE, Item
from backstory.mcp import moments
from backstory.mcp.arguments import Arguments
from backstory.mcp.cursors import Cursor
from backstory.mcp.tools.parameters import (
    MemoryIdText,
    MemoryTypeName,
    OnlyTypes,
    PageCursor,
    PlainValue,
    ReadingProject,
    WritingProject,
)
from backstory.model.graph import RelationshipType
from backstory.model.memory import (
    DEFAULT_IMPORTANCE,
    MAX_CONTENT_CHARS,
    MemoryChange,
    MemoryId,
    NewMemory,
    Relationship,
)
from backstory.model.project import Scope
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT, MemoryQuery


class Link(Arguments):
    """A link to another memory of the project."""

    type: Annotated[RelationshipType, Field(description="What this memory is to the other.")]
    to: Annotated[str, Field(min_length=1, max_length=100, description="Id of the other memory.")]

    def wish(self) -> Relationship:
        """The link that is asked for."""
        return Relationship(self.type, MemoryId(self.to))


class NewAsked(Arguments):
    """A memory that is to be kept."""

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
        dict[str, Any],
        Field(description="Fields of the type (backstory://schema/TYPE), other facts to filter by."),
    ] = Field(default_factory=dict)
    relationships: Annotated[
        list[Link], Field(max_length=100, description="Links to memories of the same project.")
    ] = Field(default_factory=list)
    importance: Annotated[float, Field(ge=0, le=1, description="0.5 is ordinary, 1 is vital.")] = (
        DEFAULT_IMPORTANCE
    )

    def new(self) -> NewMemory:
        """The memory that is asked for."""
        links = [link.wish() for link in self.relationships]
        return NewMemory(self.type, self.content, self.metadata, self.importance, links)


class AddAsked(NewAsked):
    """What memory_add takes."""

    project: WritingProject = None


class OneOfManyAsked(NewAsked):
    """A memory of those that memory_bulk_add takes."""

    ref: Annotated[
        str | None,
        Field(min_length=1, max_length=50, description='Name for links from this batch, as to: "#name".'),
    ] = None


class BulkAddAsked(Arguments):
    """What memory_bulk_add takes."""

    memories: Annotated[
        list[OneOfManyAsked],
        Field(min_length=1, max_length=MOST_AT_ONCE, description="As memory_add takes them."),
    ]
    project: WritingProject = None

    def items(self) -> list[Item]:
        """The memories that are asked for."""
        return [Item(each.new(), each.ref) for each in self.memories]


class UpdateAsked(Arguments):
    """What memory_update takes."""

    id: MemoryIdText
    content: Annotated[
        str | None,
        Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="New text, in place of the old one."),
    ] = None
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Entries to set; null removes one, the others stay.")
    ] = None
    relationships: Annotated[list[Link], Field(max_length=100, description="Links to add.")] = Field(
        default_factory=list
    )
    importance: Annotated[float | None, Field(ge=0, le=1, description="0.5 is ordinary, 1 is vital.")] = None
    expected_version: Annotated[
        int | None,
        Field(ge=1, le=1_000_000_000, description="Change only this version; refused if it is another."),
    ] = None
    project: WritingProject = None

    def change(self) -> MemoryChange:
        """The change that is asked for."""
        links = [link.wish() for link in self.relationships]
        return MemoryChange(self.content, self.metadata, self.importance, links)


class HistoryAsked(Arguments):
    """What memory_history takes."""

    id: MemoryIdText
    project: ReadingProject = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Steps on a page.")] = DEFAULT_LIMIT
    cursor: PageCursor = None

    def question(self, scope: Scope) -> Mapping[str, object]:
        """What a cursor belongs to."""
        return {"history": self.id, "scope": str(scope)}


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
    types: OnlyTypes = Field(default_factory=list)
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
        """The search that is asked for. A later page is a part of what there was at the time of the first."""
        session = {"session_id": self.session_id} if self.session_id else {}
        return MemoryQuery(
            text=self.query_text,
            types=self.types,
            since=moments.since(self.since) if self.since else None,
            until=moments.until(self.until) if self.until else None,
            metadata={**self.metadata, **session},
            limit=self.limit,
            offset=page.offset,
            ranking=page.ranking,
            asked_at=page.moment,
        )


class DeleteAsked(Arguments):
    """What memory_delete takes."""

    id: MemoryIdText
    project: WritingProject = None
