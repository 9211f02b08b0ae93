"""What was said comes into the indexes and into the graph, and stays in step with the records."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection import graph
from backstory.actions.projection.generations import prepare
from backstory.actions.projection.layouts import ASKED, LAYOUTS, SESSION, TEXT, WINDOW
from backstory.actions.projection.now import graph_of, project_batch
from backstory.actions.projection.reconcile import (
    Reconciled,
    reconcile,
    reconcile_graph,
    reconcile_index,
)
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.model.conversation import Conversation, Role, Touch
from backstory.model.graph import (
    Direction,
    Edge,
    GraphChange,
    NodeRef,
    NodeType,
    RelationshipType,
    Walk,
)
from backstory.model.keeping import REACH, file_key, key_of
from backstory.model.memory import NewMemory
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import MemoryQuery, Where
from backstory.model.upkeep import Generation, GenerationState, Target
from backstory.ports import Leg, Matrix, Meaning, Vector, Words
from backstory.ranking.chunks import chunks
from backstory.ranking.words import terms
from backstory.testing import WordEmbedder

from .conftest import Opening
from .doubles import Unreliable
from .talk import SHOP, Said, held, keep, message_id, project_all, tell

BANK = Project("bank")
TALK = held("s", title="The slow cart")


def live(engine: Engine, index: Index) -> Generation:
    with engine.records.reading() as records:
        found = records.generations.live(index.value)
    assert found is not None
    return found


def ask(engine: Engine, index: Index, leg: Leg, project: Project = SHOP) -> dict[str, float]:
    (found,) = engine.vectors.query(live(engine, index).name, [leg], Where(project))
    return {each.id: each.score for each in found}


def by_words(engine: Engine, text: str, field: str, index: Index = Index.TURNS) -> set[str]:
    return set(ask(engine, index, Words(field, terms(text), 100)))


def entries(engine: Engine, index: Index) -> dict[str, int]:
    states = engine.vectors.describe().items()
    return {name: state.entries for name, state in states if name.startswith(index.value)}


def user_ids(conversation: Conversation, said: Sequence[Said]) -> list[str]:
    return [message_id(conversation, n, each, Role.USER) for n, each in enumerate(said, 1)]


def waiting(engine: Engine) -> dict[Target, int]:
    with engine.records.reading() as records:
        return dict(records.marks.count())


def forget(engine: Engine, *ids: str) -> None:
    with engine.records.writing() as records:
        records.conversations.forget(ids)


def touching(engine: Engine, path: str, type_: NodeType = NodeType.CONVERSATION) -> set[str]:
    """What a walk of one step back from a file meets."""
    walk = Walk(1, [RelationshipType.RELATES_TO], Direction.IN)
    file = NodeRef(NodeType.FILE, file_key(SHOP, path))
    found = engine.graph.related(graph_of(engine, SHOP), [file], walk)
    return {each.node.name for each in found.nodes if each.node.ref.type is type_}


def edges_of(engine: Engine, project: Project) -> set[tuple[NodeRef, RelationshipType, NodeRef, str]]:
    """Every edge that the graph has."""
    with engine.records.reading() as records:
        refs = [node.ref for node in graph.nodes_in(records, project)]
    walk = Walk(1, direction=Direction.OUT, fanout=1_000, frontier=len(refs))
    return in_short(engine.graph.related(graph_of(engine, project), refs, walk).edges)


def expected_edges(engine: Engine, project: Project) -> set[tuple[NodeRef, RelationshipType, NodeRef, str]]:
    with engine.records.reading() as records:
        return in_short(list(graph.edges_in(records, project)))


def in_short(edges: Sequence[Edge]) -> set[tuple[NodeRef, RelationshipType, NodeRef, str]]:
    return {(edge.start, edge.type, edge.end, str(edge.metadata)) for edge in edges}


WORK = [
    Said("Why is the cart slow?", "It reads every row.", "Read cart.py", [Touch("src/cart.py")]),
    Said("Fix it.", "", "Edit cart.py", [Touch("src/cart.py", changed=True), Touch("README.md")]),
    Said("Thanks.", "You are welcome."),
]


def test_records_index_and_graph_hold_as_many_messages(engine: Engine) -> None:
    tell(engine, TALK, *WORK)

    project_all(engine)

    nodes = engine.graph.describe(graph_of(engine, SHOP)).nodes
    assert nodes == {NodeType.CONVERSATION: 1, NodeType.CONVERSATION_MESSAGE: 7, NodeType.FILE: 2}
    assert entries(engine, Index.TURNS) == {"turns-1": 7}
    assert entries(engine, Index.SESSIONS) == {"sessions-1": 1}
    with engine.records.reading() as records:
        assert records.conversations.counts(SHOP).messages == 7
    assert waiting(engine) == {}
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_a_window_reaches_two_messages_back_and_none_ahead(engine: Engine) -> None:
    said = [Said(word) for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")]
    tell(engine, TALK, *said)
    ids = user_ids(TALK, said)

    assert by_words(engine, "alpha", WINDOW) == set(ids[:3])
    assert by_words(engine, "delta", WINDOW) == set(ids[3:])
    assert by_words(engine, "delta", TEXT) == {ids[3]}


def test_what_a_user_says_is_found_by_the_question_before_it(engine: Engine) -> None:
    said = [Said("Set it up.", "Done. Which database do you want?"), Said("The blue one."), Said("Thanks.")]
    tell(engine, TALK, *said)

    assert by_words(engine, "database", ASKED) == {user_ids(TALK, said)[1]}
    assert by_words(engine, "Done", ASKED) == set()


def test_a_tool_message_is_found_by_the_prose_around_it_and_lends_it_nothing(engine: Engine) -> None:
    said = Said("Why is the cart slow?", "It reads every row.", "Grep for pagination")
    tell(engine, TALK, said)
    user, tool = (message_id(TALK, 1, said, role) for role in (Role.USER, Role.TOOL))

    assert tool in by_words(engine, "cart", WINDOW)
    assert by_words(engine, "pagination", WINDOW) == set()
    assert user not in by_words(engine, "pagination", TEXT)


def test_a_windows_meaning_is_the_sum_of_its_messages(engine: Engine) -> None:
    long = "The cart is slow. " + "It reads every row of the table of orders, one after another. " * 20
    said = [Said(long), Said("Sessions are kept in Redis."), Said("Invoices use Helvetica.")]
    tell(engine, TALK, *said)

    expected = sum((own_meaning(engine, each.user) for each in said), np.zeros(engine.embedder.dimension))
    unit = (expected / np.linalg.norm(expected)).astype(np.float32)

    scores = ask(engine, Index.TURNS, Meaning(WINDOW, unit, 10))
    assert scores[user_ids(TALK, said)[-1]] == pytest.approx(1.0, abs=0.01)


def own_meaning(engine: Engine, text: str) -> Vector:
    """A message's own vector: the normalised mean of its chunks."""
    vector: Vector = engine.embedder.embed_documents(chunks(text)).mean(axis=0)
    return vector / np.linalg.norm(vector)


def test_messages_are_found_by_new_neighbours_and_no_longer_by_old_ones(engine: Engine) -> None:
    said = [Said("alpha"), Said("beta"), Said("gamma")]
    tell(engine, TALK, *said)

    tell(engine, TALK, Said("omega"), said[1], said[2])

    ids = user_ids(TALK, [Said("omega"), said[1], said[2]])
    assert by_words(engine, "alpha", WINDOW) == set()
    assert by_words(engine, "omega", WINDOW) == set(ids)
    assert entries(engine, Index.TURNS) == {"turns-1": 3}


def test_a_conversation_is_found_by_its_title_and_by_all_its_prose(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    key = key_of(SHOP, "s")

    for text in ("slow cart", "welcome", "row"):
        assert by_words(engine, text, SESSION, Index.SESSIONS) == {key}
    assert by_words(engine, "Grep", SESSION, Index.SESSIONS) == set()


def test_what_vanished_before_it_was_projected_leaves_no_trace(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    project_all(engine)
    keep(engine, TALK, *WORK, Said("omega", "and out"))
    keep(engine, held("t"), Said("never seen"))

    keep(engine, TALK, WORK[0])
    forget(engine, "t")
    project_all(engine)

    assert entries(engine, Index.TURNS) == {"turns-1": 3}
    assert entries(engine, Index.SESSIONS) == {"sessions-1": 1}
    assert by_words(engine, "omega never", WINDOW) == set()
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_each_message_is_embedded_once_for_all_windows_that_hold_it(engine: Engine) -> None:
    embedded: list[str] = []
    engine = replace(engine, embedder=Noting(embedded))
    prepare(engine)
    project_all(engine)
    keep(engine, TALK, *(Said(f"message number {n}") for n in range(50)))

    while project_batch(engine, Target.VECTORS):
        pass

    assert sorted(embedded) == sorted(f"message number {n}" for n in range(50))


class Noting(WordEmbedder):
    """An embedder that remembers what it was asked to embed."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self._texts = texts

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self._texts.extend(texts)
        return super().embed_documents(texts)


def test_a_generation_of_another_embedder_gets_words_alone(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    changed = replace(engine, embedder=WordEmbedder())
    prepare(changed)

    said = [Said("alpha"), Said("omega")]
    tell(changed, held("t"), *said)

    assert by_words(changed, "alpha", WINDOW) == set(user_ids(held("t"), said))
    project_all(changed)
    vector = changed.embedder.embed_query("alpha omega")
    scores = ask(changed, Index.TURNS, Meaning(WINDOW, vector, 2))
    assert scores.keys() == set(user_ids(held("t"), said))
    assert entries(changed, Index.TURNS) == {"turns-2": 9}
    assert entries(changed, Index.SESSIONS) == {"sessions-1": 2}


def test_a_store_that_knows_only_memories_is_ready_for_conversations_at_once(opening: Opening) -> None:
    with opening() as engine:
        add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))
        as_if_made_before_conversations(engine)

    with opening() as engine:
        with engine.records.reading() as records:
            states = {(each.name, each.state) for each in records.generations.all()}
        assert states >= {
            ("memories-1", GenerationState.LIVE),
            ("turns-1", GenerationState.LIVE),
            ("sessions-1", GenerationState.LIVE),
            ("graph-1", GenerationState.LIVE),
            ("graph-2", GenerationState.BUILDING),
        }
        tell(engine, TALK, *WORK)
        assert by_words(engine, "cart", TEXT)
        assert search_memories(engine, SHOP, MemoryQuery("jittered")).degraded == []
        project_all(engine)
        assert reconcile(engine, Work()) == Reconciled(0, 0)


def as_if_made_before_conversations(engine: Engine) -> None:
    with engine.records.writing() as records:
        for generation in records.generations.all():
            if generation.target != Index.MEMORIES:
                records.generations.forget([generation])
                engine.vectors.drop(generation.name)
        records.generations.begin(graph.TARGET, "memories-1", GenerationState.LIVE)


def test_a_rebuild_makes_everything_that_was_said_anew(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    tell(engine, held("t"), Said("alpha"))

    rebuild(engine, Work())

    assert entries(engine, Index.TURNS) == {"turns-2": 8}
    assert entries(engine, Index.SESSIONS) == {"sessions-2": 2}
    assert by_words(engine, "welcome", WINDOW)
    assert engine.graph.describe(graph_of(engine, SHOP)).nodes[NodeType.CONVERSATION_MESSAGE] == 8
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_lost_entries_and_nodes_are_found_and_mended(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    project_all(engine)
    lost = message_id(TALK, 1, WORK[0], Role.USER)
    engine.vectors.remove("turns-1", Where(ALL_PROJECTS, ids=[lost]))
    engine.vectors.remove("sessions-1", Where(ALL_PROJECTS))
    node = NodeRef(NodeType.CONVERSATION_MESSAGE, lost)
    engine.graph.write(GraphChange(graph_of(engine, SHOP), remove=[node]))

    assert reconcile(engine, Work()) == Reconciled(entries=2, graphs=1)

    project_all(engine)
    assert reconcile(engine, Work()) == Reconciled(0, 0)
    assert lost in by_words(engine, "cart", WINDOW)


def test_messages_follow_each_other_in_the_graph(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    first = NodeRef(NodeType.CONVERSATION_MESSAGE, message_id(TALK, 1, WORK[0], Role.USER))

    walk = Walk(10, [RelationshipType.FOLLOWED_BY], Direction.OUT)
    found = engine.graph.related(graph_of(engine, SHOP), [first], walk)

    assert [each.node.name for each in found.nodes] == [
        "Why is the cart slow?",
        "It reads every row.",
        "Read cart.py",
        "Fix it.",
        "Edit cart.py",
        "Thanks.",
        "You are welcome.",
    ]
    assert found.nodes[4].node.metadata == {"conversation": "s", "turn": 2, "role": "tool"}


def test_those_who_touched_a_file_are_one_step_from_it(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    tell(engine, held("t", title="The docs"), Said("Look.", tool="Read it", touches=[Touch("README.md")]))
    tell(engine, held("b", project=BANK), Said("Look.", tool="Read it", touches=[Touch("README.md")]))

    assert touching(engine, "README.md") == {"The slow cart", "The docs"}
    assert touching(engine, "src/cart.py") == {"The slow cart"}
    assert touching(engine, "src/cart.py", NodeType.CONVERSATION_MESSAGE) == {"Read cart.py", "Edit cart.py"}


def test_a_file_goes_when_nothing_touches_it_any_more(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    tell(engine, held("t", title="The docs"), Said("Look.", tool="Read it", touches=[Touch("README.md")]))
    project_all(engine)

    keep(engine, TALK, WORK[0])

    assert touching(engine, "README.md") == {"The docs"}
    assert touching(engine, "src/cart.py") == {"The slow cart"}
    forget(engine, "s", "t")
    assert engine.graph.describe(graph_of(engine, SHOP)).nodes == {}


def test_a_conversation_that_only_reads_a_file_now_is_not_said_to_have_changed_it(engine: Engine) -> None:
    tell(engine, TALK, *WORK)
    project_all(engine)

    keep(engine, TALK, WORK[0])
    project_all(engine)

    assert edges_of(engine, SHOP) == expected_edges(engine, SHOP)


def test_a_fork_that_keeps_a_message_keeps_its_file_and_the_original_does_not(engine: Engine) -> None:
    shared = Said("Look.", tool="Read it", touches=[Touch("README.md")], key="shared")
    tell(engine, held("s", title="The original"), Said("Hello."), shared)
    tell(engine, held("t", title="The fork"), shared)
    project_all(engine)

    keep(engine, held("s", title="The original"), Said("Hello."))
    project_all(engine)

    assert touching(engine, "README.md") == {"The fork"}
    assert edges_of(engine, SHOP) == expected_edges(engine, SHOP)


@pytest.mark.parametrize("first", ["parent", "subagent"])
def test_a_subagents_conversation_hangs_on_its_parents(engine: Engine, first: str) -> None:
    both = {"parent": held("s"), "subagent": held("s/agent", parent="s")}
    for name in sorted(both, reverse=first == "subagent"):
        tell(engine, both[name], Said(f"said to the {name}"))
        project_all(engine)

    parent, subagent = (NodeRef(NodeType.CONVERSATION, key_of(SHOP, each)) for each in ("s", "s/agent"))
    edge = (parent, RelationshipType.RELATES_TO, subagent, str({"subagent": True}))
    assert edge in edges_of(engine, SHOP)
    assert edges_of(engine, SHOP) == expected_edges(engine, SHOP)


def test_many_messages_at_once_are_loaded_into_the_graph(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.actions.projection.now.BATCH", 10)
    monkeypatch.setattr("backstory.actions.projection.now.LOAD_FROM", 20)
    tell(engine, TALK, *WORK, *(Said(f"message {n}", f"answer {n}") for n in range(30)))

    assert edges_of(engine, SHOP) == expected_edges(engine, SHOP)
    assert waiting(engine) == {}


def test_a_memory_added_before_many_messages_are_projected_is_found_and_takes_none_along(
    engine: Engine,
) -> None:
    keep(engine, TALK, *(Said(f"message {n}") for n in range(100)))
    before = waiting(engine)[Target.VECTORS]

    added = add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))

    found = search_memories(engine, SHOP, MemoryQuery("jittered"))
    assert [hit.memory.id for hit in found.hits] == [added.memory.id]
    assert found.hits[0].found_by == ["meaning", "words"]
    assert waiting(engine)[Target.VECTORS] == before == 101


def test_the_graph_goes_on_while_the_vectors_are_down(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    broken = replace(engine, vectors=vectors)
    vectors.down = True
    keep(broken, TALK, *WORK)

    assert upkeep(broken, Work())

    assert waiting(engine) == {Target.VECTORS: 8}


TEXTS = st.builds(
    Said,
    user=st.sampled_from(["", "alpha", "beta"]),
    assistant=st.sampled_from(["", "gamma"]),
    tool=st.sampled_from(["", "Read it"]),
    touches=st.lists(st.builds(Touch, st.sampled_from(["a.py", "b.py"]), st.booleans()), max_size=2),
    key=st.sampled_from(["1", "2", "3", "4"]),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["s", "t", "s/agent"]), st.lists(TEXTS, max_size=4), st.booleans()),
    min_size=1,
    max_size=6,
)
NUMBERS = itertools.count()


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_whatever_is_said_unsaid_or_forked_the_projections_follow(
    engine: Engine, steps: list[tuple[str, list[Said], bool]]
) -> None:
    project = Project(f"example {next(NUMBERS)}")
    for id, said, projected in steps:
        name = f"{project} {id}"
        parent = name.removesuffix("/agent") if name.endswith("/agent") else ""
        if said:
            keep(engine, held(name, project=project, parent=parent), *said)
        else:
            forget(engine, name)
        if projected:
            project_all(engine)

    project_all(engine)

    for word in ("alpha", "beta", "gamma"):
        assert set(ask(engine, Index.TURNS, Words(WINDOW, word, 100), project)) == near(engine, project, word)
    assert [reconcile_index(engine, live(engine, each), Work()) for each in Index if each in LAYOUTS] == [
        0,
        0,
        0,
    ]
    assert edges_of(engine, project) == expected_edges(engine, project)
    assert not reconcile_graph(engine, graph_of(engine, project))


def near(engine: Engine, project: Project, word: str) -> set[str]:
    """The messages that have the word in their window, in the conversation that holds them."""
    found: set[str] = set()
    with engine.records.reading() as records:
        for conversation in list(records.conversations.in_project(project)):
            chain = records.conversations.chain(conversation.id)
            texts = records.conversations.messages(link.id for link in chain)
            said = [each.place for each in chain if texts[each.id].text == word]
            own = [each for each in chain if texts[each.id].conversation == conversation.id]
            found |= {each.id for each in own if any(0 <= each.place - place <= REACH for place in said)}
    return found
