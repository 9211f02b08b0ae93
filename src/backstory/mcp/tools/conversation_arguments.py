"""What the tools of the toolset `conversations` are asked, and what that means to the actions."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from backstory.actions.conversations.accepting import MAX_NAME_CHARS, MAX_TITLE_CHARS
from backstory.actions.conversations.add_turn import Said
from backstory.actions.conversations.create import Wanted
from backstory.mcp.arguments import Arguments
from backstory.mcp.conversation_formats import Format
from backstory.mcp.tools.parameters import ReadingProject, WritingProject
from backstory.mcp.tools.transcript_arguments import SessionId, TurnMetadata, UserId
from backstory.model.context import ContextQuery

#: What may be asked for at once. The rest of the longest answer is for what stands around the turns.
MOST_WANTED: Final = 40_000

_LEAST_WANTED: Final = 100
_MOST_CHARS: Final = 1_000_000
_LONGEST_ID: Final = 300
#: What turns are looked for by: as much as a search takes. A longer text begins with what it is about.
_LONGEST_QUERY: Final = 4_000

Budget = Annotated[
    int | None,
    Field(ge=_LEAST_WANTED, le=MOST_WANTED, description="Tokens at most. Default: 2000, or as configured."),
]
Facts = Annotated[dict[str, Any], Field(description="Whatever belongs to it.")]
Title = Annotated[str | None, Field(max_length=MAX_TITLE_CHARS, description="What it is called.")]

#: The classes of questions, and the numbers of the settings.
StrategyName = Literal[
    "just_now",
    "continuation",
    "new_topic",
    "clarification",
    "quick_lookup",
    "history",
    "default",
    "fixed",
]


class CreateAsked(Arguments):
    """What create_conversation takes."""

    interface_type: Annotated[
        str,
        Field(min_length=1, max_length=100, description="Where it is held: cli, matrix, discord or else."),
    ]
    room_id: Annotated[
        str, Field(min_length=1, max_length=_LONGEST_ID, description="Room, channel or session there.")
    ]
    title: Title = None
    metadata: Facts = Field(default_factory=dict)
    project: WritingProject = None

    def wanted(self) -> Wanted:
        """The conversation that is asked for."""
        return Wanted(
            interface_type=self.interface_type,
            room=self.room_id,
            title=self.title or "",
            metadata=self.metadata,
        )


class AddTurnAsked(Arguments):
    """What add_turn takes."""

    conversation_id: SessionId
    query: Annotated[str, Field(min_length=1, max_length=_MOST_CHARS, description="What the user said.")]
    response: Annotated[
        str | None, Field(max_length=_MOST_CHARS, description="What the assistant answered.")
    ] = None
    user_id: Annotated[
        str | None, Field(max_length=_LONGEST_ID, description="Who said it, to filter by.")
    ] = None
    user_name: Annotated[
        str | None, Field(max_length=MAX_NAME_CHARS, description="Who said it, to be shown.")
    ] = None
    parent_turn_id: Annotated[
        str | None, Field(min_length=1, max_length=100, description="turn_id of the turn that it answers.")
    ] = None
    metadata: Facts = Field(default_factory=dict)
    project: WritingProject = None

    def said(self) -> Said:
        """The turn that is to be kept."""
        return Said(
            query=self.query,
            response=self.response or "",
            user_id=self.user_id or "",
            user_name=self.user_name or "",
            parent=self.parent_turn_id or "",
            metadata=self.metadata,
        )


class SummarizeAsked(Arguments):
    """What summarize_conversation takes."""

    conversation_id: SessionId
    project: WritingProject = None


class HistoryAsked(Arguments):
    """What get_conversation_history takes."""

    conversation_id: SessionId
    format: Annotated[Format, Field(description="How it is written.")] = Format.TEXT
    max_tokens: Budget = None
    project: ReadingProject = None


class ContextAsked(Arguments):
    """What get_context takes."""

    conversation_id: SessionId
    query: Annotated[
        str, Field(min_length=1, max_length=_MOST_CHARS, description="What is said or asked now.")
    ]
    strategy: Annotated[
        StrategyName | None, Field(description="Kind of query. Default: told from the query.")
    ] = None
    max_tokens: Budget = None
    min_score: Annotated[
        float | None, Field(ge=0, le=1, description="Relevance that a found turn needs.")
    ] = None
    user_id: UserId = None
    room_id: Annotated[
        str | None, Field(min_length=1, max_length=_LONGEST_ID, description="Only of this chat room.")
    ] = None
    thread_id: Annotated[
        str | None, Field(min_length=1, max_length=100, description="Only the thread of this turn.")
    ] = None
    metadata: TurnMetadata = Field(default_factory=dict)
    everywhere: Annotated[
        bool, Field(description="Find turns in all conversations of the project, not this one alone.")
    ] = False
    project: ReadingProject = None

    def wanted(self) -> ContextQuery:
        """The context that is asked for."""
        return ContextQuery(
            text=self.query[:_LONGEST_QUERY],
            strategy=self.strategy,
            user_id=self.user_id,
            room=self.room_id,
            thread=self.thread_id,
            metadata=self.metadata,
            min_score=self.min_score,
            max_tokens=self.max_tokens,
            everywhere=self.everywhere,
        )


class UpdateAsked(Arguments):
    """What update_conversation takes."""

    conversation_id: SessionId
    title: Title = None
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Added to what there is; null removes a key.")
    ] = None
    project: WritingProject = None


class DeleteAsked(Arguments):
    """What delete_conversation takes."""

    conversation_id: SessionId
    project: WritingProject = None
