"""The graph's vocabulary: what a node and an edge may be, how to change them and how to walk them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from backstory.model.project import Project


class NodeType(StrEnum):
    """What a node stands for."""

    FUNCTION = "Function"
    CLASS = "Class"
    MODULE = "Module"
    FILE = "File"
    COMPONENT = "Component"
    REQUIREMENT = "Requirement"
    DESIGN = "Design"
    PATTERN = "Pattern"
    TEST = "Test"
    MEMORY = "Memory"
    CONVERSATION = "Conversation"
    CONVERSATION_MESSAGE = "ConversationMessage"


class RelationshipType(StrEnum):
    """What an edge says of its two ends."""

    CALLS = "CALLS"
    IMPORTS = "IMPORTS"
    EXTENDS = "EXTENDS"
    IMPLEMENTS = "IMPLEMENTS"
    DEPENDS_ON = "DEPENDS_ON"
    IMPLEMENTS_REQ = "IMPLEMENTS_REQ"
    FOLLOWS_DESIGN = "FOLLOWS_DESIGN"
    USES_PATTERN = "USES_PATTERN"
    TESTS = "TESTS"
    FOLLOWED_BY = "FOLLOWED_BY"
    RELATES_TO = "RELATES_TO"


class Direction(StrEnum):
    """Which way a walk may follow an edge."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class GraphKey:
    """One project's graph in one generation; graphs never share nodes."""

    project: Project
    generation: int


@dataclass(frozen=True, slots=True, order=True)
class NodeRef:
    """How an edge or a walk names a node. Ids are unique in a graph, over all types."""

    type: NodeType
    id: str


@dataclass(frozen=True, slots=True)
class Node:
    """A thing in the graph. `memory_id` leads back to the memory it stands for, where it has one."""

    ref: NodeRef
    name: str
    created_at: datetime
    memory_id: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed, directed relationship. A graph holds at most one of each (start, type, end)."""

    start: NodeRef
    type: RelationshipType
    end: NodeRef
    created_at: datetime
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphChange:
    """One all-or-nothing change, carried out in the order of its fields.

    `nodes` are created or replaced and keep their edges; `edges` are created, or replaced when
    they are there already. An edge whose end is not in the graph is left out: the change that
    brings that end brings the edge again.
    """

    graph: GraphKey
    remove: Sequence[NodeRef] = ()  # with all their edges; unknown ones are no error
    cut: Sequence[NodeRef] = ()  # nodes that stay but lose all their edges, both ways
    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()


@dataclass(frozen=True, slots=True)
class Walk:
    """How far and along what to go. Depth 0 gives the start nodes that exist."""

    depth: int = 1
    types: Sequence[RelationshipType] = ()  # none named: all
    direction: Direction = Direction.BOTH
    fanout: int = 100  # edges followed from one node, at most
    frontier: int = 60  # nodes expanded in one step, at most


@dataclass(frozen=True, slots=True)
class Reached:
    """A node with the number of steps it took to get there."""

    node: Node
    depth: int


@dataclass(frozen=True, slots=True)
class Subgraph:
    """What a walk found. `truncated` when fan-out or frontier cut something off."""

    nodes: Sequence[Reached]
    edges: Sequence[Edge]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ReadOnlyCypher:
    """A statement somebody else wrote, with its parameters. Checked by the adapter before it runs."""

    text: str
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a foreign query may cost."""

    timeout_s: float = 5.0
    max_rows: int = 1000


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as plain JSON values, under their column names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class GraphState:
    """How much is in one graph."""

    nodes: Mapping[NodeType, int]
    edges: Mapping[RelationshipType, int]


NO_GRAPH: Final = GraphState({}, {})
