"""What `get_related` answers, and how that reads as text."""

from collections.abc import Sequence
from typing import Final

from backstory.actions.graph.related import Related
from backstory.mcp.answers import Answer
from backstory.mcp.budget import USUAL_TOKENS, fitting
from backstory.mcp.wording import every, lines
from backstory.model.graph import Edge, Node

#: For what is around something, and for what links it. Two hundred of both may be more than an agent sees.
_HALF: Final = USUAL_TOKENS // 2

_MORE: Final = "there is more: name relationship types or a direction, or raise the limit"
_TOO_LONG: Final = "some is left out for the length of the answer: name relationship types or a direction"


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
        """What is told of a walk, as much of it as fits into an answer."""
        start = [RelatedNode.of(node) for node in found.start]
        related = fitting([RelatedNode.of(each.node, each.depth) for each in found.reached], _HALF)
        known = {node.id for node in (*start, *related)}
        between = [RelatedEdge.of(edge) for edge in found.edges if {edge.start.id, edge.end.id} <= known]
        edges = fitting(between, _HALF)
        is_whole = len(related) == len(found.reached) and len(edges) == len(found.edges)
        notes = [*([_MORE] if found.truncated else []), *([] if is_whole else [_TOO_LONG])]
        return cls(start=start, related=related, edges=edges, notes=notes or None)


def shown(answer: RelatedTold) -> str:
    """The start, what is around it, and along what."""
    return lines(
        *(_line(node) for node in answer.start),
        f"{len(answer.related)} related.",
        *(f"{node.depth}: {_line(node)}" for node in answer.related),
        *(f"{edge.start} {edge.type} {edge.end}" for edge in answer.edges),
        *every("note", answer.notes),
    )


def _line(node: RelatedNode) -> str:
    name = " ".join(node.name.split())
    return f"{node.type} {node.id} {name}" + (f", memory {node.memory_id}" if node.memory_id else "")
