"""What a model is given to read before it answers: what was asked for, what was chosen, and from where.

How the parts are chosen is left to the ranking room; where they come from, to the actions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from backstory.model.live import LiveTurn
from backstory.model.summary import Summary


class Source(StrEnum):
    """Why something is in a context."""

    RECENT = "recent"  # it is among the newest turns
    THREAD = "thread"  # the newest turn answers it, directly or by way of others
    SEMANTIC = "semantic"  # it was found by meaning and words
    SUMMARY = "summary"  # it sums up turns that are too old to be shown


@dataclass(frozen=True, slots=True)
class ContextQuery:
    """What a context is wanted for. Every turn of it meets the filters.

    `strategy` is a class of questions, or "fixed" for the numbers of the settings; None leaves the choice to
    the text. `thread` is any turn of a thread. With `everywhere`, turns are found in all that the scope
    holds, transcripts too, and otherwise in the conversation alone.
    """

    text: str
    strategy: str | None = None
    user_id: str | None = None
    room: str | None = None
    thread: str | None = None
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    min_score: float | None = None  # the relevance that a found turn needs; None for that of the settings
    max_tokens: int | None = None  # None for those of the settings
    everywhere: bool = False
    asked_at: datetime | None = None  # None for now


@dataclass(frozen=True, slots=True)
class ContextTurn:
    """A turn as a context shows it; one of a transcript has no id, no user and no thread."""

    conversation: str
    number: int
    query: str
    response: str
    at: datetime | None = None
    id: str = ""
    user_id: str = ""
    user_name: str = ""
    parent: str = ""
    thread: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, turn: LiveTurn) -> "ContextTurn":
        """A turn of a live conversation."""
        return cls(
            turn.conversation,
            turn.number,
            turn.query,
            turn.response,
            turn.at,
            turn.id,
            turn.user_id,
            turn.user_name,
            turn.parent,
            turn.thread,
            turn.metadata,
        )


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One part of a context, why it is there, and what it was worth when the parts were chosen."""

    said: ContextTurn | Summary
    sources: Sequence[Source]
    weight: float
    tokens: int
    relevance: float | None = None  # from 0 to 1, of what was found
    is_shortened: bool = False  # the middle of its texts is left out


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """What one source gave. What another source gave as well is a duplicate, and counted as used by both."""

    found: int = 0
    used: int = 0
    duplicates: int = 0
    below_threshold: int = 0
    left_out: int = 0  # did not fit into the budget
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ContextStatistics:
    """How a context came about. `sources` has every source that was asked, by its name."""

    sources: Mapping[str, SourceStatistics] = field(default_factory=dict)
    tokens: int = 0
    max_tokens: int = 0
    threshold: float = 0.0
    span: timedelta | None = None  # how far back turns were looked for; None: all that was said
    is_widened: bool = False  # nothing passed the threshold in that span, so it was looked for in all
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """Parts of what was said, oldest first. `because` tells why the strategy was chosen.

    `degraded` says in words what could not be asked, if anything.
    """

    items: Sequence[ContextItem]
    strategy: str
    because: Sequence[str] = ()
    statistics: ContextStatistics = field(default_factory=ContextStatistics)
    degraded: Sequence[str] = ()
