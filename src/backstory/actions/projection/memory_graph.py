"""Memories and their links become nodes and edges."""

from collections.abc import Iterator, Sequence

from backstory.engine import Transaction
from backstory.model.graph import Edge, GraphChange, GraphKey, Node, NodeRef, NodeType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory
from backstory.model.project import Project
from backstory.model.upkeep import Mark


def nodes_in(records: Transaction, project: Project) -> Iterator[Node]:
    """The nodes of all memories of a project."""
    return map(_node_of, records.memories.live_in(project))


def edges_in(records: Transaction, project: Project) -> Iterator[Edge]:
    """The edges between memories of a project."""
    return records.links.edges_in(project)


def change_of(records: Transaction, graph: GraphKey, marks: Sequence[Mark]) -> GraphChange:
    """What brings marked memories into the graph, or out of it.

    All edges of a marked node are written again, so the order in which nodes come does not matter.
    """
    memories = records.memories.find(graph.project, [mark.subject for mark in marks])
    gone = [mark for mark in marks if mark.subject not in memories]
    return GraphChange(
        graph,
        remove=[NodeRef(NodeType(mark.place), mark.subject) for mark in gone],
        cut=[_ref_of(memory) for memory in memories.values()],
        nodes=[_node_of(memory) for memory in memories.values()],
        edges=records.links.edges_at(memories),
    )


def _node_of(memory: Memory) -> Node:
    return Node(_ref_of(memory), memory.title, memory.created_at, memory.id, {"type": memory.type})


def _ref_of(memory: Memory) -> NodeRef:
    return NodeRef(KINDS[memory.type].node, memory.id)
