"""Carrying out a change: what has to be done is worked out first, from which nodes are there.

The plan is made of values alone; `carry_out` runs it inside a transaction that somebody else opened.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from ladybug import Connection

from backstory.adapters.ladybug import schema
from backstory.adapters.ladybug.database import ask
from backstory.adapters.ladybug.schema import Pair
from backstory.model.graph import Edge, GraphChange, Node, NodeRef, NodeType

# The engine holds 10 KB for each row it is given: 50,000 at once would be 1 GB.
_ROWS_A_STATEMENT: Final = 1000

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Plan:
    """A change, sorted by the statements it takes."""

    remove: list[NodeRef]
    cut: list[NodeRef]
    update: list[Node]
    create: list[Node]
    replace: list[Edge]  # those among `edges` that may be there already
    edges: list[Edge]

    @property
    def pairs(self) -> set[Pair]:
        """The pairs its edges need."""
        return {Pair.of(edge) for edge in self.edges}


def known_types(connection: Connection, change: GraphChange) -> dict[str, NodeType]:
    """Look up which of the nodes that the change names are there, and as what."""
    refs = {*change.remove, *change.cut, *(node.ref for node in change.nodes)}
    refs.update(ref for edge in change.edges for ref in (edge.start, edge.end))
    ids = sorted({ref.id for ref in refs})
    return {id_: NodeType(label) for id_, label in ask(connection, schema.TYPES_OF_IDS, ids=ids)}


def plan_of(change: GraphChange, known: Mapping[str, NodeType]) -> Plan:
    """Work out what the change does to a graph with these nodes. Of several with one id the last counts."""
    types = dict(known)
    remove = [ref for ref in dict.fromkeys(change.remove) if types.get(ref.id) is ref.type]
    for ref in remove:
        del types[ref.id]
    cut = [ref for ref in dict.fromkeys(change.cut) if types.get(ref.id) is ref.type]
    nodes = {node.ref.id: node for node in change.nodes}.values()
    update = [node for node in nodes if types.get(node.ref.id) is node.ref.type]
    create = [node for node in nodes if types.get(node.ref.id) is not node.ref.type]
    # An id is one node's, over all types: what was there under another type goes.
    remove += [NodeRef(types[node.ref.id], node.ref.id) for node in create if node.ref.id in types]
    types.update((node.ref.id, node.ref.type) for node in create)

    edges = {
        (edge.start, edge.type, edge.end): edge
        for edge in change.edges
        if types.get(edge.start.id) is edge.start.type and types.get(edge.end.id) is edge.end.type
    }.values()
    bare = {ref.id for ref in cut} | {node.ref.id for node in create}
    replace = [edge for edge in edges if edge.start.id not in bare and edge.end.id not in bare]
    return Plan(remove, cut, list(update), create, replace, list(edges))


def carry_out(connection: Connection, plan: Plan) -> None:
    """Run the plan's statements, in the order of a change's fields."""
    for label, refs in _grouped(plan.remove, lambda ref: ref.type):
        ask(connection, schema.remove_nodes(label), ids=[ref.id for ref in refs])
    for ref in plan.cut:
        for statement in schema.cut_node(ref.type):
            ask(connection, statement, id=ref.id)
    for label, nodes in _grouped(plan.update, lambda node: node.ref.type):
        ask(connection, schema.update_nodes(label), rows=[schema.node_row(node) for node in nodes])
    for label, nodes in _grouped(plan.create, lambda node: node.ref.type):
        ask(connection, schema.create_nodes(label), rows=[schema.node_row(node) for node in nodes])
    for edge in plan.replace:
        ask(connection, schema.remove_edge(Pair.of(edge)), source=edge.start.id, target=edge.end.id)
    for pair, edges in _grouped(plan.edges, Pair.of):
        ask(connection, schema.create_edges(pair), rows=[schema.edge_row(edge) for edge in edges])


def _grouped(values: Iterable[_Value], key: Callable[[_Value], _Key]) -> Iterator[tuple[_Key, list[_Value]]]:
    """Give values with the same key together, as many at a time as one statement should take."""
    groups: defaultdict[_Key, list[_Value]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    for each, members in groups.items():
        for at in range(0, len(members), _ROWS_A_STATEMENT):
            yield each, members[at : at + _ROWS_A_STATEMENT]
