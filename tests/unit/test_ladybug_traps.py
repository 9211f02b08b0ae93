"""Traps of the embedded graph engine, each with a proof that we do not step into it.

What every engine owes is in the contract suite; what a foreign statement may say is in the suite of
its guard.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ladybug import Connection

from backstory.adapters.ladybug import LadybugGraphStore, schema
from backstory.adapters.ladybug.database import ask, open_alone
from backstory.adapters.ladybug.faults import translated
from backstory.adapters.ladybug.files import folder_of, newest
from backstory.adapters.ladybug.schema import Pair
from backstory.errors import (
    ContentRefused,
    InputError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)
from backstory.model.graph import (
    Direction,
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
    Table,
    Walk,
)
from backstory.model.project import Project

NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)
SHOP = GraphKey(Project("shop"), 1)
CALLS = RelationshipType.CALLS
CALLERS = 20_000
EVERY_PAIR_OF_FUNCTIONS = "MATCH (a:Function), (b:Function) "


def function(number: int) -> Node:
    return Node(NodeRef(NodeType.FUNCTION, f"f{number}"), f"function {number}", NOON)


def call(caller: int, called: int) -> Edge:
    return Edge(function(caller).ref, CALLS, function(called).ref, NOON)


HUB = function(0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LadybugGraphStore]:
    with LadybugGraphStore.open(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LadybugGraphStore]:
    """A graph whose first function everybody calls."""
    with LadybugGraphStore.open(tmp_path_factory.mktemp("crowded")) as opened:
        opened.load(
            SHOP,
            (function(number) for number in range(CALLERS + 1)),
            (call(number, called) for number in range(1, CALLERS + 1) for called in (0, number // 2)),
        )
        yield opened


def write(
    store: LadybugGraphStore, *nodes: Node, edges: tuple[Edge, ...] = (), graph: GraphKey = SHOP
) -> None:
    store.write(GraphChange(graph, nodes=nodes, edges=edges))


def cypher(store: LadybugGraphStore, text: str, limits: Limits | None = None, **parameters: object) -> Table:
    return store.cypher(SHOP, ReadOnlyCypher(text, parameters), limits or Limits())


def names(store: LadybugGraphStore) -> set[str]:
    return {str(name) for [name] in cypher(store, "MATCH (n) RETURN n.id").rows}


def file_of(folder: Path, graph: GraphKey = SHOP) -> Path:
    found = newest(folder_of(folder, graph))
    assert found
    return found


# Statements


ROWS: dict[str, object] = {"rows": [{**schema.node_row(HUB)}]}
ONE: dict[str, object] = {"id": "a"}
PAIR = Pair(CALLS, NodeType.FUNCTION, NodeType.MEMORY)
STATEMENTS: list[tuple[str, dict[str, object]]] = [
    (schema.TYPES_OF_IDS, {"ids": ["a"]}),
    (schema.nodes_by_id(NodeType.FUNCTION), {"ids": ["a"]}),
    (schema.remove_nodes(NodeType.FUNCTION), {"ids": ["a"]}),
    (schema.update_nodes(NodeType.FUNCTION), ROWS),
    *((statement, ONE) for statement in schema.cut_node(NodeType.FUNCTION)),
    *(
        (schema.steps_from(NodeType.FUNCTION, [], outgoing=outgoing, ordered=True, limit=9), ONE)
        for outgoing in (True, False)
    ),
    (schema.remove_edge(PAIR), {"source": "a", "target": "b"}),
    (schema.create_edges(PAIR), {"rows": [{**schema.edge_row(call(0, 1))}]}),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Connection]:
    with open_alone(Path(":memory:"), pool_bytes=64 << 20, threads=1) as connection:
        for pair in (PAIR, Pair(CALLS, NodeType.FUNCTION, NodeType.FUNCTION)):
            connection.execute(schema.add_pair(pair))
        yield connection


def plan(engine: Connection, statement: str, parameters: dict[str, object]) -> str:
    return str(ask(engine, f"EXPLAIN {statement}", **parameters)[0][0])


@pytest.mark.parametrize(("statement", "parameters"), STATEMENTS)
def test_our_statements_find_nodes_by_their_key_and_join_nothing_crosswise(
    engine: Connection, statement: str, parameters: dict[str, object]
) -> None:
    operators = plan(engine, statement, parameters)

    assert "PRIMARY_KEY" in operators
    assert "CROSS_PRODUCT" not in operators


def test_a_plan_shows_the_traps(engine: Connection) -> None:
    both_ends = (
        "UNWIND $rows AS r MATCH (a:Function {id: r.id}), (b:Memory {id: r.id}) CREATE (a)-[:CALLS]->(b)"
    )

    assert "CROSS_PRODUCT" in plan(engine, both_ends, ROWS)
    assert "CROSS_PRODUCT" in plan(engine, "UNWIND $rows AS r MERGE (a:Function {id: r.id})", ROWS)
    assert "PRIMARY_KEY" not in plan(engine, "MATCH (a:Function) WHERE a.id IN $ids RETURN a", {"ids": ["a"]})


def test_a_walk_through_a_hub_takes_a_bounded_number_of_bounded_statements(
    crowded: LadybugGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded.describe(SHOP)  # opens it
    statements: list[str] = []
    execute = Connection.execute

    def spy(self: Connection, query: str, parameters: dict[str, object]) -> object:
        statements.append(query)
        return execute(self, query, parameters)

    monkeypatch.setattr(Connection, "execute", spy)
    walk = Walk(depth=3, fanout=50, frontier=20)

    found = crowded.related(SHOP, [function(CALLERS).ref], walk)

    expanded = 1 + walk.frontier * (walk.depth - 1)
    assert found.truncated
    assert len(statements) <= 1 + expanded * 2 * 2  # two directions, each sorted when it is cut
    assert all(statement.endswith(f"LIMIT {walk.fanout + 1}") for statement in statements[1:])
    assert len(found.edges) <= expanded * walk.fanout


def test_a_walk_cut_at_a_hub_gives_the_same_answer_every_time(crowded: LadybugGraphStore) -> None:
    walk = Walk(fanout=5, direction=Direction.IN)
    in_order = sorted(function(number).ref.id for number in range(1, CALLERS + 1))

    found = crowded.related(SHOP, [HUB.ref], walk)

    assert [reached.node.ref.id for reached in found.nodes[1:]] == in_order[:5]


# Foreign statements


@pytest.mark.parametrize(
    "text",
    [
        "COPY (MATCH (n) RETURN n.id) TO '{folder}/out.csv'",
        "LOAD FROM '{folder}/secret.csv' RETURN *",
        "LOAD FROM frame RETURN *",
        "CALL threads=1",
        "MATCH (n) RETURN n; COPY (RETURN 1) TO '{folder}/out.csv'",
        "MATCH (n) DETACH DELETE n",
    ],
)
def test_a_foreign_statement_reaches_nothing_but_the_graph(
    store: LadybugGraphStore, tmp_path: Path, text: str
) -> None:
    write(store, HUB)
    (tmp_path / "secret.csv").write_text("password")
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})()

    with pytest.raises(InputError) as refused:
        cypher(store, text.format(folder=tmp_path))

    assert refused.value.hint
    assert frame
    assert names(store) == {"f0"}
    assert not (tmp_path / "out.csv").exists()


def test_a_foreign_statement_gets_plain_json_values(store: LadybugGraphStore) -> None:
    caller = Node(NodeRef(NodeType.MEMORY, "m"), "ü", NOON, "m", {"a": 1})
    relates = Edge(caller.ref, RelationshipType.RELATES_TO, HUB.ref, NOON, {"b": [2]})
    write(store, caller, HUB, edges=(relates,))
    node = {
        "_label": "Memory",
        "id": "m",
        "name": "ü",
        "memory_id": "m",
        "created_at": "2025-03-01T12:00:00+00:00",
        "metadata": '{"a": 1}',
    }
    edge = {"_label": "RELATES_TO", "created_at": "2025-03-01T12:00:00+00:00", "metadata": '{"b": [2]}'}

    found = cypher(
        store,
        "MATCH p = (n:Memory)-[e]->(m) RETURN n, e, nodes(p)[1] AS first, n.created_at AS at, [1, 2.5, null],"
        " {a: true}, date('2025-03-01'), interval('1 day'), sqrt(-1.0), map(['k'], [1]), $given AS given, p",
        given={"x": [1]},
    )

    [[*values, path]] = found.rows
    assert values == [
        node,
        edge,
        node,
        "2025-03-01T12:00:00+00:00",
        [1, 2.5, None],
        {"a": True},
        "2025-03-01",
        86400.0,
        None,
        {"k": 1},
        {"x": [1]},
    ]
    assert isinstance(path, dict)
    assert path["relationships"] == [edge]
    assert [each["id"] for each in path["nodes"]] == ["m", "f0"]
    assert found.columns[:4] == ["n", "e", "first", "at"]
    assert json.loads(json.dumps(found.rows, allow_nan=False)) == found.rows


def test_a_foreign_statement_gets_as_many_rows_as_it_may(crowded: LadybugGraphStore) -> None:
    cut = cypher(crowded, "MATCH (n) RETURN n.id", Limits(max_rows=3))
    whole = cypher(crowded, "MATCH (n) RETURN n.id LIMIT 3", Limits(max_rows=3))

    assert len(cut.rows) == len(whole.rows) == 3
    assert cut.truncated
    assert not whole.truncated


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("MATCH (n RETURN n", "Parser exception"),
        ("MATCH (n:Unheard) RETURN n", "Unheard does not exist"),
        ("MATCH (n) RETURN n.unheard", "Cannot find property unheard"),
        ("MATCH (n) RETURN m", "m is not in scope"),
        ("RETURN 1 / 0", "Divide by zero"),
        ("RETURN cast('x' AS INT64)", "Conversion exception"),
        ("UNWIND $value AS x RETURN x", "LIST was expected"),
    ],
)
def test_a_statement_the_engine_cannot_run_is_the_askers_mistake(
    store: LadybugGraphStore, text: str, reason: str
) -> None:
    write(store, HUB)

    with pytest.raises(InputError, match=reason) as refused:
        cypher(store, text, value=1)

    assert refused.value.hint


def test_a_graph_nobody_wrote_to_answers_as_an_empty_one_and_is_not_made(
    store: LadybugGraphStore, tmp_path: Path
) -> None:
    counted = cypher(store, "MATCH (f:Function)-[:CALLS]->(g) RETURN count(*) AS calls")
    with pytest.raises(InputError, match="Parser exception"):
        cypher(store, "MATCH (n RETURN n")

    assert counted == Table(["calls"], [[0]])
    store.related(SHOP, [HUB.ref], Walk())
    store.describe(SHOP)
    store.write(GraphChange(SHOP, remove=[HUB.ref], edges=[call(0, 1)]))
    assert list(tmp_path.iterdir()) == []


def test_any_relationship_can_be_asked_for_between_any_types(store: LadybugGraphStore) -> None:
    write(store, HUB)

    for relationship in RelationshipType:
        assert cypher(store, f"MATCH (:Function)-[e:{relationship}]-(:Test) RETURN e").rows == []


def test_a_statement_that_takes_too_long_is_stopped(crowded: LadybugGraphStore) -> None:
    with pytest.raises(InputError) as refused:
        cypher(
            crowded,
            EVERY_PAIR_OF_FUNCTIONS + "WHERE a.name + 'x' < b.name RETURN count(*)",
            Limits(timeout_s=0.05),
        )

    assert refused.value.hint


def test_a_statement_that_takes_all_memory_disturbs_nobody(crowded: LadybugGraphStore) -> None:
    over = threading.Event()

    def exhaust() -> None:
        try:
            for _ in range(3):
                with pytest.raises(InputError, match="memory"):
                    cypher(crowded, EVERY_PAIR_OF_FUNCTIONS + "RETURN DISTINCT a.name, b.name")
        finally:
            over.set()

    def look() -> int:
        looks = 0
        while not over.is_set() or not looks:
            assert crowded.related(SHOP, [HUB.ref], Walk(fanout=10)).truncated
            looks += 1
        return looks

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(look) for _ in range(2)]
        pool.submit(exhaust).result()
        assert all(reader.result() for reader in readers)
    write(crowded, function(CALLERS + 1))


# Files, processes and the disk


IN_ANOTHER_PROCESS = """
import os, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from backstory.adapters.ladybug import LadybugGraphStore
from backstory.errors import *
from backstory.model.graph import *
from backstory.model.project import Project

FOLDER = Path(sys.argv[1])
SHOP = GraphKey(Project("shop"), 1)

def node(number, size=1):
    ref = NodeRef(NodeType.FUNCTION, f"f{number}")
    return Node(ref, "x" * size, datetime(2025, 3, 1, tzinfo=UTC))

def write(store, number, size=1):
    new, hub = node(number, size), node(0)
    edge = Edge(new.ref, RelationshipType.CALLS, hub.ref, new.created_at)
    store.write(GraphChange(SHOP, nodes=[new], edges=[edge]))
"""


def start(folder: Path, script: str) -> subprocess.Popen[str]:
    source = f"{IN_ANOTHER_PROCESS}\n{script}"
    return subprocess.Popen([sys.executable, "-c", source, str(folder)], stdout=subprocess.PIPE, text=True)


def run(folder: Path, script: str) -> list[str]:
    process = start(folder, script)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.split()


WRITES_UNTIL_KILLED = """
with LadybugGraphStore.open(FOLDER) as store:
    for number in range(1_000_000):
        write(store, number)
        print(number, flush=True)
"""


def acknowledged_before_the_kill(folder: Path) -> int:
    process = start(folder, WRITES_UNTIL_KILLED)
    assert process.stdout
    while int(process.stdout.readline()) < 20:
        pass
    process.kill()
    output, _ = process.communicate()
    complete = output.split("\n")[:-1]
    return int(complete[-1]) if complete else 20


def test_a_killed_process_loses_nothing_it_was_told_was_written(tmp_path: Path) -> None:
    last = acknowledged_before_the_kill(tmp_path)

    with LadybugGraphStore.open(tmp_path) as store:
        state = store.describe(SHOP)
        assert state.nodes[NodeType.FUNCTION] >= last + 1
        assert state.edges[CALLS] >= last + 1


def test_a_log_that_breaks_off_in_the_middle_of_a_write_is_read_up_to_there(tmp_path: Path) -> None:
    last = acknowledged_before_the_kill(tmp_path)
    database = file_of(tmp_path)
    log = database.with_name(f"{database.name}.wal")
    os.truncate(log, log.stat().st_size - 7)

    with LadybugGraphStore.open(tmp_path) as store:
        assert store.describe(SHOP).nodes[NodeType.FUNCTION] >= last
        write(store, function(1_000_000))
    with LadybugGraphStore.open(tmp_path) as store:
        assert "f1000000" in names(store)


def test_a_process_killed_while_loading_leaves_the_old_graph(tmp_path: Path) -> None:
    with LadybugGraphStore.open(tmp_path) as store:
        write(store, HUB)
    killed = start(
        tmp_path,
        """
def nodes():
    for number in range(5000):
        yield node(number)
    os.kill(os.getpid(), 9)

with LadybugGraphStore.open(FOLDER) as store:
    store.load(SHOP, nodes(), [])
""",
    )

    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    with LadybugGraphStore.open(tmp_path) as store:
        assert names(store) == {"f0"}
        store.load(SHOP, [function(1)], [])
        assert names(store) == {"f1"}
    assert [each.name for each in file_of(tmp_path).parent.iterdir()] == ["2.lbug"]


def test_a_graph_that_another_process_has_open_is_locked(store: LadybugGraphStore, tmp_path: Path) -> None:
    write(store, HUB)

    said = run(
        tmp_path,
        """
with LadybugGraphStore.open(FOLDER) as store:
    for attempt in (lambda: store.describe(SHOP), lambda: write(store, 1)):
        try:
            attempt()
        except StoreLocked as locked:
            print("locked" if locked.hint else "unhelpful")
""",
    )

    assert said == ["locked", "locked"]
    assert names(store) == {"f0"}


def test_a_full_disk_in_the_middle_of_a_write_loses_nothing_and_passes(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
def limit(soft):
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

with LadybugGraphStore.open(FOLDER) as store:
    write(store, 0)
    limit(300_000)
    last = 0
    try:
        while True:
            write(store, last + 1, size=9000)
            last += 1
    except StoreFull as full:
        print("full" if full.hint else "unhelpful")
    print(store.describe(SHOP).nodes[NodeType.FUNCTION] == last + 1)
    try:
        write(store, last + 1, size=900_000)
    except StoreError as still:
        print(isinstance(still, StoreFull))
    limit(resource.RLIM_INFINITY)
    write(store, last + 1)
    print(store.describe(SHOP).nodes[NodeType.FUNCTION] == last + 2)
with LadybugGraphStore.open(FOLDER) as store:
    print(store.describe(SHOP).nodes[NodeType.FUNCTION] == last + 2)
""",
    )

    assert said == ["full", "True", "True", "True", "True"]


def test_nothing_is_written_to_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    with LadybugGraphStore.open(tmp_path) as store:
        write(store, HUB)
    with LadybugGraphStore.open(tmp_path, min_free_bytes=1 << 60) as store:
        with pytest.raises(StoreFull, match="MB left"):
            write(store, function(1))
        with pytest.raises(StoreFull, match="MB left"):
            store.load(SHOP, [function(1)], [])

        assert names(store) == {"f0"}


@pytest.mark.parametrize("damage", ["garbage", "cut", "header"])
def test_a_damaged_file_is_told_of_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    with LadybugGraphStore.open(tmp_path) as store:
        write(store, HUB)
    path = file_of(tmp_path)
    sound = path.read_bytes()
    damaged = {
        "garbage": b"no database" * 999,
        "cut": sound[: len(sound) // 2],
        "header": b"x" * 64 + sound[64:],
    }
    path.write_bytes(damaged[damage])

    with LadybugGraphStore.open(tmp_path) as store:
        with pytest.raises(StoreCorrupt) as corrupt:
            store.describe(SHOP)
        with pytest.raises(StoreCorrupt):
            write(store, function(1))
        assert "backstory rebuild" in (corrupt.value.hint or "")
        assert path.read_bytes() == damaged[damage]

        store.drop(SHOP)
        write(store, function(1))
        assert names(store) == {"f1"}


def test_a_load_that_fails_leaves_nothing_behind(store: LadybugGraphStore, tmp_path: Path) -> None:
    write(store, HUB)

    with pytest.raises(ContentRefused):
        store.load(SHOP, [function(1), Node(HUB.ref, "\ud800", NOON)], [])

    assert {each.suffix for each in file_of(tmp_path).parent.iterdir()} == {".lbug", ".wal"}


def test_a_change_may_have_more_rows_than_a_statement_takes(store: LadybugGraphStore) -> None:
    nodes = [function(number) for number in range(2500)]

    write(store, *nodes, edges=tuple(call(number, 0) for number in range(2500)))

    assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 2500}, {CALLS: 2500})


def test_a_graph_can_be_loaded_in_a_folder_with_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "it's [not] a {glob}? * ü"
    with LadybugGraphStore.open(folder) as store:
        store.load(SHOP, [HUB], [])
        assert names(store) == {"f0"}


def test_what_was_written_is_there_when_the_folder_is_opened_again(tmp_path: Path) -> None:
    with LadybugGraphStore.open(tmp_path) as store:
        write(store, HUB, function(1), edges=(call(0, 1),))
    with LadybugGraphStore.open(tmp_path) as store:
        assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 2}, {CALLS: 1})


def test_a_dropped_graph_leaves_no_files(store: LadybugGraphStore, tmp_path: Path) -> None:
    write(store, HUB)

    store.drop(SHOP)

    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_settling_empties_the_log_once(store: LadybugGraphStore, tmp_path: Path) -> None:
    write(store, HUB)
    database = file_of(tmp_path)
    assert database.with_name(f"{database.name}.wal").exists()

    assert store.settle(SHOP)

    assert not database.with_name(f"{database.name}.wal").exists()
    assert not store.settle(SHOP)


def test_changes_to_many_tables_do_not_pile_up_in_memory(store: LadybugGraphStore) -> None:
    nodes = [Node(NodeRef(label, str(label)), "", NOON) for label in NodeType]
    first = nodes[0]
    edges = [Edge(first.ref, label, node.ref, NOON) for node in nodes[:3] for label in RelationshipType]

    write(store, *nodes, edges=tuple(edges))

    assert not store.settle(SHOP)  # it settled by itself


# Many graphs


def keys(count: int) -> list[GraphKey]:
    return [GraphKey(Project(f"project {number}"), 1) for number in range(count)]


def open_graphs(store: LadybugGraphStore) -> int:
    return sum(database.is_open for database in store._shelf._databases.values())


def test_more_graphs_can_be_open_than_the_engine_has_addresses_for_by_default(tmp_path: Path) -> None:
    with LadybugGraphStore.open(tmp_path, max_open=20) as store:
        for key in keys(20):
            write(store, HUB, graph=key)

        assert open_graphs(store) == 20


def test_the_graph_unused_for_longest_is_closed_first(tmp_path: Path) -> None:
    first, second, third = keys(3)
    with LadybugGraphStore.open(tmp_path, max_open=2) as store:
        write(store, HUB, graph=first)
        write(store, HUB, graph=second)
        store.describe(first)
        write(store, HUB, graph=third)

        assert [store._shelf.take(key).is_open for key in (first, second, third)] == [True, False, True]
        assert store.describe(second).nodes == {NodeType.FUNCTION: 1}


def test_a_graph_in_use_is_not_closed(tmp_path: Path) -> None:
    first, *others = keys(3)
    with LadybugGraphStore.open(tmp_path, max_open=1) as store:
        write(store, HUB, graph=first)
        database = store._shelf.take(first)
        with store._shelf.open(database), database.reading() as connection:
            for key in others:
                write(store, HUB, graph=key)

            assert ask(connection, "MATCH (n) RETURN count(*)") == [[1]]
        assert open_graphs(store) == 2


def test_many_threads_share_fewer_open_graphs_than_they_use(tmp_path: Path) -> None:
    graphs = keys(3)
    with LadybugGraphStore.open(tmp_path, max_open=1) as store:

        def work(number: int) -> None:
            for round_ in range(6):
                graph = graphs[(number + round_) % len(graphs)]
                write(store, function(number), HUB, edges=(call(number, 0),), graph=graph)
                assert store.related(graph, [HUB.ref], Walk()).edges

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(work, number) for number in range(1, 5)]:
                done.result()

        for graph in graphs:
            assert store.describe(graph).edges == {CALLS: 4}


def test_nobody_writes_while_somebody_reads(store: LadybugGraphStore) -> None:
    write(store, HUB, function(1))
    database = store._shelf.take(SHOP)
    with ThreadPoolExecutor(1) as pool:
        with store._shelf.open(database), database.reading() as connection:
            first_call = pool.submit(write, store, edges=(call(0, 1),))
            while not database.gate._queue and not first_call.done():
                pass

            assert not first_call.done()
            assert ask(connection, "MATCH (:Function)-[e:CALLS]->(:Function) RETURN e") == []
        first_call.result()
    assert store.describe(SHOP).edges == {CALLS: 1}


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    with LadybugGraphStore.open(tmp_path) as store:
        write(store, HUB)

    with pytest.raises(StoreUnavailable):
        store.describe(SHOP)


# Errors


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        ("IO exception: Could not set lock on file : /x (Lock is held by PID 1)", StoreLocked),
        ("IO exception: Cannot open file /x: Permission denied", StoreReadOnly),
        ("IO exception: Cannot write to file. path: /x.db.wal ... Error: Success", StoreFull),
        ("IO exception: Cannot write to file. path: /x.db ... No space left on device", StoreFull),
        ("Runtime exception: Trying to read a database file with a different version.", StoreTooNew),
        ("Runtime exception: Invalid header. The database file may be corrupted.", StoreCorrupt),
        ("WAL is in a panic state and refuses further writes until restart.", StoreUnavailable),
        ("Buffer manager exception: The buffer pool is full and no memory could be freed!", StoreUnavailable),
        ("std::bad_alloc", StoreUnavailable),
        ("IO exception: Cannot open file /x: Too many open files", StoreUnavailable),
        ("Interrupted.", InputError),
        ("Unable to cast Python instance of type <class 'str'> to C++ type '?'", ContentRefused),
        ("something new", StoreError),
    ],
)
def test_every_failure_of_the_engine_becomes_an_error_of_ours(words: str, ours: type[Exception]) -> None:
    with pytest.raises(ours, match=re.escape(words)) as raised, translated():
        raise RuntimeError(words)

    assert isinstance(raised.value, StoreError | InputError)
    assert raised.value.hint
    assert isinstance(raised.value.__cause__, RuntimeError)


@pytest.mark.parametrize("passing", [KeyboardInterrupt(), StoreFull("ours")])
def test_other_errors_pass_the_translation(passing: BaseException) -> None:
    with pytest.raises(type(passing)) as raised, translated(), nullcontext():
        raise passing

    assert raised.value is passing
