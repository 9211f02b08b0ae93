"""The graph store on Ladybug: the port's verbs, each over the parts that do the work.

Free Cypher cannot be kept inside a part of a database, so every graph has a database of its own.
The records are the truth: what is damaged here is made again from them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

from ladybug import Connection

from backstory.adapters.ladybug import files
from backstory.adapters.ladybug.answers import answer
from backstory.adapters.ladybug.bulk import build
from backstory.adapters.ladybug.changes import carry_out, known_types, plan_of
from backstory.adapters.ladybug.cypher import checked
from backstory.adapters.ladybug.database import GraphDatabase, ask, open_alone
from backstory.adapters.ladybug.faults import PoolExhausted, translated
from backstory.adapters.ladybug.shelf import Shelf
from backstory.adapters.ladybug.walks import walk_from
from backstory.model.graph import (
    NO_GRAPH,
    Edge,
    GraphChange,
    GraphKey,
    GraphState,
    Limits,
    Node,
    NodeRef,
    NodeType,
    ReadOnlyCypher,
    RelationshipType,
    Subgraph,
    Table,
    Walk,
)

# An open graph takes 20 MB at least, and 50 once it was written to: 16 of them were 820 MB, 4 are 270.
# Opening one again takes some 20 ms.
MAX_OPEN: Final = 4
# What the log may take until its next checkpoint, and that checkpoint.
MIN_FREE_BYTES: Final = 64 << 20

_EMPTY: Final = Path(":memory:")
_EMPTY_POOL_BYTES: Final = 32 << 20

_Result = TypeVar("_Result")


class LadybugGraphStore:
    """Graphs in files under one folder. Only one process may use a folder, and one store in it."""

    def __init__(self, folder: Path, *, max_open: int, min_free_bytes: int) -> None:
        self._folder = folder
        self._shelf = Shelf(folder, max_open)
        self._min_free_bytes = min_free_bytes

    @classmethod
    @contextmanager
    def open(
        cls, folder: Path, *, max_open: int = MAX_OPEN, min_free_bytes: int = MIN_FREE_BYTES
    ) -> Iterator[Self]:
        """Use the graphs in this folder, and close them in the end."""
        with translated():
            folder.mkdir(parents=True, exist_ok=True)
            files.sweep(folder)
        store = cls(folder, max_open=max_open, min_free_bytes=min_free_bytes)
        try:
            yield store
        finally:
            store.close()

    def close(self) -> None:
        """Close every graph; what runs is waited for."""
        self._shelf.close()

    def write(self, change: GraphChange) -> None:
        """Carry out a change, all or nothing. Of several nodes with one id the last counts."""
        database = self._shelf.take(change.graph)
        with database.changing, translated():
            if not change.nodes and not database.exists:
                return
            files.check_room(self._folder, self._min_free_bytes)
            with self._shelf.open_alone(database):
                with database.reading() as connection:
                    plan = plan_of(change, known_types(connection, change))
                with database.transaction(plan.pairs) as connection:
                    carry_out(connection, plan)

    def load(self, graph: GraphKey, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        """Replace the whole graph, in bulk; until it is complete, readers see the old one."""
        database = self._shelf.take(graph)
        with database.changing, translated(), files.place_to_build(database.folder) as place:
            files.check_room(place, self._min_free_bytes)
            built = build(place, nodes, edges, min_free_bytes=self._min_free_bytes)
            with database.gate.alone():
                database.close()
                files.take_over(database.folder, built)

    def related(self, graph: GraphKey, start: Sequence[NodeRef], walk: Walk) -> Subgraph:
        """Walk from the start nodes, nearest first, always in the same order."""
        database = self._shelf.take(graph)
        if not database.exists:
            return Subgraph([], [])
        return self._read(database, lambda connection: walk_from(connection, start, walk))

    def cypher(self, graph: GraphKey, query: ReadOnlyCypher, limits: Limits) -> Table:
        """Answer a statement somebody else wrote, if all it does is read.

        While it runs, nobody can write to the graph.
        """
        statement = checked(query)
        database = self._shelf.take(graph)
        if not database.exists:
            with open_alone(_EMPTY, pool_bytes=_EMPTY_POOL_BYTES, threads=1) as connection:
                return answer(connection, statement, limits)
        with self._shelf.open(database), database.foreign() as connection:
            return answer(connection, statement, limits)

    def describe(self, graph: GraphKey) -> GraphState:
        """Count what is there, by type."""
        database = self._shelf.take(graph)
        return self._read(database, _counted) if database.exists else NO_GRAPH

    def settle(self, graph: GraphKey) -> bool:
        """Bring the log into the graph's own file; False when there is no log."""
        database = self._shelf.take(graph)
        with database.changing, translated():
            if database.is_settled:
                return False
            files.check_room(self._folder, self._min_free_bytes)
            with self._shelf.open_alone(database):
                database.checkpoint()
            return True

    def drop(self, graph: GraphKey) -> None:
        """Remove a graph; one that is not there is no error."""
        database = self._shelf.take(graph)
        with database.changing, database.gate.alone(), translated():
            database.close()
            files.discard(database.folder)

    def _read(self, database: GraphDatabase, action: Callable[[Connection], _Result]) -> _Result:
        """Read; again, when a foreign statement that had taken all of the buffer pool has ended."""
        with self._shelf.open(database):
            try:
                with database.reading() as connection:
                    return action(connection)
            except PoolExhausted:
                with database.asking, database.reading() as connection:
                    return action(connection)


def _counted(connection: Connection) -> GraphState:
    nodes = {type_: ask(connection, f"MATCH (n:{type_}) RETURN count(*)")[0][0] for type_ in NodeType}
    edges = {
        type_: ask(connection, f"MATCH ()-[e:{type_}]->() RETURN count(*)")[0][0]
        for type_ in RelationshipType
    }
    return GraphState(
        {type_: count for type_, count in nodes.items() if count},
        {type_: count for type_, count in edges.items() if count},
    )
