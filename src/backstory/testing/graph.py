"""A graph store in memory, for tests: the same answers as the engines give, without files or Cypher."""

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC

from backstory.errors import ContentRefused, InputError
from backstory.model.graph import (
    NO_GRAPH,
    Direction,
    Edge,
    GraphChange,
    GraphKey,
    GraphState,
    Limits,
    Node,
    NodeRef,
    Reached,
    ReadOnlyCypher,
    RelationshipType,
    Subgraph,
    Table,
    Walk,
)

_EdgeKey = tuple[NodeRef, RelationshipType, NodeRef]


@dataclass(slots=True)
class _Graph:
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[_EdgeKey, Edge] = field(default_factory=dict)

    def has(self, ref: NodeRef) -> bool:
        return ref.id in self.nodes and self.nodes[ref.id].ref == ref

    def cut(self, ref: NodeRef) -> None:
        for key in [key for key in self.edges if ref in (key[0], key[2])]:
            del self.edges[key]

    def remove(self, ref: NodeRef) -> None:
        if self.has(ref):
            self.cut(ref)
            del self.nodes[ref.id]

    def put(self, node: Node) -> None:
        before = self.nodes.get(node.ref.id)
        if before and before.ref != node.ref:
            self.remove(before.ref)
        self.nodes[node.ref.id] = _kept_node(node)

    def connect(self, edge: Edge) -> None:
        if self.has(edge.start) and self.has(edge.end):
            self.edges[edge.start, edge.type, edge.end] = _kept_edge(edge)

    def steps(self, ref: NodeRef, walk: Walk) -> list[tuple[Edge, Node]]:
        """Give the edges at a node that the walk may follow, in their order."""
        steps = [
            (edge, self.nodes[(edge.end if edge.start == ref else edge.start).id])
            for edge in self.edges.values()
            if edge.type in (walk.types or RelationshipType) and ref in _ways_in(edge, walk.direction)
        ]
        return sorted(steps, key=lambda step: (step[0].type, step[1].ref.id, step[0].start))


class InMemoryGraphStore:
    """Graphs that live as long as the object. Its walks look at every edge: keep them small."""

    def __init__(self) -> None:
        self._graphs: dict[GraphKey, _Graph] = {}
        self._lock = threading.Lock()

    def write(self, change: GraphChange) -> None:
        """Carry out a change, all or nothing. Of several with one id the last counts."""
        with self._lock:
            before = self._graphs.get(change.graph, _Graph())
            graph = _Graph(dict(before.nodes), dict(before.edges))
            for ref in change.remove:
                graph.remove(ref)
            for ref in change.cut:
                graph.cut(ref)
            for node in {node.ref.id: node for node in change.nodes}.values():
                graph.put(node)
            for edge in change.edges:
                graph.connect(edge)
            self._graphs[change.graph] = graph

    def load(self, graph: GraphKey, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Replace the whole graph. Of several with one id, or one (start, type, end), the first counts."""
        loaded = _Graph()
        for node in nodes:
            if node.ref.id not in loaded.nodes:
                loaded.put(node)
        for edge in edges:
            if (edge.start, edge.type, edge.end) not in loaded.edges:
                loaded.connect(edge)
        with self._lock:
            self._graphs[graph] = loaded

    def related(self, graph: GraphKey, start: Sequence[NodeRef], walk: Walk) -> Subgraph:
        """Walk from the start nodes, nearest first, always in the same order."""
        with self._lock:
            return _walked(self._graphs.get(graph, _Graph()), start, walk)

    def cypher(self, graph: GraphKey, query: ReadOnlyCypher, limits: Limits) -> Table:  # noqa: ARG002
        """Refuse: there is no Cypher here."""
        raise InputError("the in-memory graph has no Cypher", hint="use a graph engine for free queries")

    def describe(self, graph: GraphKey) -> GraphState:
        """Count what is there, by type."""
        with self._lock:
            found = self._graphs.get(graph)
            if found is None:
                return NO_GRAPH
            return GraphState(
                Counter(node.ref.type for node in found.nodes.values()),
                Counter(edge.type for edge in found.edges.values()),
            )

    def settle(self, graph: GraphKey) -> bool:  # noqa: ARG002
        """Do nothing: there is no upkeep."""
        return False

    def drop(self, graph: GraphKey) -> None:
        """Forget a graph; one that is not there is no error."""
        with self._lock:
            self._graphs.pop(graph, None)


def _walked(graph: _Graph, start: Sequence[NodeRef], walk: Walk) -> Subgraph:
    reached = {ref: Reached(graph.nodes[ref.id], 0) for ref in start if graph.has(ref)}
    edges: dict[_EdgeKey, Edge] = {}
    truncated = False
    frontier = list(reached)
    for depth in range(1, walk.depth + 1):
        found: list[NodeRef] = []
        truncated = truncated or len(frontier) > walk.frontier
        for ref in frontier[: walk.frontier]:
            steps = graph.steps(ref, walk)
            truncated = truncated or len(steps) > walk.fanout
            for edge, other in steps[: walk.fanout]:
                edges[edge.start, edge.type, edge.end] = edge
                if other.ref not in reached:
                    reached[other.ref] = Reached(other, depth)
                    found.append(other.ref)
        frontier = found
    return Subgraph(list(reached.values()), list(edges.values()), truncated)


def _ways_in(edge: Edge, direction: Direction) -> Iterator[NodeRef]:
    """Give the ends at which a walk in this direction may step onto the edge."""
    if direction is not Direction.IN:
        yield edge.start
    if direction is not Direction.OUT:
        yield edge.end


def _kept_node(node: Node) -> Node:
    for text in (node.ref.id, node.name, node.memory_id or ""):
        _check_text(text)
    return replace(node, created_at=node.created_at.astimezone(UTC), metadata=_kept(node.metadata))


def _kept_edge(edge: Edge) -> Edge:
    return replace(edge, created_at=edge.created_at.astimezone(UTC), metadata=_kept(edge.metadata))


def _kept(metadata: Mapping[str, object]) -> dict[str, object]:
    """Give metadata as it comes back from JSON."""
    try:
        text = json.dumps(metadata, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise ContentRefused(f"metadata must be JSON: {error}", hint="use plain JSON values") from error
    _check_text(text)
    kept: dict[str, object] = json.loads(text)
    return kept


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContentRefused("the text is not valid Unicode", hint="remove the lone surrogates") from error
