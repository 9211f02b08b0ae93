"""Files that a message does not touch any more: some have to go, from others an edge.

A file may have been touched thousands of times. So the graph is asked which conversations it leads to
the file from, and the file's edges are written again only where one of them is wrong.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from backstory.actions.projection.conversation_graph import file_ref, files_of, touches_of
from backstory.engine import Engine, Transaction
from backstory.model.conversation import Message, Touch
from backstory.model.graph import (
    Direction,
    Edge,
    GraphChange,
    GraphKey,
    NodeRef,
    NodeType,
    RelationshipType,
    Subgraph,
    Walk,
)
from backstory.model.project import Project

#: More edges than this are not compared: a file that has them is written again.
FANOUT: Final = 10_000


def change_of(engine: Engine, records: Transaction, graph: GraphKey, keys: Sequence[str]) -> GraphChange:
    """What is to be done about files, given by their keys, that were touched more often before."""
    refs = [NodeRef(NodeType.FILE, key) for key in keys]
    arriving = Walk(1, (RelationshipType.RELATES_TO,), Direction.IN, fanout=FANOUT, frontier=len(refs))
    known = engine.graph.related(graph, refs, arriving) if refs else Subgraph([], [])
    paths = [reached.node.name for reached in known.nodes if reached.depth == 0]
    edges = {path: _edges(records, graph.project, path) for path in paths}
    gone = [path for path in paths if not edges[path]]
    wrong = [path for path in paths if edges[path] and _misleads(known, edges[path])]
    return GraphChange(
        graph,
        remove=[file_ref(graph.project, path) for path in gone],
        cut=[file_ref(graph.project, path) for path in wrong],
        edges=[edge for path in wrong for edge in edges[path]],
    )


def _edges(records: Transaction, project: Project, path: str) -> list[Edge]:
    """All edges that a file should have."""
    messages = list(_touching(records, project, path))
    changed: dict[str, bool] = defaultdict(bool)
    for message in messages:
        changed[message.conversation] |= message.touches[0].changed
    conversations = records.conversations.find(project, changed)
    return [
        *(edge for each in messages for edge in touches_of(project, each)),
        *(edge for id, each in conversations.items() for edge in files_of(each, [Touch(path, changed[id])])),
    ]


def _touching(records: Transaction, project: Project, path: str) -> Iterator[Message]:
    """The messages that touched just this file, each with that touch alone."""
    ids = records.conversations.touching(project, path, sys.maxsize)
    for message in records.conversations.messages(ids).values():
        if touches := [touch for touch in message.touches if touch.path == path]:
            yield replace(message, touches=touches)


def _misleads(known: Subgraph, edges: Sequence[Edge]) -> bool:
    """Whether the graph leads to a file from a conversation that it should not, or says so wrongly.

    Edges that it lacks come with the messages that bring them.
    """
    right = {(edge.start, edge.metadata["changed"]) for edge in edges}
    return known.truncated or any(
        (edge.start, edge.metadata["changed"]) not in right
        for edge in known.edges
        if edge.end == edges[0].end and edge.start.type is NodeType.CONVERSATION
    )
