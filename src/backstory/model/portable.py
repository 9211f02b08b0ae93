"""A memory as it goes from one store to another: with all that a store knows of it but cannot make again.

What is made from that is left out: vectors, graph, and the links that come of the fields of memories.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory
from backstory.model.merge import MergeMade
from backstory.model.project import Scope
from backstory.model.upkeep import Activity


class OnConflict(StrEnum):
    """What becomes of a memory that is there already and says something else."""

    SKIP = "skip"
    OVERWRITE = "overwrite"
    KEEP_BOTH = "keep_both"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories are meant, deleted or not; all conditions hold together."""

    scope: Scope
    types: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnLink:
    """A link that a memory has, and that no field asks for."""

    start: str
    type: RelationshipType
    end: str
    created_at: datetime
    certainty: float = 1.0
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WholeMemory:
    """A memory, what it was before each update, what was done to it, its links, and what it was merged from.

    All of it is in the order in which it came to be, but links, which are in that of their ends.
    """

    memory: Memory
    versions: Sequence[Memory] = ()
    activity: Sequence[Activity] = ()
    links: Sequence[OwnLink] = ()
    merges: Sequence[MergeMade] = ()
