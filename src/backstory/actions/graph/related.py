"""What is around something: memories, conversations and files, along what links them.

The graph is brought up to date before it is walked. Memories are written and linked elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.actions.projection.conversation_graph import file_ref
from backstory.actions.projection.now import graph_of
from backstory.engine import Engine, Transaction
from backstory.errors import InputError, NotFound
from backstory.model.graph import Edge, Node, NodeRef, NodeType, Reached, Walk
from backstory.model.keeping import key_of
from backstory.model.kinds.catalogue import KINDS
from backstory.model.project import Project

#: Steps that a walk may take. After three of them nearly everything in a project is reached.
MOST_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class Related:
    """Where the walk began, what it reached, the nearest first, and the edges between all of these.

    `truncated` when there is more than was reached or shown.
    """

    start: Sequence[Node]
    reached: Sequence[Reached]
    edges: Sequence[Edge]
    truncated: bool


def get_related(engine: Engine, project: Project, entity: str, walk: Walk, limit: int) -> Related:
    """What is around an entity; raises `NotFound` when the project has nothing of that name.

    A memory is named by its id or by what its fields call it, a conversation and a message by their ids, a
    file by its path.
    """
    if not 1 <= walk.depth <= MOST_STEPS:
        raise InputError(f"depth {walk.depth} is not between 1 and {MOST_STEPS}", hint="use 1")
    with engine.records.reading() as records:
        named = list(dict.fromkeys(_named(records, project, entity.strip())))
    if not named:
        raise NotFound(
            f"there is nothing called {entity!r} in project {project}",
            hint="give the id of a memory, a requirement's id, a component's name, a session's id, or a path",
        )
    found = engine.graph.related(graph_of(engine, project), named, walk)
    around = sorted(
        (each for each in found.nodes if each.depth), key=lambda each: (each.depth, each.node.ref)
    )
    start = [each.node for each in found.nodes if not each.depth]
    shown = {node.ref for node in (*start, *(each.node for each in around[:limit]))}
    return Related(
        start,
        around[:limit],
        [edge for edge in found.edges if edge.start in shown and edge.end in shown],
        found.truncated or len(around) > limit,
    )


def _named(records: Transaction, project: Project, entity: str) -> Iterator[NodeRef]:
    """Everything that an entity may be."""
    ids = {id for known in records.references.known(project, [entity]).values() for id in known}
    for memory in records.memories.find(project, ids).values():
        yield NodeRef(KINDS[memory.type].node, memory.id)
    if conversation := records.conversations.get(project, entity):
        yield NodeRef(NodeType.CONVERSATION, key_of(project, conversation.id))
    if records.conversations.messages([entity]):
        yield NodeRef(NodeType.CONVERSATION_MESSAGE, entity)
    touching = records.conversations.touching(project, entity, 1) if entity else []
    for message in records.conversations.messages(touching).values():
        for touch in message.touches:
            if touch.path.endswith(entity):
                yield file_ref(project, touch.path)
