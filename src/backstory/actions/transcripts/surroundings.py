"""What the graph knows around turns: the files they touched, who else touched them, how forks went on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backstory.actions.projection import graph
from backstory.actions.projection.now import BATCH, graph_of
from backstory.actions.transcripts.finding import Place
from backstory.engine import Engine
from backstory.errors import StoreUnavailable
from backstory.model.conversation import Touch, TurnText
from backstory.model.graph import Direction, Edge, GraphKey, Node, NodeRef, NodeType, RelationshipType, Walk
from backstory.model.project import Project
from backstory.model.upkeep import Target

_Nodes = Mapping[NodeRef, Node]
_Conversations = Mapping[NodeRef, Mapping[str, datetime]]

_BOTH = (RelationshipType.FOLLOWED_BY, RelationshipType.RELATES_TO)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What surrounds one turn. `conversations` are others that touched its files, the last one first."""

    files: Sequence[Touch] = ()
    followed_by: Sequence[Place] = ()  # in other conversations: forks of its own
    conversations: Sequence[str] = ()


def surroundings_of(
    engine: Engine, project: Project, turns: Sequence[TurnText]
) -> Mapping[Place, Surroundings]:
    """What the project's graph has around each of the turns."""
    key = _graph(engine, project)
    places = {
        id: (turn.conversation, turn.turn.number) for turn in turns for id in turn.turn.messages.values()
    }
    messages = [NodeRef(NodeType.CONVERSATION_MESSAGE, id) for id in places]
    found = engine.graph.related(key, messages, Walk(1, _BOTH, Direction.OUT, frontier=len(messages)))
    nodes = {each.node.ref: each.node for each in found.nodes}
    touched_by = _touched_by(engine, key, [ref for ref in nodes if ref.type is NodeType.FILE])
    edges: dict[Place, list[Edge]] = defaultdict(list)
    for edge in found.edges:
        edges[places[edge.start.id]].append(edge)
    return {place: _surroundings(place, own, nodes, touched_by) for place, own in edges.items()}


def _graph(engine: Engine, project: Project) -> GraphKey:
    """The project's graph; brought up to date first if that takes no longer than a moment."""
    with engine.records.reading() as records:
        live = records.generations.live(graph.TARGET)
        waiting = records.marks.count_in(Target.GRAPH, project)
    if live is None:
        raise StoreUnavailable("the graph is being built", hint="try again in a moment")
    return graph_of(engine, project) if waiting <= BATCH else GraphKey(project, live.number)


def _touched_by(engine: Engine, key: GraphKey, files: Sequence[NodeRef]) -> _Conversations:
    """For each file, the conversations that touched it, and when they last did."""
    found = engine.graph.related(key, files, Walk(1, (RelationshipType.RELATES_TO,), Direction.IN))
    nodes = {each.node.ref: each.node for each in found.nodes}
    touched: dict[NodeRef, dict[str, datetime]] = defaultdict(dict)
    for edge in found.edges:
        toucher = nodes[edge.start]
        if isinstance(id := toucher.metadata.get("conversation"), str):
            before = touched[edge.end].get(id, toucher.created_at)
            touched[edge.end][id] = max(before, toucher.created_at)
    return touched


def _surroundings(
    place: Place, edges: Sequence[Edge], nodes: _Nodes, touched_by: _Conversations
) -> Surroundings:
    changed: dict[NodeRef, bool] = {}
    followers = []
    last: dict[str, datetime] = {}
    for edge in edges:
        if edge.end.type is NodeType.FILE:
            changed[edge.end] = changed.get(edge.end, False) or bool(edge.metadata.get("changed"))
        elif (follower := _place(nodes[edge.end])) and follower[0] != place[0]:
            followers.append(follower)
    for file in changed:
        for other, at in touched_by.get(file, {}).items():
            last[other] = max(last.get(other, at), at)
    last.pop(place[0], None)
    return Surroundings(
        files=sorted(
            (Touch(nodes[file].name, was) for file, was in changed.items()), key=lambda each: each.path
        ),
        followed_by=sorted(set(followers)),
        conversations=sorted(last, key=lambda each: (last[each], each), reverse=True),
    )


def _place(node: Node) -> Place | None:
    conversation, turn = node.metadata.get("conversation"), node.metadata.get("turn")
    return (conversation, turn) if isinstance(conversation, str) and isinstance(turn, int) else None
