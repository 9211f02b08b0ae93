"""Live conversations: what agents and bots write while it is said, and how much of it is kept at hand.

How they are stored is left to the engines behind `ConversationStorage`; how turns are chosen for a
context, to the ranking room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.summary import Summary

#: What metadata is made of: a JSON object of whatever the writer likes.
Metadata = Mapping[str, object]

#: Turns that one call may give back; who wants more asks again.
MOST_TURNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation to be begun. Its id is given, so that beginning it twice is beginning it once."""

    id: str
    project: Project
    interface_type: str  # "cli", "matrix", "discord": whatever the writer calls it
    room: str
    created_at: datetime
    title: str = ""
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveConversation:
    """A conversation as it stands. A project has one for each room of an interface that is not deleted.

    `summaries` are as many as were asked for, oldest first. Together, those that there are leave out no
    turn from the first to `summarized_to`, and overlap nowhere.
    """

    id: str
    project: Project
    interface_type: str
    room: str
    created_at: datetime
    updated_at: datetime  # of the last turn or change
    title: str = ""
    metadata: Metadata = field(default_factory=dict)
    deleted_at: datetime | None = None
    turns: int = 0
    summarized_to: int = 0  # the number of the last turn that a summary holds
    summaries: Sequence[Summary] = ()


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to be appended. Its id is given, so that appending it twice is appending it once."""

    id: str
    query: str
    response: str
    at: datetime
    user_id: str = ""
    user_name: str = ""
    parent: str = ""  # the id of the turn that it answers, in the same conversation
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """A turn as it was kept; it never changes. `thread` is the first turn up its line of parents."""

    id: str
    conversation: str
    number: int  # from 1, without gaps
    query: str
    response: str
    at: datetime
    user_id: str = ""
    user_name: str = ""
    parent: str = ""
    thread: str = ""  # its own id, if it has no parent
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Which turns are wanted: between two numbers, both included, or by id; the newest of them, if too many.

    They come in the order of their numbers.
    """

    first: int = 1
    last: int | None = None
    ids: Sequence[str] | None = None
    newest: int = MOST_TURNS


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """What becomes different. None leaves a thing as it is; a metadata key set to None is removed."""

    at: datetime
    title: str | None = None
    metadata: Metadata | None = None
    deleted: bool | None = None


@dataclass(frozen=True, slots=True)
class ConversationCriteria:
    """Which conversations are wanted, in the order of their ids; all conditions hold together."""

    scope: Scope = ALL_PROJECTS
    interface_type: str | None = None
    room: str | None = None
    since: datetime | None = None  # updated at or after
    until: datetime | None = None  # updated at or before
    metadata: Metadata = field(default_factory=dict)  # these keys have these values
    deleted: bool | None = False  # None: whether deleted or not
    unsummarized_over: int | None = None  # more turns than this have no summary
    after: str = ""  # only ids that come after this one
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Some conversations without their summaries, and whether more follow."""

    conversations: Sequence[LiveConversation]
    more: bool = False


@dataclass(frozen=True, slots=True)
class TierLimits:
    """How much of a conversation is at hand: turns as they were said, summaries of older ones, an archive."""

    active_turns: int = 10
    summaries: int = 3
    summary_turns: int = 5
    archived_turns: int = 50
    max_tokens: int = 2_000
    decay: float = 0.9

    @property
    def summary_tokens(self) -> int:
        """What one summary may take: so much that all that are shown leave two thirds for what was said."""
        return max(self.max_tokens // (3 * max(self.summaries, 1)), 40)


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """What goes into a context when the numbers are fixed by settings, and how well it has to match."""

    recent: int = 20
    semantic: int = 10
    threshold: float = 0.7
    window: timedelta = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Switches:
    """What somebody may turn off while the process runs."""

    vector_writes: bool = True
    semantic_search: bool = True


@dataclass(frozen=True, slots=True)
class TieredHistory:
    """A conversation by tiers, each oldest first. `left_out` counts what did not fit, by tier."""

    conversation: LiveConversation
    archive: Sequence[LiveTurn] = ()
    summaries: Sequence[Summary] = ()
    active: Sequence[LiveTurn] = ()
    tokens: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationNews:
    """That a conversation changed: it has new turns, or another title; `is_listed_anew`: it came or went."""

    conversation: str
    room: str = ""
    is_listed_anew: bool = False
