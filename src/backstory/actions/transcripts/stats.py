"""How much of what was said is kept, how well it was captured, and what still waits."""

from collections.abc import Mapping
from dataclasses import dataclass

from backstory.actions.projection import graph
from backstory.actions.projection.disk import used_bytes
from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.conversation import ConversationCounts
from backstory.model.graph import GraphKey, NodeType
from backstory.model.passage import Index
from backstory.model.project import Project, Scope
from backstory.model.upkeep import Target


@dataclass(frozen=True, slots=True)
class ConversationStats:
    """Counts inside the scope; of the whole store: vectors, storage, files, and what waits.

    What waits is `pending` for each target; `refused` will not be tried again until it changes, because an
    engine does not take it. `capture_rate` is the share of the files' records that could be read. `vectors`
    and `graph_messages` are None when they cannot be counted; the graph is counted for one project only.
    """

    counts: ConversationCounts
    vectors: int | None
    graph_messages: int | None
    storage_bytes: Mapping[str, int]
    capture_rate: float
    pending: Mapping[str, int]
    refused: Mapping[str, int]
    files: int
    failed: int


def conversation_stats(engine: Engine, scope: Scope) -> ConversationStats:
    """What is kept of conversations, and how it is doing."""
    with engine.records.reading() as records:
        counts = records.conversations.counts(scope)
        files = records.transcript_files.counts()
        pending = {target.value: count for target, count in records.marks.count().items()}
        refused = {target.value: records.marks.count_refused(target) for target in Target}
    seen = files.records + files.unreadable
    return ConversationStats(
        counts=counts,
        vectors=_vectors(engine),
        graph_messages=_graph_messages(engine, scope),
        storage_bytes=used_bytes(engine),
        capture_rate=files.records / seen if seen else 1.0,
        pending=pending,
        refused={target: count for target, count in refused.items() if count},
        files=files.files,
        failed=files.failed,
    )


def _vectors(engine: Engine) -> int | None:
    with engine.records.reading() as records:
        live = records.generations.live(Index.TURNS.value)
    try:
        states = engine.vectors.describe()
    except StoreError:
        return None
    return states[live.name].entries if live and live.name in states else None


def _graph_messages(engine: Engine, scope: Scope) -> int | None:
    """Counted in one project only: each has a database of its own, and few of them are open."""
    with engine.records.reading() as records:
        live = records.generations.live(graph.TARGET)
    if live is None or not isinstance(scope, Project):
        return None
    try:
        state = engine.graph.describe(GraphKey(scope, live.number))
    except StoreError:
        return None
    return state.nodes.get(NodeType.CONVERSATION_MESSAGE, 0)
