"""What the records hold comes into the graph: what is marked, or a project whole.

Which nodes and edges there are is said in `memory_graph`, `conversation_graph` and `left_files`.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from backstory.actions.projection import conversation_graph, left_files, memory_graph
from backstory.engine import Engine, Transaction
from backstory.model.graph import Edge, GraphChange, GraphKey, Node, NodeType
from backstory.model.project import Project
from backstory.model.upkeep import GenerationState, Mark

TARGET: Final = "graph"

#: What the graph is made of; a change of what becomes what changes it, and the graph is built anew.
FINGERPRINT: Final = "memories-1 conversations-1"

#: Node types that memories never have.
_SAID: Final = (NodeType.CONVERSATION, NodeType.CONVERSATION_MESSAGE)


def project(engine: Engine, marks: Sequence[Mark]) -> None:
    """Bring what is marked, all in one project, into every generation in use, as the records have it now."""
    project = Project(marks[0].project)
    with engine.records.reading() as records:
        generations = records.generations.of(TARGET, GenerationState.LIVE, GenerationState.BUILDING)
        keys = [GraphKey(project, each.number) for each in generations]
        changes = [_change(engine, records, key, marks) for key in keys]
    for change in changes:
        engine.graph.write(change)


def load(engine: Engine, key: GraphKey) -> int:
    """Make a project's graph anew from the records; the revision up to which it holds everything."""
    with engine.records.reading() as records:
        engine.graph.load(key, nodes_in(records, key.project), edges_in(records, key.project))
        return records.store.revision


def load_live(engine: Engine, project: Project) -> int:
    """Make a project's graph anew in every generation in use; as `load`."""
    with engine.records.reading() as records:
        generations = records.generations.of(TARGET, GenerationState.LIVE, GenerationState.BUILDING)
    return min(load(engine, GraphKey(project, each.number)) for each in generations)


def nodes_in(records: Transaction, project: Project) -> Iterator[Node]:
    """Every node that a project's graph should have."""
    return chain(memory_graph.nodes_in(records, project), conversation_graph.nodes_in(records, project))


def edges_in(records: Transaction, project: Project) -> Iterator[Edge]:
    """Every edge that a project's graph should have, each once."""
    return chain(memory_graph.edges_in(records, project), conversation_graph.edges_in(records, project))


def _change(engine: Engine, records: Transaction, key: GraphKey, marks: Sequence[Mark]) -> GraphChange:
    said = [mark for mark in marks if mark.place in _SAID]
    files = [mark.subject for mark in marks if mark.place == NodeType.FILE]
    memories = [mark for mark in marks if mark.place not in (*_SAID, NodeType.FILE)]
    parts = (
        memory_graph.change_of(records, key, memories),
        conversation_graph.change_of(records, key, said),
        left_files.change_of(engine, records, key, files),
    )
    return GraphChange(
        key,
        remove=[ref for part in parts for ref in part.remove],
        cut=[ref for part in parts for ref in part.cut],
        nodes=[node for part in parts for node in part.nodes],
        edges=[edge for part in parts for edge in part.edges],
    )
