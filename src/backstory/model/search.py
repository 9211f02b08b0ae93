"""What is asked of a search and what comes back: conditions, scores, hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from backstory.model.conversation import Conversation, Message, Role
from backstory.model.memory import Memory
from backstory.model.project import Scope

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 100

#: Parts of a memory's score that it has whatever is asked.
_UNASKED: Final = frozenset({"importance", "recency"})


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A condition on a label: at least one of its values is among these."""

    label: str
    values: Sequence[str]


@dataclass(frozen=True, slots=True)
class Between:
    """Bounds of a number, both included; None is open."""

    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """What a query may see; all conditions hold together."""

    scope: Scope
    labels: Sequence[AnyOf] = ()
    numbers: Mapping[str, Between] = field(default_factory=dict)
    ids: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """An id with a retriever's raw score."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A question to the memories. Filters are applied inside the engines, before ranking.

    A later page names the `ranking` that the first one is a part of. If that is not held any more, what was
    added after `asked_at` is left out.
    """

    text: str
    types: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    ranking: str = ""
    asked_at: datetime | None = None


class MemoryCues(NamedTuple):
    """What a memory is ranked by, beside its text."""

    importance: float
    access_count: int
    last_used_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that was found, its score, and what is in it: what found it, its importance and recency."""

    memory: Memory
    score: float
    parts: Mapping[str, float]

    @property
    def found_by(self) -> list[str]:
        """What found it: the parts that have to do with the question."""
        return sorted(self.parts.keys() - _UNASKED)


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Hits, best first. `degraded` says in words what could not be asked, if anything.

    `more` is whether another page follows. It begins at the place `end` of `ranking`, which stays as it is.
    """

    hits: Sequence[MemoryHit]
    degraded: Sequence[str] = ()
    more: bool = False
    end: int = 0
    ranking: str = ""


@dataclass(frozen=True, slots=True)
class TurnQuery:
    """A question to what was said. Filters are applied inside the engines, before ranking.

    `asked_at` is what "yesterday" and "last week" in the text are counted from.
    """

    text: str
    conversation: str | None = None
    role: Role | None = None
    interface_type: str | None = None
    room: str | None = None
    user: str | None = None
    thread: str | None = None
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """The part of a text that matches best, and where in it the matching words stand (from, to)."""

    text: str
    marks: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class TurnHit:
    """A turn that was found: by which message, how well, and what each retriever added to the score."""

    conversation: Conversation
    turn: int
    message: Message
    snippet: Snippet
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """Hits, best first. `degraded` and `more` are as in `FoundMemories`."""

    hits: Sequence[TurnHit]
    degraded: Sequence[str] = ()
    more: bool = False
