"""Walking a graph breadth-first, a small statement for each node.

One pattern of several hops would be a single statement, but through a node with 20,000 callers it
takes more than 15 s, whatever its LIMIT. Here every statement is one hop with a limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ladybug import Connection

from backstory.adapters.ladybug import schema
from backstory.adapters.ladybug.database import ask
from backstory.model.graph import (
    Direction,
    Edge,
    NodeRef,
    NodeType,
    Reached,
    RelationshipType,
    Subgraph,
    Walk,
)

_EdgeKey = tuple[NodeRef, RelationshipType, NodeRef]

_OUTGOING: Final = {Direction.OUT: (True,), Direction.IN: (False,), Direction.BOTH: (True, False)}


def walk_from(connection: Connection, start: Sequence[NodeRef], walk: Walk) -> Subgraph:
    """Give what the walk reaches, nearest first."""
    walker = _Walker(connection, walk)
    frontier = walker.depart(start)
    for depth in range(1, walk.depth + 1):
        frontier = walker.advance(frontier, depth)
    return Subgraph(list(walker.reached.values()), list(walker.edges.values()), walker.truncated)


@dataclass(frozen=True, slots=True)
class _Step:
    """An edge as a node sees it, with the node behind it; both are made only when they are new."""

    edge_key: _EdgeKey
    edge_columns: Sequence[Any]
    other: NodeRef
    node_columns: Sequence[Any]

    @property
    def order(self) -> tuple[RelationshipType, str, NodeRef]:
        start, type_, _ = self.edge_key
        return type_, self.other.id, start


class _Walker:
    """One walk under way, and what it came by."""

    def __init__(self, connection: Connection, walk: Walk) -> None:
        self._connection = connection
        self._walk = walk
        self._along = sorted(set(walk.types))
        self.reached: dict[NodeRef, Reached] = {}
        self.edges: dict[_EdgeKey, Edge] = {}
        self.truncated = False

    def depart(self, start: Sequence[NodeRef]) -> list[NodeRef]:
        """Take up position at the start nodes that exist, and give them."""
        found: dict[NodeRef, Reached] = {}
        for label in {ref.type for ref in start}:
            ids = sorted({ref.id for ref in start if ref.type is label})
            for id_, *columns in ask(self._connection, schema.nodes_by_id(label), ids=ids):
                ref = NodeRef(label, id_)
                found[ref] = Reached(schema.node_from(ref, columns), 0)
        self.reached = {ref: found[ref] for ref in start if ref in found}
        return list(self.reached)

    def advance(self, frontier: Sequence[NodeRef], depth: int) -> list[NodeRef]:
        """Go one step further from each node of the frontier, and give the nodes that are new."""
        new: list[NodeRef] = []
        self.truncated = self.truncated or len(frontier) > self._walk.frontier
        for ref in frontier[: self._walk.frontier]:
            steps = self._steps(ref)
            self.truncated = self.truncated or len(steps) > self._walk.fanout
            new += [step.other for step in steps[: self._walk.fanout] if self._follow(step, depth)]
        return new

    def _follow(self, step: _Step, depth: int) -> bool:
        """Note the edge and the node behind it, and say whether the node is new."""
        if step.edge_key not in self.edges:
            self.edges[step.edge_key] = schema.edge_from(*step.edge_key, step.edge_columns)
        if step.other in self.reached:
            return False
        self.reached[step.other] = Reached(schema.node_from(step.other, step.node_columns), depth)
        return True

    def _steps(self, ref: NodeRef) -> list[_Step]:
        """Give the steps from a node in their order; more than the fan-out when there are more."""
        steps = {
            step.edge_key: step
            for outgoing in _OUTGOING[self._walk.direction]
            for step in self._one_way(ref, outgoing=outgoing)
        }
        return sorted(steps.values(), key=lambda step: step.order)

    def _one_way(self, ref: NodeRef, *, outgoing: bool) -> Iterator[_Step]:
        limit = self._walk.fanout + 1
        # Sorting costs a node with 20,000 edges 15 ms; most have fewer than the limit and come whole.
        for ordered in (False, True):
            statement = schema.steps_from(
                ref.type, self._along, outgoing=outgoing, ordered=ordered, limit=limit
            )
            rows = ask(self._connection, statement, id=ref.id)
            if len(rows) < limit:
                break
        for type_, created_at, metadata, label, id_, *node_columns in rows:
            other = NodeRef(NodeType(label), id_)
            start, end = (ref, other) if outgoing else (other, ref)
            key = start, RelationshipType(type_), end
            yield _Step(key, (created_at, metadata), other, node_columns)
