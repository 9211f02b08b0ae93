"""Writing vectors and searching by meaning, switched off and on in the config file of an open store."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import Added, add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.generations import begin_all, building
from backstory.actions.projection.now import graph_of
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Work
from backstory.errors import StoreUnavailable
from backstory.model.memory import NewMemory
from backstory.model.search import FoundMemories, MemoryQuery, TurnQuery
from backstory.model.upkeep import Target
from backstory.ports import Entry
from backstory.testing import WordEmbedder

from .talk import SHOP, Said, held, tell

OFF = "ENABLE_QDRANT_WRITES"


class Switch:
    """The switches in the config file of a store."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def off(self, name: str) -> None:
        self._file.write_text(f"[search]\n{name} = false\n")

    def on(self) -> None:
        self._file.unlink()


@pytest.fixture
def switch(home: Path) -> Switch:
    return Switch(home / "config.toml")


def remember(engine: Engine, content: str) -> Added:
    return add_memory(engine, SHOP, NewMemory("design", content))


def search(engine: Engine, text: str) -> FoundMemories:
    return search_memories(engine, SHOP, MemoryQuery(text))


def catch_up(engine: Engine) -> None:
    while upkeep(engine, Work()):
        pass


def entries(engine: Engine) -> int:
    return sum(statistics(engine, SHOP).index_entries.values())


def test_while_writes_are_off_vectors_wait_and_words_are_found(engine: Engine, switch: Switch) -> None:
    before = remember(engine, "Retries use jittered backoff.").memory.id
    switch.off("vector_writes")

    added = remember(engine, "Sessions are kept in Redis.")
    deleted = delete_memory(engine, SHOP, before)
    tell(engine, held("s"), Said("Where are sessions?", "Sessions are in Redis."))
    catch_up(engine)

    assert OFF in added.pending[0]
    assert OFF in deleted.pending[0]
    assert entries(engine) == 1
    found = statistics(engine, SHOP)
    assert found.pending.keys() == {Target.VECTORS.value}
    assert OFF in (found.paused or "")
    assert [hit.memory.id for hit in search(engine, "redis").hits] == [added.memory.id]
    assert search(engine, "jittered").hits == []
    assert search_turns(engine, SHOP, TurnQuery("redis")).hits
    assert sum(engine.graph.describe(graph_of(engine, SHOP)).nodes.values()) >= 4


def test_when_writes_are_on_again_what_waited_is_written(engine: Engine, switch: Switch) -> None:
    switch.off("vector_writes")
    kept = remember(engine, "Sessions are kept in Redis.").memory.id
    switch.on()

    catch_up(engine)

    assert statistics(engine, SHOP).pending == {}
    hit = search(engine, "redis").hits[0]
    assert hit.memory.id == kept
    assert hit.found_by == ["meaning", "words"]


def test_while_writes_are_off_no_generation_is_built_but_that_of_the_graph(
    engine: Engine, switch: Switch
) -> None:
    remember(engine, "Retries use jittered backoff.")
    begin_all(engine)
    switch.off("vector_writes")

    catch_up(engine)
    assert {each.name for each in building(engine)} == {"memories-2", "turns-2", "sessions-2"}
    with pytest.raises(StoreUnavailable, match=OFF):
        rebuild(engine, Work())

    switch.on()
    catch_up(engine)
    assert building(engine) == []
    assert statistics(engine, SHOP).index_entries["memories-2"] == 1


def test_a_rebuild_that_is_switched_off_on_its_way_ends_and_goes_on_later(
    engine: Engine, switch: Switch
) -> None:
    remember(engine, "Retries use jittered backoff.")

    def meanwhile(done: int, total: int | None, message: str) -> None:
        switch.off("vector_writes")

    with pytest.raises(StoreUnavailable, match=OFF):
        rebuild(engine, Work(meanwhile))
    assert search(engine, "jittered").degraded == []

    switch.on()
    rebuild(engine, Work())
    assert statistics(engine, SHOP).index_entries["memories-2"] == 1


def test_the_comparison_after_a_crash_waits_until_writes_are_on(engine: Engine, switch: Switch) -> None:
    remember(engine, "Retries use jittered backoff.")
    orphan = Entry("00000000-0000-4000-8000-000000000000", SHOP, {}, {"text": "stray"})
    engine.vectors.upsert("memories-1", [orphan])
    with engine.records.writing() as records:
        records.store.put("suspect", "yes")
    switch.off("vector_writes")

    catch_up(engine)
    assert reconcile(engine, Work()).entries == 1
    assert entries(engine) == 2

    switch.on()
    catch_up(engine)
    assert entries(engine) == 1
    assert reconcile(engine, Work()) == Reconciled(0, 0)


class Silent(WordEmbedder):
    """An embedder that must not be asked about queries."""

    def embed_query(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        raise AssertionError(text)


def test_without_search_by_meaning_words_are_found_and_it_is_said(engine: Engine, switch: Switch) -> None:
    kept = remember(engine, "Retries use jittered backoff.").memory.id
    tell(engine, held("s"), Said("How do we retry?", "Retries are jittered."))
    catch_up(engine)
    switch.off("semantic")
    silent = replace(engine, embedder=Silent())

    memories, turns = search(silent, "jittered"), search_turns(silent, SHOP, TurnQuery("jittered"))

    assert [hit.memory.id for hit in memories.hits] == [kept]
    assert turns.hits
    for degraded in (memories.degraded, turns.degraded):
        assert [each for each in degraded if "ENABLE_SEMANTIC_SEARCH" in each] == degraded != []


def test_search_by_meaning_comes_back_when_it_is_switched_on(engine: Engine, switch: Switch) -> None:
    remember(engine, "Retries use jittered backoff.")
    switch.off("semantic")
    assert search(engine, "jittered").hits[0].found_by == ["words"]

    switch.on()

    found = search(engine, "jittered")
    assert found.hits[0].found_by == ["meaning", "words"]
    assert found.degraded == []
