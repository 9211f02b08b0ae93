"""What the engines must be able to do, and the values that pass through.

A port exists only where two engines really exist, and has at most seven members. The values
with vectors in them live here rather than in `model`, which knows the standard library alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from backstory.model.candidate import Extracted
from backstory.model.graph import (
    Edge,
    GraphChange,
    GraphKey,
    GraphState,
    Limits,
    Node,
    NodeRef,
    ReadOnlyCypher,
    Subgraph,
    Table,
    Walk,
)
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    ConversationPage,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.project import Project
from backstory.model.search import Scored, Where
from backstory.model.summary import SaidTurn, Summary

Vector = NDArray[np.float32]
"""One unit vector, or zeros for a text without meaning."""

Matrix = NDArray[np.float32]
"""A row for each text or chunk."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Two embedders with one fingerprint give equal vectors."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix: ...

    def embed_query(self, text: str) -> Vector: ...


@dataclass(frozen=True, slots=True)
class WordField:
    """A text that BM25 scores by itself. `average_words` is an estimate, fixed when the index is made."""

    name: str
    k1: float
    b: float
    average_words: float


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """An index to be made. Its name carries its generation: "memories-7"."""

    name: str
    dimension: int
    spaces: Sequence[str]  # names of the dense vectors an entry may have
    fields: Sequence[WordField]
    labels: Sequence[str]  # names of keyword filters
    numbers: Sequence[str]  # names of range filters
    single: Sequence[str] = ()  # those of the spaces in which an entry has one vector, and never chunks


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of an index, under a UUID. A long text has several chunk vectors; the best one counts.

    `vectors` may lack a space (the item is then found by its words alone), `words` a field.
    Words come analysed, as terms separated by blanks: an engine splits them and nothing more,
    so that every engine knows the same words.
    """

    id: str
    project: Project
    vectors: Mapping[str, Matrix]
    words: Mapping[str, str]
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A leg that finds by cosine; an entry's score is that of its best chunk."""

    space: str
    vector: Vector
    limit: int


@dataclass(frozen=True, slots=True)
class Words:
    """A leg that finds by BM25 over one field; IDF is that of the scope. `terms` as in `Entry`.

    Over all projects, IDF may count removed entries too, once there are thousands that are not.
    """

    field: str
    terms: str
    limit: int


@dataclass(frozen=True, slots=True)
class Every:
    """A leg that lists ids in their order, a page after the id `after`; every score is 0."""

    after: str | None
    limit: int


Leg = Meaning | Words | Every


@dataclass(frozen=True, slots=True)
class IndexState:
    """How much is in an index. `unsettled`: upkeep would make it faster. `damaged`: it cannot be used."""

    entries: int
    unsettled: bool = False
    damaged: bool = False


class VectorStore(Protocol):
    """Indexes of entries, found by meaning and by words, inside a project."""

    def ensure(self, index: IndexSpec) -> None: ...

    def upsert(self, index: str, entries: Sequence[Entry]) -> None: ...

    def remove(self, index: str, where: Where) -> None: ...

    def query(self, index: str, legs: Sequence[Leg], where: Where) -> list[list[Scored]]: ...

    def describe(self) -> Mapping[str, IndexState]: ...

    def settle(self, index: str) -> bool:
        """Do one bounded step of upkeep; False when there was none to do."""
        ...

    def drop(self, index: str) -> None: ...


class GraphStore(Protocol):
    """Graphs of nodes and typed edges, one for each project and generation."""

    def write(self, change: GraphChange) -> None: ...

    def load(self, graph: GraphKey, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Replace the whole graph, in bulk."""
        ...

    def related(self, graph: GraphKey, start: Sequence[NodeRef], walk: Walk) -> Subgraph: ...

    def cypher(self, graph: GraphKey, query: ReadOnlyCypher, limits: Limits) -> Table: ...

    def describe(self, graph: GraphKey) -> GraphState: ...

    def settle(self, graph: GraphKey) -> bool:
        """Do one bounded step of upkeep; False when there was none to do."""
        ...

    def drop(self, graph: GraphKey) -> None: ...


class ConversationStorage(Protocol):
    """Live conversations. What a call has written survives the death of the process, if anything can.

    Ids are given by the caller: what is created, appended or summarized again is there once. Whoever names
    a conversation that is not there gets `NotFound`. A deleted one can be read, changed and taken back, but
    whoever would append to it or sum it up gets `NotFound` too.
    """

    def create(self, new: NewConversation) -> LiveConversation:
        """Begin a conversation; if its room has one already, that one is given back and nothing changes."""
        ...

    def append(self, id: str, turns: Sequence[NewTurn]) -> list[LiveTurn]:
        """Keep turns, all or none, numbered on from the last; one whose id is known is given as it was kept.

        Raises `NotFound` for a parent that is not in the conversation or among the turns before it.
        """
        ...

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        ...

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows; none for ids that are not there."""
        ...

    def summarize(self, id: str, summary: Summary) -> bool:
        """Keep the summary of the turns after the last summarized one; False if it does not begin there."""
        ...

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        """Change what a conversation is called, what is known of it, and whether it is deleted.

        None if there is no such conversation. Raises `InputError` when one that was deleted is taken back
        and its room has another.
        """
        ...

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        ...


class Summarizer(Protocol):
    """Makes a short text of turns. One that is called again gives the same answer, if it can."""

    @property
    def fingerprint(self) -> str: ...

    def summarize(self, turns: Sequence[SaidTurn], *, max_tokens: int) -> Summary:
        """What was decided, done and left open, in at most `max_tokens`; never raises for what was said."""
        ...


class Extractor(Protocol):
    """Finds in a talk what is worth remembering. Called again, one gives the same answer, if it can."""

    def extract(
        self, turns: Sequence[SaidTurn], tools: Mapping[int, str], step: Callable[[int, int], None]
    ) -> Extracted:
        """Memories that might be kept, each acceptable and with words that were said.

        `tools` holds what tools gave back, by the number of the turn. `step` is told how many steps of how
        many are done; what it raises ends the work. Nothing else is raised, whatever was said.
        """
        ...
