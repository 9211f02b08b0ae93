"""What upkeep speaks of: marks that wait to be projected, generations, and the state of the store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Target(StrEnum):
    """A projection that a write has to reach."""

    VECTORS = "vectors"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class Mark:
    """A subject that a projection has not seen in its present form.

    `place` is the index of a passage, or the node type of a node. `revision` never repeats in a
    store, so that a mark is cleared only if nothing was written since it was read.
    """

    target: Target
    subject: str
    place: str
    project: str
    revision: int


class GenerationState(StrEnum):
    """Where a generation is in its life."""

    BUILDING = "building"
    LIVE = "live"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of an index or of the graph. `built_to` is how far a building one has come."""

    target: str
    number: int
    fingerprint: str
    state: GenerationState
    built_to: int

    @property
    def name(self) -> str:
        """The name of the index that holds it."""
        return f"{self.target}-{self.number}"


@dataclass(frozen=True, slots=True)
class Activity:
    """One line of the audit trail: what was done to what, when."""

    subject: str
    project: str
    operation: str
    version: int
    at: datetime
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How often a text's embedding was at hand, and how often it had to be computed."""

    hits: int = 0
    misses: int = 0

    @property
    def rate(self) -> float:
        """The share of texts whose embedding was at hand; 0 while none was asked for."""
        return self.hits / total if (total := self.hits + self.misses) else 0.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the store holds and how it is."""

    memories: Mapping[str, int]
    deleted: int
    links: int
    projects: int
    pending: Mapping[str, int]
    refused: int
    generations: Sequence[Generation]
    index_entries: Mapping[str, int]
    storage_bytes: Mapping[str, int]
    free_bytes: int
    paused: str | None
    recent: Sequence[Activity]
