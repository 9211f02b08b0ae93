"""What every GraphStore promises, asked of every implementation."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import count, cycle, pairwise, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.adapters.ladybug import LadybugGraphStore
from backstory.errors import ContentRefused
from backstory.model.graph import (
    NO_GRAPH,
    Direction,
    Edge,
    GraphChange,
    GraphKey,
    GraphState,
    Node,
    NodeRef,
    NodeType,
    RelationshipType,
    Subgraph,
    Walk,
)
from backstory.model.project import MAX_NAME_CHARS, Project
from backstory.ports import GraphStore
from backstory.testing.graph import InMemoryGraphStore

NOON = datetime(2025, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
SHOP = GraphKey(Project("shop"), 1)

CALLS, IMPORTS, RELATES_TO = (
    RelationshipType.CALLS,
    RelationshipType.IMPORTS,
    RelationshipType.RELATES_TO,
)

STORES: dict[str, Callable[[Path], AbstractContextManager[GraphStore]]] = {
    "in-memory": lambda folder: nullcontext(InMemoryGraphStore()),
    "ladybug": LadybugGraphStore.open,
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    with STORES[request.param](tmp_path) as opened:
        yield opened


def node(id: str, label: NodeType = NodeType.FUNCTION) -> Node:
    return Node(NodeRef(label, id), f"the {id}", NOON)


def edge(start: Node, end: Node, label: RelationshipType = CALLS) -> Edge:
    return Edge(start.ref, label, end.ref, NOON)


A, B, C, D = map(node, "abcd")
NOTE = node("note", NodeType.MEMORY)


def write(
    store: GraphStore, nodes: Sequence[Node] = (), edges: Sequence[Edge] = (), graph: GraphKey = SHOP
) -> None:
    store.write(GraphChange(graph, nodes=nodes, edges=edges))


def chain(store: GraphStore, *nodes: Node) -> None:
    write(store, nodes, [edge(start, end) for start, end in pairwise(nodes)])


def around(store: GraphStore, *start: Node, walk: Walk | None = None, graph: GraphKey = SHOP) -> Subgraph:
    return store.related(graph, [each.ref for each in start], walk or Walk())


def ids(subgraph: Subgraph) -> list[str]:
    return [reached.node.ref.id for reached in subgraph.nodes]


def depths(subgraph: Subgraph) -> dict[str, int]:
    return {reached.node.ref.id: reached.depth for reached in subgraph.nodes}


def arrows(subgraph: Subgraph) -> list[str]:
    return [f"{each.start.id} {each.type} {each.end.id}" for each in subgraph.edges]


def the_node(store: GraphStore, wanted: Node) -> Node:
    [reached] = around(store, wanted, walk=Walk(depth=0)).nodes
    return reached.node


def test_a_written_node_comes_back_as_it_was(store: GraphStore) -> None:
    written = Node(
        NodeRef(NodeType.MEMORY, "m1"),
        "retry policy",
        NOON,
        memory_id="memory-1",
        metadata={"tags": ["x", "y"], "weight": 0.5, "nested": {"ok": True, "none": None}},
    )

    write(store, [written])

    assert the_node(store, written) == written


def test_a_written_edge_comes_back_as_it_was(store: GraphStore) -> None:
    written = Edge(A.ref, CALLS, B.ref, NOON, {"line": 12, "certain": False})

    write(store, [A, B], [written])

    assert around(store, A).edges == [written]


def test_times_come_back_in_utc_to_the_microsecond(store: GraphStore) -> None:
    there = datetime(2025, 3, 1, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=-5)))
    old = datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    write(store, [replace(A, created_at=there), replace(B, created_at=old)])

    assert the_node(store, A).created_at == there
    assert the_node(store, A).created_at.utcoffset() == timedelta(0)
    assert the_node(store, B).created_at == old


def test_writing_a_node_again_replaces_it_and_keeps_its_edges(store: GraphStore) -> None:
    write(store, [replace(A, memory_id="old", metadata={"old": 1}), B], [edge(A, B), edge(B, A)])
    again = replace(A, name="renamed", created_at=NOON + timedelta(days=1), metadata={"new": 2})

    write(store, [again])

    assert the_node(store, A) == again
    assert arrows(around(store, A)) == ["a CALLS b", "b CALLS a"]


def test_of_several_nodes_with_one_id_in_a_change_the_last_counts(store: GraphStore) -> None:
    write(store, [A, replace(A, name="second"), replace(A, name="third")])

    assert the_node(store, A).name == "third"


def test_an_id_is_one_nodes_over_all_types(store: GraphStore) -> None:
    chain(store, A, B)
    as_class = node("a", NodeType.CLASS)

    write(store, [as_class])

    assert ids(around(store, A, walk=Walk(depth=0))) == []
    assert the_node(store, as_class) == as_class
    assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 1, NodeType.CLASS: 1}, {})


def test_an_edge_is_there_at_most_once(store: GraphStore) -> None:
    write(store, [A, B], [edge(A, B), edge(A, B)])
    again = replace(edge(A, B), created_at=NOON + timedelta(hours=1), metadata={"line": 7})

    write(store, edges=[edge(A, B), again])

    assert around(store, A).edges == [again]
    assert store.describe(SHOP).edges == {CALLS: 1}


def test_edges_of_other_types_and_the_other_way_are_other_edges(store: GraphStore) -> None:
    write(store, [A, B], [edge(A, B), edge(A, B, IMPORTS), edge(B, A), edge(A, A)])

    assert arrows(around(store, A)) == ["a CALLS a", "a CALLS b", "b CALLS a", "a IMPORTS b"]
    assert store.describe(SHOP).edges == {CALLS: 3, IMPORTS: 1}


def test_an_edge_without_its_end_is_left_out_until_the_end_comes_with_it(store: GraphStore) -> None:
    write(store, [A], [edge(A, B), edge(B, A)])

    assert around(store, A).edges == []

    write(store, [B])

    assert around(store, A).edges == []

    write(store, [B], [edge(A, B)])

    assert arrows(around(store, A)) == ["a CALLS b"]


def test_an_edge_to_a_node_of_another_type_is_left_out(store: GraphStore) -> None:
    write(store, [A, B], [edge(A, node("b", NodeType.CLASS))])

    assert store.describe(SHOP).edges == {}


def test_removing_a_node_removes_its_edges_both_ways(store: GraphStore) -> None:
    chain(store, A, B, C)

    store.write(GraphChange(SHOP, remove=[B.ref]))

    assert ids(around(store, A, B, C)) == ["a", "c"]
    assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 2}, {})


def test_removing_or_cutting_what_is_not_there_is_no_error(store: GraphStore) -> None:
    store.write(GraphChange(SHOP, remove=[A.ref], cut=[A.ref]))
    write(store, [A])

    store.write(
        GraphChange(SHOP, remove=[B.ref, NodeRef(NodeType.CLASS, "a")], cut=[C.ref], edges=[edge(B, C)])
    )

    assert the_node(store, A) == A


def test_cutting_a_node_keeps_it_without_edges(store: GraphStore) -> None:
    write(store, [A, B, C], [edge(A, B), edge(B, C), edge(B, B), edge(A, C)])

    store.write(GraphChange(SHOP, cut=[B.ref]))

    assert ids(around(store, B)) == ["b"]
    assert arrows(around(store, A)) == ["a CALLS c"]


def test_a_change_removes_then_cuts_then_puts_nodes_then_edges(store: GraphStore) -> None:
    write(store, [A, B, C], [edge(A, B), edge(C, A), edge(B, C)])
    new_a = replace(A, name="new")

    store.write(
        GraphChange(SHOP, remove=[A.ref], cut=[C.ref], nodes=[new_a, D], edges=[edge(A, D), edge(C, B)])
    )

    assert the_node(store, A) == new_a
    assert set(arrows(around(store, A, B, C, D))) == {"a CALLS d", "c CALLS b"}


def test_a_change_that_fails_changes_nothing(store: GraphStore) -> None:
    chain(store, A, B)
    unspeakable = replace(C, metadata={"value": object()})

    with pytest.raises(ContentRefused):
        store.write(GraphChange(SHOP, remove=[A.ref], nodes=[D, unspeakable], edges=[edge(B, D)]))

    assert ids(around(store, A, B, C, D)) == ["a", "b"]
    assert arrows(around(store, A)) == ["a CALLS b"]


def test_depth_zero_gives_the_start_nodes_that_exist(store: GraphStore) -> None:
    chain(store, A, B)

    found = around(store, B, C, A, B, walk=Walk(depth=0))

    assert depths(found) == {"b": 0, "a": 0}
    assert found.edges == []
    assert not found.truncated


def test_a_walk_goes_as_deep_as_it_is_told(store: GraphStore) -> None:
    chain(store, A, B, C, D)

    assert depths(around(store, A, walk=Walk(depth=2))) == {"a": 0, "b": 1, "c": 2}
    assert arrows(around(store, A, walk=Walk(depth=2))) == ["a CALLS b", "b CALLS c"]
    assert depths(around(store, A, walk=Walk(depth=9))) == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_a_walk_gives_each_node_once_at_its_smallest_depth(store: GraphStore) -> None:
    write(store, [A, B, C, D], [edge(A, B), edge(B, C), edge(A, C), edge(C, D), edge(D, A), edge(B, B)])

    found = around(store, A, walk=Walk(depth=5, direction=Direction.OUT))

    assert [(each.node.ref.id, each.depth) for each in found.nodes] == [
        ("a", 0),
        ("b", 1),
        ("c", 1),
        ("d", 2),
    ]
    assert len(found.edges) == 6


@pytest.mark.parametrize(
    ("direction", "reached"),
    [(Direction.OUT, ["b", "c"]), (Direction.IN, ["b", "a"]), (Direction.BOTH, ["b", "a", "c"])],
)
def test_a_walk_keeps_its_direction(store: GraphStore, direction: Direction, reached: list[str]) -> None:
    chain(store, A, B, C)

    assert ids(around(store, B, walk=Walk(direction=direction))) == reached


def test_a_walk_follows_only_the_types_it_is_told(store: GraphStore) -> None:
    write(store, [A, B, C, D], [edge(A, B), edge(A, C, IMPORTS), edge(A, D, RELATES_TO), edge(C, B)])

    found = around(store, A, walk=Walk(depth=1, types=[IMPORTS, RELATES_TO]))

    assert arrows(found) == ["a IMPORTS c", "a RELATES_TO d"]


def test_fan_out_cuts_the_edges_of_a_node_and_says_so(store: GraphStore) -> None:
    leaves = [node(f"leaf{number}") for number in range(5)]
    write(store, [A, *leaves], [edge(A, leaf) for leaf in leaves])

    cut = around(store, A, walk=Walk(fanout=3))
    whole = around(store, A, walk=Walk(fanout=5))

    assert ids(cut) == ["a", "leaf0", "leaf1", "leaf2"]
    assert len(cut.edges) == 3
    assert cut.truncated
    assert len(whole.edges) == 5
    assert not whole.truncated


def test_fan_out_counts_edges_of_both_directions_together(store: GraphStore) -> None:
    write(store, [A, B, C, D], [edge(A, B), edge(C, A), edge(A, D)])

    found = around(store, A, walk=Walk(fanout=2))

    assert arrows(found) == ["a CALLS b", "c CALLS a"]
    assert found.truncated


def test_the_frontier_cuts_the_nodes_that_are_expanded_and_says_so(store: GraphStore) -> None:
    write(store, [A, B, C, D], [edge(A, B), edge(A, C), edge(C, D)])

    cut = around(store, A, walk=Walk(depth=2, frontier=1))
    last_step = around(store, A, walk=Walk(depth=1, frontier=1))

    assert depths(cut) == {"a": 0, "b": 1, "c": 1}
    assert cut.truncated
    assert not last_step.truncated


def test_walks_from_several_starts_expand_the_first_ones_first(store: GraphStore) -> None:
    write(store, [A, B, C, D], [edge(A, C), edge(B, D)])

    found = around(store, B, A, walk=Walk(frontier=1))

    assert ids(found) == ["b", "a", "d"]
    assert found.truncated


def test_every_type_of_node_can_be_joined_by_every_type_of_relationship(store: GraphStore) -> None:
    nodes = [node(f"a {label}", label) for label in NodeType]
    types = cycle(RelationshipType)
    edges = [edge(start, end, next(types)) for start, end in list(product(nodes, nodes))[::3]]

    write(store, nodes, edges[:20])
    write(store, nodes, edges[20:])

    state = store.describe(SHOP)
    assert state.nodes == dict.fromkeys(NodeType, 1)
    assert state.edges.keys() == set(RelationshipType)
    assert set(arrows(around(store, *nodes))) == {
        f"{each.start.id} {each.type} {each.end.id}" for each in edges
    }


def test_graphs_of_two_projects_and_two_generations_never_mix(store: GraphStore) -> None:
    keys = [
        SHOP,
        GraphKey(Project("Shop"), 1),
        GraphKey(Project("shop "), 1),
        GraphKey(Project("shop"), 2),
        GraphKey(Project("š"), 1),
        GraphKey(Project("…" * MAX_NAME_CHARS), 1),
        GraphKey(Project("../../" + "etc/" * 100), 1),
    ]
    for number, key in enumerate(keys):
        write(store, [replace(A, name=f"in {number}"), node(f"only {number}")], graph=key)
    store.drop(keys[1])

    for number, key in enumerate(keys):
        found = around(store, A, walk=Walk(depth=0), graph=key)
        assert [each.node.name for each in found.nodes] == ([] if number == 1 else [f"in {number}"])


def test_what_was_never_written_is_empty(store: GraphStore) -> None:
    assert around(store, A) == Subgraph([], [])
    assert store.describe(SHOP) == NO_GRAPH
    assert not store.settle(SHOP)
    store.drop(SHOP)


def test_describing_counts_only_what_is_there(store: GraphStore) -> None:
    write(store, [A, B, NOTE], [edge(A, B), edge(NOTE, A, RELATES_TO), edge(NOTE, B, RELATES_TO)])

    assert store.describe(SHOP) == GraphState(
        {NodeType.FUNCTION: 2, NodeType.MEMORY: 1}, {CALLS: 1, RELATES_TO: 2}
    )


def test_loading_replaces_the_whole_graph(store: GraphStore) -> None:
    chain(store, A, B)

    store.load(SHOP, iter([C, NOTE, D]), iter([edge(C, D), edge(NOTE, C, RELATES_TO)]))

    assert ids(around(store, A, B, C, D, NOTE, walk=Walk(depth=0))) == ["c", "d", "note"]
    assert store.describe(SHOP).edges == {CALLS: 1, RELATES_TO: 1}
    assert the_node(store, NOTE) == NOTE


def test_loading_leaves_out_loose_edges_and_duplicates(store: GraphStore) -> None:
    store.load(
        SHOP,
        [A, B, replace(A, name="again"), node("a", NodeType.CLASS)],
        [
            edge(A, B),
            replace(edge(A, B), metadata={"second": 1}),
            edge(A, C),
            edge(A, node("b", NodeType.FILE)),
        ],
    )

    assert around(store, A).edges == [edge(A, B)]
    assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 2}, {CALLS: 1})
    assert the_node(store, A) == A


def test_a_loaded_graph_can_be_written_to_and_loaded_again(store: GraphStore) -> None:
    store.load(SHOP, [A, B], [edge(A, B)])
    write(store, [C], [edge(B, C), edge(A, B)])

    assert arrows(around(store, B)) == ["a CALLS b", "b CALLS c"]

    store.load(SHOP, [D], [])

    assert store.describe(SHOP) == GraphState({NodeType.FUNCTION: 1}, {})


def test_loading_nothing_gives_an_empty_graph(store: GraphStore) -> None:
    chain(store, A, B)

    store.load(SHOP, [], [])

    assert store.describe(SHOP) == NO_GRAPH


def test_loading_that_fails_leaves_the_old_graph(store: GraphStore) -> None:
    chain(store, A, B)

    with pytest.raises(ContentRefused):
        store.load(SHOP, [C, replace(D, name="\ud800")], [])

    assert arrows(around(store, A)) == ["a CALLS b"]


def test_a_dropped_graph_is_gone_and_can_be_written_again(store: GraphStore) -> None:
    chain(store, A, B)

    store.drop(SHOP)

    assert store.describe(SHOP) == NO_GRAPH
    write(store, [A])
    assert ids(around(store, A)) == ["a"]


def test_settling_changes_nothing_that_is_seen(store: GraphStore) -> None:
    chain(store, A, B, C)
    before = around(store, A, walk=Walk(depth=3))

    while store.settle(SHOP):
        pass

    assert around(store, A, walk=Walk(depth=3)) == before


ODD_TEXTS = [
    "",
    " ",
    "'",
    '"',
    '""',
    "`",
    "\\",
    "\\n",
    "a\nb\r\nc\rd",
    "comma, semicolon; tab\t",
    "\x00",
    "\x1e\x1f\x1e",
    "NULL",
    "\\N",
    "[1, 2]",
    '{"json": "yes"}',
    "// no comment",
    "ünïcödé 漢字 😀 \u2028 \ufeff",
    "e\u0301 is not é",
    "x" * 70_000,
]


@pytest.mark.parametrize("way", ["write", "load"])
def test_odd_texts_survive(store: GraphStore, way: str) -> None:
    odd = [
        Node(NodeRef(NodeType.FILE, f"{number}{text}"), text, NOON, text, {"key": text, text: "key"})
        for number, text in enumerate(ODD_TEXTS)
    ]
    edges = [Edge(each.ref, IMPORTS, odd[0].ref, NOON, {"text": each.name}) for each in odd]

    if way == "write":
        write(store, odd, edges)
    else:
        store.load(SHOP, odd, edges)

    found = around(store, *odd, walk=Walk(direction=Direction.OUT))
    assert [each.node for each in found.nodes] == odd
    assert list(found.edges) == edges


def test_the_empty_id_is_an_id(store: GraphStore) -> None:
    nameless = node("")
    write(store, [nameless, A], [edge(A, nameless)])

    assert ids(around(store, A)) == ["a", ""]


@pytest.mark.parametrize("broken", [replace(A, name="\ud800"), replace(A, metadata={"a": "\udfff"})])
def test_a_text_that_is_not_unicode_is_refused(store: GraphStore, broken: Node) -> None:
    with pytest.raises(ContentRefused) as refused:
        write(store, [broken])

    assert refused.value.hint


def test_readers_and_writers_work_side_by_side(store: GraphStore) -> None:
    chain(store, A, B)
    done = threading.Event()

    def grow(writer: int) -> None:
        for number in range(8):
            new = node(f"{writer}-{number}", NodeType.MEMORY if number % 2 else NodeType.CLASS)
            write(store, [new], [edge(new, A, RELATES_TO), edge(A, new)])
            if number % 4 == 3:
                store.settle(SHOP)

    def look() -> int:
        looks = 0
        while not done.is_set() or not looks:
            found = around(store, A, walk=Walk(depth=2))
            assert "b" in ids(found)
            assert store.describe(SHOP).nodes[NodeType.FUNCTION] == 2
            looks += 1
        return looks

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(look) for _ in range(2)]
        writers = [pool.submit(grow, number) for number in range(2)]
        try:
            for writer in writers:
                writer.result()
        finally:
            done.set()
        assert all(reader.result() for reader in readers)

    assert len(around(store, A).nodes) == 2 + 16


TYPES = st.sampled_from([NodeType.FUNCTION, NodeType.MEMORY, NodeType.CLASS])
RELATIONSHIPS = st.sampled_from([CALLS, RELATES_TO])
REFS = st.builds(NodeRef, TYPES, st.sampled_from("abcde"))
WORDS = st.text(max_size=3)
TIMES = st.datetimes(timezones=st.just(UTC))
NODES = st.builds(Node, REFS, WORDS, TIMES, st.none() | WORDS, st.dictionaries(WORDS, WORDS, max_size=2))
EDGES = st.builds(Edge, REFS, RELATIONSHIPS, REFS, TIMES, st.dictionaries(WORDS, st.integers(), max_size=1))
WALKS = st.builds(
    Walk,
    depth=st.integers(0, 3),
    types=st.lists(RELATIONSHIPS, max_size=2),
    direction=st.sampled_from(Direction),
    fanout=st.integers(1, 4),
    frontier=st.integers(1, 4),
)
CHANGES = st.builds(
    GraphChange,
    st.just(SHOP),
    remove=st.lists(REFS, max_size=2),
    cut=st.lists(REFS, max_size=2),
    nodes=st.lists(NODES, max_size=5),
    edges=st.lists(EDGES, max_size=6),
)
LOADS = st.tuples(st.lists(NODES, max_size=6), st.lists(EDGES, max_size=6))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GraphStore, GraphStore]]:
    with LadybugGraphStore.open(tmp_path_factory.mktemp("graphs"), max_open=2) as engine:
        yield InMemoryGraphStore(), engine


GENERATIONS = count(1)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(CHANGES | CHANGES | LOADS, min_size=1, max_size=4),
    starts=st.lists(REFS, max_size=4),
    walk=WALKS,
)
def test_every_engine_gives_the_same_answers_after_the_same_changes(
    both: tuple[GraphStore, GraphStore],
    steps: list[GraphChange | tuple[list[Node], list[Edge]]],
    starts: list[NodeRef],
    walk: Walk,
) -> None:
    graph = GraphKey(Project("shop"), next(GENERATIONS))
    everything = [NodeRef(label, id) for label in NodeType for id in "abcde"]
    whole = Walk(depth=1, fanout=1000, frontier=1000)
    for step in steps:
        for store in both:
            if isinstance(step, GraphChange):
                store.write(replace(step, graph=graph))
            else:
                store.load(graph, *step)

        one, other = both
        assert other.describe(graph) == one.describe(graph)
        assert other.related(graph, everything, whole) == one.related(graph, everything, whole)
        assert other.related(graph, starts, walk) == one.related(graph, starts, walk)
    for store in both:
        store.drop(graph)
