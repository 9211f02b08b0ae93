"""Conversations become nodes and edges: with their messages in order, and the files that these touched.

A conversation leads to its messages, its files and its subagents' conversations by RELATES_TO, a message
to the next one by FOLLOWED_BY and to the files that it touched by RELATES_TO. So those that touched a
file are one step away from it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from backstory.engine import Transaction
from backstory.model.conversation import Conversation, Message, Touch
from backstory.model.graph import Edge, GraphChange, GraphKey, Node, NodeRef, NodeType, RelationshipType
from backstory.model.keeping import Link, file_key, key_of
from backstory.model.project import Project
from backstory.model.upkeep import Mark

#: What a person sees of a message where its node is shown.
NAME_CHARS: Final = 80

#: When a conversation began that does not say so.
_UNKNOWN: Final = datetime.fromtimestamp(0, UTC)


def nodes_in(records: Transaction, project: Project) -> Iterator[Node]:
    """The nodes of all that was said in a project, and of the files that were touched."""
    for conversation in records.conversations.in_project(project):
        yield _conversation_node(conversation)
        yield from map(_message_node, records.conversations.own_messages(conversation.id))
    for path, at in records.conversations.first_touches(project).items():
        yield _file_node(project, path, at)


def edges_in(records: Transaction, project: Project) -> Iterator[Edge]:
    """The edges of all that was said in a project, each once."""
    conversations = {each.id: each for each in records.conversations.in_project(project)}
    steps: set[tuple[str, str]] = set()  # a fork goes the first ones again
    for conversation in conversations.values():
        links = records.conversations.chain(conversation.id)
        yield from _parts(conversation, links)
        for edge in _steps(conversation, links):
            if (step := (edge.start.id, edge.end.id)) not in steps:
                steps.add(step)
                yield edge
        for message in records.conversations.own_messages(conversation.id):
            yield from touches_of(project, message)
        yield from files_of(conversation, records.conversations.files(conversation.id))
        if parent := conversations.get(conversation.parent):
            yield _subagent(parent, conversation)


def change_of(records: Transaction, graph: GraphKey, marks: Sequence[Mark]) -> GraphChange:
    """What brings marked conversations and messages into the graph, or out of it.

    A message's edges are cut and written again. A conversation keeps its edges: it may have thousands,
    and each comes and goes with the message that it leads to.
    """
    keys = [mark.subject for mark in marks if mark.place == NodeType.CONVERSATION]
    ids = [mark.subject for mark in marks if mark.place == NodeType.CONVERSATION_MESSAGE]
    marked = records.conversations.of_keys(keys)
    messages = records.conversations.messages(ids)
    standing = records.conversations.standing(messages)
    talks = records.conversations.find(graph.project, standing)
    touched = {touch.path for message in messages.values() for touch in message.touches}
    conversations = {each.id: each for each in (*marked.values(), *talks.values())}
    return GraphChange(
        graph,
        remove=[
            *(NodeRef(NodeType.CONVERSATION, key) for key in keys if key not in marked),
            *(NodeRef(NodeType.CONVERSATION_MESSAGE, id) for id in ids if id not in messages),
        ],
        cut=[_message_ref(id) for id in messages],
        nodes=[
            *map(_conversation_node, conversations.values()),
            *map(_message_node, messages.values()),
            *file_nodes(records, graph.project, touched),
        ],
        edges=[
            *(
                edge
                for id, talk in talks.items()
                for edge in _edges_of_messages(records, talk, messages, standing[id].values())
            ),
            *(edge for each in messages.values() for edge in touches_of(graph.project, each)),
            *(edge for each in marked.values() for edge in _family(records, each)),
        ],
    )


def file_nodes(records: Transaction, project: Project, paths: Collection[str]) -> Iterator[Node]:
    """The nodes of those files that are touched."""
    for path, at in records.conversations.first_touches(project, paths).items():
        yield _file_node(project, path, at)


def _edges_of_messages(
    records: Transaction, conversation: Conversation, messages: Mapping[str, Message], turns: Iterable[int]
) -> Iterator[Edge]:
    """The edges from a conversation to some messages and to what these touched, and between messages."""
    for stretch in records.conversations.stretches(conversation.id, turns):
        yield from _parts(conversation, [link for link in stretch if link.id in messages])
        for edge in _steps(conversation, stretch):
            if edge.start.id in messages or edge.end.id in messages:
                yield edge
    own = [message for message in messages.values() if message.conversation == conversation.id]
    if paths := {touch.path for message in own for touch in message.touches}:
        files = records.conversations.files(conversation.id)
        yield from files_of(conversation, [touch for touch in files if touch.path in paths])


def _family(records: Transaction, conversation: Conversation) -> Iterator[Edge]:
    for subagent in records.conversations.subagents(conversation.id):
        yield _subagent(conversation, subagent)
    if parent := records.conversations.get(conversation.project, conversation.parent):
        yield _subagent(parent, conversation)


def _conversation_node(conversation: Conversation) -> Node:
    metadata = {
        "conversation": conversation.id,
        "interface_type": conversation.interface_type,
        "folder": conversation.folder,
        "turns": conversation.turns,
    }
    name = conversation.title.text or conversation.id
    return Node(_conversation_ref(conversation), name, _begun(conversation), metadata=metadata)


def _message_node(message: Message) -> Node:
    # Twice as much is looked at as is kept: blanks go, and a text may be long.
    name = " ".join(message.text[: 2 * NAME_CHARS].split())[:NAME_CHARS]
    metadata = {"conversation": message.conversation, "turn": message.turn, "role": message.role.value}
    return Node(_message_ref(message.id), name, message.at, metadata=metadata)


def _file_node(project: Project, path: str, at: datetime) -> Node:
    return Node(file_ref(project, path), path, at)


def _parts(conversation: Conversation, links: Iterable[Link]) -> Iterator[Edge]:
    """From a conversation to its messages."""
    start, at = _conversation_ref(conversation), _begun(conversation)
    for link in links:
        yield Edge(start, RelationshipType.RELATES_TO, _message_ref(link.id), at, {"part": True})


def _steps(conversation: Conversation, links: Iterable[Link]) -> Iterator[Edge]:
    """From each message of a conversation to the next."""
    at = _begun(conversation)
    for link, following in pairwise(links):
        yield Edge(_message_ref(link.id), RelationshipType.FOLLOWED_BY, _message_ref(following.id), at)


def touches_of(project: Project, message: Message) -> Iterator[Edge]:
    """From a message to the files that it touched."""
    start = _message_ref(message.id)
    for touch in message.touches:
        yield _touch(start, file_ref(project, touch.path), message.at, touch)


def files_of(conversation: Conversation, touches: Iterable[Touch]) -> Iterator[Edge]:
    """From a conversation to the files that its messages touched."""
    start, at = _conversation_ref(conversation), _begun(conversation)
    for touch in touches:
        yield _touch(start, file_ref(conversation.project, touch.path), at, touch)


def _touch(start: NodeRef, file: NodeRef, at: datetime, touch: Touch) -> Edge:
    return Edge(start, RelationshipType.RELATES_TO, file, at, {"changed": touch.changed})


def _subagent(parent: Conversation, conversation: Conversation) -> Edge:
    ends = _conversation_ref(parent), _conversation_ref(conversation)
    return Edge(ends[0], RelationshipType.RELATES_TO, ends[1], _begun(conversation), {"subagent": True})


def _conversation_ref(conversation: Conversation) -> NodeRef:
    return NodeRef(NodeType.CONVERSATION, key_of(conversation.project, conversation.id))


def _message_ref(id: str) -> NodeRef:
    return NodeRef(NodeType.CONVERSATION_MESSAGE, id)


def file_ref(project: Project, path: str) -> NodeRef:
    """How edges name a file's node."""
    return NodeRef(NodeType.FILE, file_key(project, path))


def _begun(conversation: Conversation) -> datetime:
    return conversation.started_at or conversation.ended_at or _UNKNOWN
