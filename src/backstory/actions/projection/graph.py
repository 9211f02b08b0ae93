"""Memories and their links become nodes and edges."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from backstory.engine import Engine, Transaction
from backstory.model.graph import GraphChange, GraphKey, Node, NodeRef, NodeType
from backstory.model.memory import MEMORY_TYPES, Memory
from backstory.model.project import Project
from backstory.model.upkeep import GenerationState, Mark

TARGET: Final = "graph"

#: What the graph is made of; a change of the mapping below changes it, and the graph is built anew.
FINGERPRINT: Final = "memories-1"


def project(engine: Engine, marks: Sequence[Mark]) -> None:
    """Bring what is marked, all in one project, into every generation in use, as the records have it now."""
    project = Project(marks[0].project)
    with engine.records.reading() as records:
        generations = records.generations.of(TARGET, GenerationState.LIVE, GenerationState.BUILDING)
        change = _change(records, GraphKey(project, 0), marks)
    for generation in generations:
        engine.graph.write(replace(change, graph=GraphKey(project, generation.number)))


def load(engine: Engine, key: GraphKey) -> int:
    """Make a project's graph anew from the records; the revision up to which it holds everything."""
    with engine.records.reading() as records:
        memories = records.memories.live_in(key.project)
        engine.graph.load(key, map(node_of, memories), records.links.edges_in(key.project))
        return records.store.revision


def load_live(engine: Engine, project: Project) -> int:
    """Make a project's graph anew in every generation in use; as `load`."""
    with engine.records.reading() as records:
        generations = records.generations.of(TARGET, GenerationState.LIVE, GenerationState.BUILDING)
    return min(load(engine, GraphKey(project, each.number)) for each in generations)


def node_of(memory: Memory) -> Node:
    """The node that stands for a memory."""
    return Node(ref_of(memory), memory.title, memory.created_at, memory.id, {"type": memory.type})


def ref_of(memory: Memory) -> NodeRef:
    """How edges name a memory's node."""
    return NodeRef(MEMORY_TYPES[memory.type].node, memory.id)


def _change(records: Transaction, key: GraphKey, marks: Sequence[Mark]) -> GraphChange:
    """All edges of a marked node are written again, so the order in which nodes come does not matter."""
    memories = records.memories.find(key.project, [mark.subject for mark in marks])
    edges = records.links.edges_at(memories)
    return GraphChange(
        key,
        remove=list(_gone(marks, set(memories))),
        cut=[ref_of(memory) for memory in memories.values()],
        nodes=[node_of(memory) for memory in memories.values()],
        edges=edges,
    )


def _gone(marks: Sequence[Mark], present: set[str]) -> Iterator[NodeRef]:
    for mark in marks:
        if mark.subject not in present:
            yield NodeRef(NodeType(mark.place), mark.subject)
