"""Walking a graph breadth-first, a small statement for each node.

One pattern of several hops would be a single statement, but through a node with 20,000 callers it
takes more than 15 s, whatever its LIMIT. Here every statement is one hop with a limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ladybug import Connection

from backstory.adapters.ladybug import schema
from backstory.adapters.ladybug.database import ask
from backstory.model.graph import (
    Direction,
    Edge,
    Node,
    NodeRef,
    NodeType,
    Reached,
    RelationshipType,
    Subgraph,
    Walk,
)

_EdgeKey = tuple[NodeRef, RelationshipType, NodeRef]


@dataclass(slots=True)
class _Step:
    """An edge as a node sees it, with the node behind it."""

    edge: Edge
    other: Node

    @property
    def order(self) -> tuple[RelationshipType, str, NodeRef]:
        return self.edge.type, self.other.ref.id, self.edge.start


@dataclass(slots=True)
class _Walked:
    """What a walk has come by so far."""

    reached: dict[NodeRef, Reached] = field(default_factory=dict)
    edges: dict[_EdgeKey, Edge] = field(default_factory=dict)
    truncated: bool = False

    def arrive(self, nodes: Iterable[Node], depth: int) -> list[NodeRef]:
        """Note nodes and give those that are new."""
        new = [node for node in nodes if node.ref not in self.reached]
        self.reached.update((node.ref, Reached(node, depth)) for node in new)
        return list(dict.fromkeys(node.ref for node in new))

    def follow(self, steps: Sequence[_Step], fanout: int) -> Iterator[Node]:
        """Note edges, at most `fanout`, and give the nodes behind them."""
        self.truncated = self.truncated or len(steps) > fanout
        for step in steps[:fanout]:
            edge = step.edge
            self.edges.setdefault((edge.start, edge.type, edge.end), edge)
            yield step.other


def walk_from(connection: Connection, start: Sequence[NodeRef], walk: Walk) -> Subgraph:
    """Give what the walk reaches, nearest first."""
    walked = _Walked()
    frontier = walked.arrive(_existing(connection, start), 0)
    for depth in range(1, walk.depth + 1):
        walked.truncated = walked.truncated or len(frontier) > walk.frontier
        found = [
            node
            for ref in frontier[: walk.frontier]
            for node in walked.follow(_steps(connection, ref, walk), walk.fanout)
        ]
        frontier = walked.arrive(found, depth)
    return Subgraph(list(walked.reached.values()), list(walked.edges.values()), walked.truncated)


def _existing(connection: Connection, start: Sequence[NodeRef]) -> list[Node]:
    found = {
        node.ref: node
        for label in {ref.type for ref in start}
        for columns in ask(
            connection,
            schema.nodes_by_id(label),
            ids=sorted({ref.id for ref in start if ref.type is label}),
        )
        for node in [schema.node_from(label, columns)]
    }
    return [found[ref] for ref in start if ref in found]


def _steps(connection: Connection, ref: NodeRef, walk: Walk) -> list[_Step]:
    """Give the steps from a node in their order; more than the fan-out when there are more."""
    ways = {Direction.OUT: (True,), Direction.IN: (False,), Direction.BOTH: (True, False)}
    steps = {
        (step.edge.start, step.edge.type, step.edge.end): step
        for outgoing in ways[walk.direction]
        for step in _one_way(connection, ref, walk, outgoing=outgoing)
    }
    return sorted(steps.values(), key=lambda step: step.order)


def _one_way(connection: Connection, ref: NodeRef, walk: Walk, *, outgoing: bool) -> list[_Step]:
    # Sorting costs a node with 20,000 edges 15 ms; most have fewer than the limit and come whole.
    along = sorted(set(walk.types))
    for ordered in (False, True):
        statement = schema.steps_from(
            ref.type, along, outgoing=outgoing, ordered=ordered, limit=walk.fanout + 1
        )
        rows = ask(connection, statement, id=ref.id)
        if len(rows) <= walk.fanout:
            break
    return [_step(ref, row, outgoing=outgoing) for row in rows]


def _step(ref: NodeRef, row: Sequence[Any], *, outgoing: bool) -> _Step:
    type_, created_at, metadata, label, *node = row
    other = schema.node_from(NodeType(label), node)
    start, end = (ref, other.ref) if outgoing else (other.ref, ref)
    return _Step(schema.edge_from(start, RelationshipType(type_), end, (created_at, metadata)), other)
