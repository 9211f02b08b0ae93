"""Vectors and graph follow the records: after outages, changes of the embedder, losses and rebuilds."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.generations import prepare
from backstory.actions.projection.layouts import LAYOUTS
from backstory.actions.projection.now import graph_of
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, StoreFull, StoreUnavailable
from backstory.http.worker import Worker
from backstory.model.graph import GraphChange, GraphKey, Node, NodeRef, NodeType, RelationshipType
from backstory.model.memory import MemoryId, NewMemory, Relationship
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import FoundMemories, MemoryQuery, TurnQuery, Where
from backstory.model.upkeep import GenerationState
from backstory.ports import Entry
from backstory.testing.embedder import WordEmbedder

from .conftest import Opening
from .doubles import Choosy, Unreliable
from .talk import Said, held, keep

SHOP = Project("shop")


def remember(engine: Engine, content: str) -> str:
    return add_memory(engine, SHOP, NewMemory("design", content)).memory.id


def search(engine: Engine, text: str) -> FoundMemories:
    return search_memories(engine, SHOP, MemoryQuery(text))


def catch_up(engine: Engine) -> None:
    while upkeep(engine, Work()):
        pass


def live_names(engine: Engine) -> set[str]:
    with engine.records.reading() as records:
        return {each.name for each in records.generations.all() if each.state is GenerationState.LIVE}


def memory_entries(engine: Engine) -> dict[str, int]:
    counted = statistics(engine, SHOP).index_entries
    return {name: entries for name, entries in counted.items() if name.startswith("memories")}


def test_upkeep_stands_back_while_transcripts_are_read_in(engine: Engine) -> None:
    remember(engine, "Retries use jittered backoff.")

    with engine.ingesting:
        assert not upkeep(engine, Work())
    assert upkeep(engine, Work())


def test_the_worker_finishes_what_an_outage_left(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    engine = replace(engine, vectors=vectors)
    vectors.down = True
    remember(engine, "Retries use jittered backoff.")
    assert statistics(engine, SHOP).pending == {"vectors": 1, "graph": 1}
    vectors.down = False

    catch_up(engine)

    assert statistics(engine, SHOP).pending == {}
    assert search(engine, "jittered").degraded == []


def test_everything_that_waits_is_found_by_its_words_however_much_it_is(engine: Engine) -> None:
    said = [Said(f"turn number {n}") for n in range(700)]
    keep(engine, held("s"), *said, Said("We met a zebra."))

    assert [hit.turn for hit in search_turns(engine, SHOP, TurnQuery("zebra")).hits] == [len(said) + 1]
    assert statistics(engine, SHOP).pending["vectors"] > len(said)


def test_a_store_that_is_opened_and_closed_has_its_indexes_and_no_entries(opening: Opening) -> None:
    for _ in range(2):
        with opening() as engine:
            assert statistics(engine, SHOP).index_entries == {"memories-1": 0, "turns-1": 0, "sessions-1": 0}
            assert live_names(engine) == {"memories-1", "turns-1", "sessions-1", "graph-1"}
            assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_a_graph_outage_keeps_nothing_from_being_found(engine: Engine) -> None:
    graph = Unreliable(engine.graph)
    engine = replace(engine, graph=graph)
    graph.down = True

    added = add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))

    assert added.pending == ()
    assert [hit.memory.id for hit in search(engine, "jittered").hits] == [added.memory.id]
    with pytest.raises(StoreUnavailable):
        graph_of(engine, SHOP)
    graph.down = False
    assert sum(engine.graph.describe(graph_of(engine, SHOP)).nodes.values()) == 1


def test_many_nodes_at_once_are_loaded_into_the_graph(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.actions.projection.now.BATCH", 10)
    monkeypatch.setattr("backstory.actions.projection.now.LOAD_FROM", 20)
    base = remember(engine, "the base")
    link = Relationship(RelationshipType.RELATES_TO, MemoryId(base))
    for n in range(30):
        add_memory(engine, SHOP, NewMemory("session", f"follower {n}", relationships=[link]))

    state = engine.graph.describe(graph_of(engine, SHOP))

    assert state.nodes == {NodeType.DESIGN: 1, NodeType.MEMORY: 30}
    assert state.edges == {RelationshipType.RELATES_TO: 30}
    assert statistics(engine, SHOP).pending == {}
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_a_rebuild_answers_from_a_new_generation(engine: Engine) -> None:
    kept = [remember(engine, f"memory number {n}") for n in range(30)]
    delete_memory(engine, SHOP, kept[0])

    rebuild(engine, Work())

    assert live_names(engine) == {"memories-2", "turns-2", "sessions-2", "graph-2"}
    assert memory_entries(engine) == {"memories-2": 29}
    assert sum(engine.graph.describe(GraphKey(SHOP, 2)).nodes.values()) == 29
    assert engine.graph.describe(GraphKey(SHOP, 1)).nodes == {}
    assert search(engine, "number 7").hits[0].memory.id == kept[7]


def test_what_is_written_during_a_rebuild_is_in_both_generations(engine: Engine) -> None:
    for n in range(20):
        remember(engine, f"memory number {n}")
    later: list[str] = []

    def meanwhile(done: int, total: int | None, message: str) -> None:
        if not later:
            later.append(remember(engine, "written meanwhile about zebras"))
            assert search(engine, "zebras").hits[0].memory.id == later[0]

    rebuild(engine, Work(meanwhile))

    assert search(engine, "zebras").hits[0].memory.id == later[0]
    assert memory_entries(engine) == {"memories-2": 21}


def test_an_interrupted_rebuild_goes_on_where_it_stopped(opening: Opening) -> None:
    with opening() as engine:
        for n in range(10):
            remember(engine, f"memory number {n}")

        def stop(done: int, total: int | None, message: str) -> None:
            if done:
                work.cancel()

        work = Work(stop)
        with pytest.raises(Cancelled):
            rebuild(engine, work)
        assert search(engine, "number 3").degraded == []

    with opening() as engine:
        rebuild(engine, Work())
        assert live_names(engine) == {"memories-2", "turns-2", "sessions-2", "graph-2"}
        assert memory_entries(engine) == {"memories-2": 10}


def test_a_text_that_is_refused_during_a_rebuild_holds_up_no_other(engine: Engine) -> None:
    for n in range(5):
        remember(engine, f"memory number {n}")
    remember(engine, "a poison text")
    choosy = replace(engine, vectors=Choosy(engine.vectors, "poison"))

    rebuild(choosy, Work())

    found = statistics(engine, SHOP)
    assert memory_entries(engine) == {"memories-2": 5}
    assert found.refused == 1
    assert search(engine, "number 3").degraded == []
    assert search(engine, "poison").hits[0].memory.content == "a poison text"


def test_another_embedder_is_noticed_and_search_goes_on_meanwhile(engine: Engine) -> None:
    kept = remember(engine, "Retries use jittered backoff.")
    changed = replace(engine, embedder=WordEmbedder())

    prepare(changed)

    during = search(changed, "jittered backoff")
    assert [hit.memory.id for hit in during.hits] == [kept]
    assert "embedder was changed" in during.degraded[0]
    new = remember(changed, "Sessions are kept in Redis.")
    assert search(changed, "redis").hits[0].memory.id == new
    catch_up(changed)
    after = search(changed, "jittered backoff")
    assert after.degraded == []
    assert after.hits[0].memory.id == kept
    assert after.hits[0].found_by == ["meaning", "words"]
    assert live_names(changed) >= {"memories-2"}


def test_going_back_to_the_old_embedder_drops_the_unfinished_generation(engine: Engine) -> None:
    remember(engine, "Retries use jittered backoff.")
    prepare(replace(engine, embedder=WordEmbedder()))

    prepare(engine)
    catch_up(engine)

    assert live_names(engine) >= {"memories-1", "graph-1"}
    assert set(memory_entries(engine)) == {"memories-1"}
    assert search(engine, "jittered").degraded == []


def test_an_index_made_for_other_filters_is_replaced(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opening() as engine:
        kept = remember(engine, "Retries use jittered backoff.")
    present = LAYOUTS[Index.MEMORIES]
    other = {**LAYOUTS, Index.MEMORIES: replace(present, labels=(*present.labels, "mood"))}
    for user in ("vectors", "generations"):
        monkeypatch.setattr(f"backstory.actions.projection.{user}.LAYOUTS", other)

    with opening() as engine:
        new = remember(engine, "Sessions are kept in Redis.")
        assert [hit.memory.id for hit in search(engine, "redis").hits] == [new]
        assert [hit.memory.id for hit in search(engine, "jittered").hits] == [kept]
        catch_up(engine)
        assert search(engine, "jittered").degraded == []
        assert memory_entries(engine) == {"memories-2": 2}


def test_lost_vectors_are_made_again_while_words_still_answer(opening: Opening, home: Path) -> None:
    with opening() as engine:
        kept = remember(engine, "Retries use jittered backoff.")
    shutil.rmtree(home / "vectors")

    with opening() as engine:
        during = search(engine, "jittered")
        assert [hit.memory.id for hit in during.hits] == [kept]
        assert "being built" in during.degraded[0]
        catch_up(engine)
        after = search(engine, "jittered")
        assert [hit.memory.id for hit in after.hits] == [kept]
        assert after.degraded == []


def test_orphans_and_gaps_are_found_and_mended(engine: Engine) -> None:
    kept = [remember(engine, f"memory number {n}") for n in range(5)]
    catch_up(engine)
    orphan = Entry(
        "00000000-0000-4000-8000-000000000000",
        SHOP,
        {"text": np.ones((1, engine.embedder.dimension), np.float32)},
        {},
    )
    engine.vectors.upsert("memories-1", [orphan])
    engine.vectors.remove("memories-1", Where(ALL_PROJECTS, ids=[kept[2]]))
    stray = Node(NodeRef(NodeType.DESIGN, "stray"), "stray", datetime.now(UTC))
    engine.graph.write(GraphChange(GraphKey(SHOP, 1), nodes=[stray]))

    assert reconcile(engine, Work()) == Reconciled(entries=2, graphs=1)

    catch_up(engine)
    assert reconcile(engine, Work()) == Reconciled(entries=0, graphs=0)
    assert memory_entries(engine) == {"memories-1": 5}
    assert search(engine, "number 2").hits[0].memory.id == kept[2]
    assert sum(engine.graph.describe(GraphKey(SHOP, 1)).nodes.values()) == 5


def test_edges_come_whatever_the_order_of_their_ends(engine: Engine) -> None:
    graph = Unreliable(engine.graph)
    engine = replace(engine, graph=graph)
    graph.down = True
    base = add_memory(engine, SHOP, NewMemory("design", "the base")).memory.id
    graph.down = False
    link = Relationship(RelationshipType.RELATES_TO, base)
    add_memory(engine, SHOP, NewMemory("session", "the follower", relationships=[link]))

    catch_up(engine)

    assert engine.graph.describe(GraphKey(SHOP, 1)).edges == {RelationshipType.RELATES_TO: 1}


def test_too_little_space_pauses_projection_and_says_so(engine: Engine) -> None:
    tight = replace(engine, min_free_bytes=2**62)

    added = add_memory(tight, SHOP, NewMemory("design", "Retries use jittered backoff."))

    assert "BACKSTORY_MIN_FREE_MB" in added.pending[0]
    assert upkeep(tight, Work()) is False
    assert (statistics(tight, SHOP).paused or "").startswith("projection is paused")
    assert [hit.memory.id for hit in search(tight, "jittered").hits] == [added.memory.id]
    with pytest.raises(StoreFull):
        rebuild(tight, Work())
    catch_up(engine)
    assert statistics(engine, SHOP).pending == {}


def test_after_a_crash_the_projections_are_compared_with_the_records(opening: Opening) -> None:
    with opening() as engine:
        kept = [remember(engine, f"memory number {n}") for n in range(3)]
    with opening() as engine:
        with engine.records.writing() as records:
            records.store.put("suspect", "yes")
        engine.vectors.remove("memories-1", Where(ALL_PROJECTS, ids=[kept[0]]))

        catch_up(engine)

        assert memory_entries(engine) == {"memories-1": 3}
        with engine.records.reading() as records:
            assert not records.store.get("suspect")


def test_the_worker_thread_projects_by_itself_and_stops_when_told(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    engine = replace(engine, vectors=vectors)
    vectors.down = True
    remember(engine, "Retries use jittered backoff.")
    with Worker(engine, upkeep, idle_s=0.01) as worker:
        while worker.last_error is None:
            worker.wake()
        vectors.down = False
        while statistics(engine, SHOP).pending:
            worker.wake()

    assert search(engine, "jittered").degraded == []
