"""What the tools answer. An output schema is made from each of these.

What is None is left out of the answer, so no schema speaks of null.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BaseModel, ConfigDict

from backstory.actions.memory.adding import Added
from backstory.actions.memory.conflicting import ConflictFound
from backstory.actions.memory.delete import Deleted
from backstory.actions.memory.get import Gotten, Reference, Related
from backstory.mcp.observation import Pace
from backstory.model.memory import Memory
from backstory.model.search import MemoryHit
from backstory.model.upkeep import Activity, CacheUse, Generation, GenerationState, Statistics

#: Links shown with a memory. Each may take 160 tokens, so more would fill the answer.
MOST_RELATED: Final = 50

#: Names in its fields that are shown with a memory, 50 tokens each.
MOST_REFERENCES: Final = 50

#: Conflicts shown with a memory, the gravest first, and characters that are shown of the other one's content.
MOST_CONFLICTS: Final = 10
MOST_OF_THE_OTHER: Final = 300

#: A time to the second. Fractions would cost an agent four tokens a time and tell it nothing.
Moment = Annotated[datetime, AfterValidator(lambda moment: moment.replace(microsecond=0))]


class Answer(BaseModel):
    """One answer, or a part of one."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)

    def structured(self) -> dict[str, Any]:
        """The answer as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=True)


class ConflictTold(Answer):
    """What a memory conflicts with: the other one, and why."""

    kind: str
    id: str
    type: str
    content: str
    why: str
    certainty: float

    @classmethod
    def of(cls, conflict: ConflictFound) -> "ConflictTold":
        """What is told of a conflict."""
        other = conflict.memory
        return cls(
            kind=conflict.kind,
            id=other.id,
            type=other.type,
            content=other.content[:MOST_OF_THE_OTHER],
            why=conflict.why,
            certainty=round(conflict.certainty, 2),
        )


def conflicts_told(found: Sequence[ConflictFound]) -> Sequence[ConflictTold] | None:
    """The gravest conflicts, as they are told."""
    return [ConflictTold.of(each) for each in found[:MOST_CONFLICTS]] or None


class MemoryAdded(Answer):
    """Where a new memory is kept, and what it conflicts with."""

    id: str
    type: str
    project: str
    version: int
    created_at: Moment
    conflicts: Sequence[ConflictTold] | None = None
    pending: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Added) -> "MemoryAdded":
        """What is told of a memory that was added."""
        return cls(
            **named(done.memory),
            created_at=done.memory.created_at,
            conflicts=conflicts_told(done.conflicts),
            pending=done.pending or None,
            notes=done.notes or None,
        )


class RelatedMemory(Answer):
    """The other end of a link."""

    type: str
    direction: str
    id: str
    memory_type: str
    title: str
    field: str | None = None

    @classmethod
    def of(cls, other: Related) -> "RelatedMemory":
        """What is told of a link. `field` is the one that asks for it, of this memory or of the other."""
        memory = other.memory
        return cls(
            type=other.type,
            direction=other.direction,
            id=memory.id,
            memory_type=memory.type,
            title=memory.title,
            field=other.field or None,
        )


class NamedMemory(Answer):
    """A name in a field, and the memory that is meant, if there is one."""

    field: str
    name: str
    id: str | None = None
    missing: bool | None = None

    @classmethod
    def of(cls, reference: Reference) -> "NamedMemory":
        """What is told of a name. `missing` is true while no memory has it."""
        meant = reference.memory
        return cls(field=reference.field, name=reference.name, id=meant, missing=None if meant else True)


class MemoryShown(Answer):
    """A memory, whole, or a page of it."""

    id: str
    type: str
    project: str
    content: str
    metadata: Mapping[str, Any] | None = None
    importance: float
    version: int
    created_at: Moment
    updated_at: Moment
    access_count: int
    relationships: Sequence[RelatedMemory]
    references: Sequence[NamedMemory] | None = None
    offset: int | None = None
    next_offset: int | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, gotten: Gotten) -> "MemoryShown":
        """The memory, whole."""
        memory, links, references = gotten.memory, gotten.relationships, gotten.references
        return cls(
            **named(memory),
            content=memory.content,
            metadata=memory.metadata or None,
            importance=memory.importance,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            access_count=memory.access_count,
            relationships=[RelatedMemory.of(each) for each in links[:MOST_RELATED]],
            references=[NamedMemory.of(each) for each in references[:MOST_REFERENCES]] or None,
            notes=[
                *_shown_of(MOST_RELATED, len(links), "relationships"),
                *_shown_of(MOST_REFERENCES, len(references), "references"),
            ]
            or None,
        )


class MemoryFound(Answer):
    """One hit. `shortened` names the parts that are not whole."""

    id: str
    type: str
    project: str
    score: float
    parts: Mapping[str, float] | None = None
    found_by: Sequence[str]
    importance: float
    created_at: Moment
    metadata: Mapping[str, Any] | None = None
    content: str
    shortened: Sequence[str] | None = None

    @classmethod
    def of(cls, hit: MemoryHit) -> "MemoryFound":
        """The hit, whole."""
        memory = hit.memory
        return cls(
            id=memory.id,
            type=memory.type,
            project=memory.project.name,
            score=round(hit.score, 4),
            parts={name: round(worth, 3) for name, worth in hit.parts.items()},
            found_by=hit.found_by,
            importance=memory.importance,
            created_at=memory.created_at,
            metadata=memory.metadata or None,
            content=memory.content,
        )


class MemoriesFound(Answer):
    """One page of hits, best first."""

    hits: Sequence[MemoryFound]
    next_cursor: str | None = None
    degraded: Sequence[str] | None = None
    omitted: Sequence[str] | None = None
    notes: Sequence[str] | None = None


class MemoryDeleted(Answer):
    """A memory that nobody finds any more."""

    id: str
    type: str
    project: str
    version: int
    deleted_at: Moment | None = None
    pending: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Deleted) -> "MemoryDeleted":
        """What is told of a memory that was deleted."""
        return cls(**named(done.memory), deleted_at=done.memory.deleted_at, pending=done.pending or None)


class IndexGeneration(Answer):
    """One edition of an index or of the graphs."""

    target: str
    number: int
    state: str
    entries: int | None = None

    @classmethod
    def of(cls, generation: Generation, entries: Mapping[str, int]) -> "IndexGeneration":
        """What is told of a generation; how many entries it has is known of indexes alone."""
        return cls(
            target=generation.target,
            number=generation.number,
            state=generation.state,
            entries=entries.get(generation.name),
        )


class IndexHealth(Answer):
    """Whether everything that is kept can be found."""

    healthy: bool
    pending: Mapping[str, int]
    refused: int
    generations: Sequence[IndexGeneration]
    paused: str | None = None

    @classmethod
    def of(cls, counted: Statistics) -> "IndexHealth":
        """Healthy is what answers now, refuses nothing and is not paused; waiting is no illness."""
        live = {each.target for each in counted.generations if each.state is GenerationState.LIVE}
        answering = bool(live) and all(each.target in live for each in counted.generations)
        return cls(
            healthy=answering and not counted.refused and not counted.paused,
            pending=counted.pending,
            refused=counted.refused,
            generations=[IndexGeneration.of(each, counted.index_entries) for each in counted.generations],
            paused=counted.paused,
        )


class RecentActivity(Answer):
    """One line of the audit trail."""

    at: Moment
    operation: str
    id: str
    version: int
    project: str

    @classmethod
    def of(cls, done: Activity) -> "RecentActivity":
        """What is told of something that was done."""
        return cls(
            at=done.at, operation=done.operation, id=done.subject, version=done.version, project=done.project
        )


class EmbeddingCache(Answer):
    """How often an embedding was at hand."""

    hits: int
    misses: int
    hit_rate: float

    @classmethod
    def of(cls, use: CacheUse) -> "EmbeddingCache":
        """What is told of the cache."""
        return cls(hits=use.hits, misses=use.misses, hit_rate=round(use.rate, 4))


class CallPace(Answer):
    """How long calls of one tool took."""

    count: int
    p50_ms: float
    p95_ms: float

    @classmethod
    def of(cls, pace: Pace) -> "CallPace":
        """What is told of a tool's pace."""
        return cls(count=pace.count, p50_ms=pace.p50_ms, p95_ms=pace.p95_ms)


class StoreStatistics(Answer):
    """What the store holds and how it is."""

    project: str
    total: int
    memories: Mapping[str, int]
    deleted: int
    links: int
    projects: int
    index: IndexHealth
    storage_bytes: Mapping[str, int]
    free_bytes: int
    embedding_cache: EmbeddingCache
    calls: Mapping[str, CallPace]
    recent: Sequence[RecentActivity]


class Help(Answer):
    """One topic, and which others there are."""

    topic: str
    text: str
    topics: Sequence[str]


def _shown_of(most: int, count: int, things: str) -> Sequence[str]:
    return [f"{most} of {count} {things} are shown"] if count > most else []


def named(memory: Memory) -> dict[str, Any]:
    """What every answer about one memory begins with."""
    return {
        "id": memory.id,
        "type": memory.type,
        "project": memory.project.name,
        "version": memory.version,
    }
