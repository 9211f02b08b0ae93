"""What `get_related` answers, and how that reads as text."""

from collections.abc import Sequence

from backstory.actions.graph.related import Related
from backstory.mcp.answers import Answer
from backstory.mcp.wording import lines
from backstory.model.graph import Edge, Node


class RelatedNode(Answer):
    """A thing in the graph, and how many steps away it is, if it is away."""

    id: str
    type: str
    name: str
    memory_id: str | None = None
    depth: int | None = None

    @classmethod
    def of(cls, node: Node, depth: int | None = None) -> "RelatedNode":
        """What is told of a node."""
        return cls(id=node.ref.id, type=node.ref.type, name=node.name, memory_id=node.memory_id, depth=depth)


class RelatedEdge(Answer):
    """What one node is to another."""

    start: str
    type: str
    end: str

    @classmethod
    def of(cls, edge: Edge) -> "RelatedEdge":
        """What is told of an edge."""
        return cls(start=edge.start.id, type=edge.type, end=edge.end.id)


class RelatedTold(Answer):
    """What is around something, the nearest first."""

    start: Sequence[RelatedNode]
    related: Sequence[RelatedNode]
    edges: Sequence[RelatedEdge]
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, found: Related) -> "RelatedTold":
        """What is told of a walk."""
        note = "there is more: name relationship types or a direction, or raise the limit"
        return cls(
            start=[RelatedNode.of(node) for node in found.start],
            related=[RelatedNode.of(each.node, each.depth) for each in found.reached],
            edges=[RelatedEdge.of(edge) for edge in found.edges],
            notes=[note] if found.truncated else None,
        )


def shown(answer: RelatedTold) -> str:
    """The start, what is around it, and along what."""
    return lines(
        *(_line(node) for node in answer.start),
        f"{len(answer.related)} related.",
        *(f"{node.depth}: {_line(node)}" for node in answer.related),
        *(f"{edge.start} {edge.type} {edge.end}" for edge in answer.edges),
        *(f"note: {note}" for note in answer.notes or ()),
    )


def _line(node: RelatedNode) -> str:
    name = " ".join(node.name.split())
    return f"{node.type} {node.id} {name}" + (f", memory {node.memory_id}" if node.memory_id else "")
