"""Memories that come, change, go and come back while engines fail: the three stores agree in the end.

What should be there is worked out from what was done, not asked of the records: contents, and every edge
that a relationship or a field asks for.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.memory.bulk_add import Item, add_memories
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.merging import Done, Planned, carry_out
from backstory.actions.memory.restore import restore_memory
from backstory.actions.memory.unmerge import unmerge
from backstory.actions.memory.update import update_memory
from backstory.actions.projection.layouts import TEXT
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.analysis.consolidation import Merge
from backstory.engine import Engine, Work
from backstory.errors import ContentRefused, NotFound, StaleVersion, StoreUnavailable
from backstory.model.graph import GraphKey, NodeRef, NodeType, RelationshipType, Walk
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.search import Where
from backstory.ports import Every, Words
from backstory.ranking.words import terms
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .doubles import Choosy

SHOP, BANK = Project("shop"), Project("bank")
WORDS = ["cart", "login", "invoice", "retry"]
NAMES = ["payments", "orders", "stock"]
REFUSED = "unspeakable"

Link = tuple[str, RelationshipType, str]


class Failing:
    """An engine whose next writes fail: before they are done, or after, so that nobody hears of it."""

    WRITING = ("upsert", "remove", "write", "load")

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.faults: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._engine, name)
        return self._failing(real) if name in self.WRITING else real

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            fault = self.faults.pop(0) if self.faults else ""
            if fault == "before":
                raise StoreUnavailable("the engine is down", hint="start it")
            answer = real(*arguments)
            if fault == "after":
                raise StoreUnavailable("the answer was lost", hint="ask again")
            return answer

        return called


@dataclass(frozen=True, slots=True)
class Kept:
    """A component as it should be. It has a name, and names others that it needs, or that need it."""

    content: str
    name: str
    needs: Sequence[str] = ()
    needed_by: Sequence[str] = ()
    project: Project = SHOP
    version: int = 1
    deleted: bool = False

    @property
    def metadata(self) -> dict[str, object]:
        return {"name": self.name, "dependencies": [*self.needs], "dependents": [*self.needed_by]}

    def new(self, *relationships: Relationship) -> NewMemory:
        """What is asked for to have it."""
        return NewMemory("component", self.content, self.metadata, relationships=relationships)


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made: what the memory that was kept was before it, and after it."""

    id: str
    kept: MemoryId
    folded: MemoryId
    before: Kept
    after: Kept


class Store:
    """A store, what is done to it, and what should be in it: a dict of memories and a set of links.

    Every step is given two of the memories, and a component as it could be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lives = 0
        self.kept: dict[MemoryId, Kept] = {}
        self.links: set[Link] = set()
        self.merges: list[Merged] = []
        self._start()

    def _start(self) -> None:
        self.opened = ExitStack()
        environ = {"BACKSTORY_HOME": str(self._home), "BACKSTORY_MIN_FREE_MB": "1"}
        real = self.opened.enter_context(open_engine(read_settings(environ)))
        self.vectors, self.graph = Failing(real.vectors), Failing(real.graph)
        stores: Any = {"vectors": Choosy(self.vectors, terms(REFUSED)), "graph": self.graph}
        self.engine: Engine = replace(real, **stores)

    @property
    def _home(self) -> Path:
        return self.folder / str(self.lives)

    def add(self, one: MemoryId | None, other: MemoryId | None, new: Kept) -> None:
        """Two, of which the first is linked to the second, and to one that is there."""
        second = replace(new, name=NAMES[NAMES.index(new.name) - 1], needs=new.needed_by, needed_by=new.needs)
        ends = [MemoryId("#second"), *([one] if one and not self.kept[one].deleted else [])]
        project = self.kept[one].project if one and len(ends) > 1 else new.project
        wishes = [Relationship(RelationshipType.RELATES_TO, end) for end in ends]
        items = [Item(new.new(*wishes)), Item(second.new(), ref="second")]
        ids = [each.memory.id for each in add_memories(self.engine, project, items)]
        self.kept |= {ids[0]: replace(new, project=project), ids[1]: replace(second, project=project)}
        self.links |= {(ids[0], RelationshipType.RELATES_TO, end) for end in (ids[1], *ends[1:])}

    def add_one(self, new: Kept) -> MemoryId:
        """One by itself."""
        (added,) = add_memories(self.engine, new.project, [Item(new.new())])
        self.kept[added.memory.id] = new
        return added.memory.id

    def update(self, one: MemoryId, _: MemoryId, new: Kept) -> None:
        """Another text, and other names."""
        change = MemoryChange(content=new.content, metadata={"name": new.name, "dependencies": [*new.needs]})
        self._change(one, change, content=new.content, name=new.name, needs=new.needs)

    def link(self, one: MemoryId, other: MemoryId, _: Kept) -> None:
        """It may be a link that a field asks for too."""
        if one != other and not self.kept[other].deleted and self._together(one, other):
            wish = Relationship(RelationshipType.DEPENDS_ON, other)
            if self._change(one, MemoryChange(relationships=[wish])):
                self.links.add((one, wish.type, other))

    def delete(self, one: MemoryId, _: MemoryId, __: Kept) -> None:
        """One that was folded into another cannot be deleted by itself."""
        if one in {each.folded for each in self.merges}:
            with pytest.raises(NotFound):
                delete_memory(self.engine, self.kept[one].project, one)
            return
        delete_memory(self.engine, self.kept[one].project, one)
        self.kept[one] = replace(self.kept[one], deleted=True)

    def restore(self, _: MemoryId, __: MemoryId, ___: Kept) -> None:
        """All that were deleted and not folded into another."""
        folded = {each.folded for each in self.merges}
        for id, kept in self.kept.items():
            if kept.deleted and id not in folded:
                restore_memory(self.engine, kept.project, id)
                self.kept[id] = replace(kept, deleted=False)

    def merge(self, one: MemoryId, other: MemoryId, _: Kept) -> None:
        keep, fold = self.kept[one], self.kept[other]
        if one == other or keep.deleted or fold.deleted or not self._together(one, other):
            return
        merged = replace(
            keep,
            content=f"{keep.content} {fold.content}",
            needs=sorted({*keep.needs, *fold.needs}),
            needed_by=sorted({*keep.needed_by, *fold.needed_by}),
            version=keep.version + 1,
        )
        merge = Merge(one, [other], merged.content, merged.metadata, 0.5, "they are alike")
        planned = Planned(keep.project, merge, {one: keep.version, other: fold.version})
        done = carry_out(self.engine, planned)
        assert isinstance(done, Done)
        self.kept |= {one: merged, other: replace(fold, deleted=True)}
        self.merges.append(Merged(done.made.id, one, other, keep, merged))

    def undo(self, one: MemoryId, _: MemoryId, __: Kept) -> None:
        """A merge into this memory, else the last one, unless what was kept is not as that left it."""
        if not self.merges:
            return
        merge = next((each for each in self.merges if each.kept == one), self.merges[-1])
        now = self.kept[merge.kept]
        last = [each for each in self.merges if each.kept == merge.kept][-1]
        if last != merge or replace(now, version=0) != replace(merge.after, version=0):
            with pytest.raises(StaleVersion):
                unmerge(self.engine, now.project, merge.id)
            return
        unmerge(self.engine, now.project, merge.id)
        self.merges.remove(merge)
        self.kept[merge.kept] = replace(merge.before, version=now.version + 1)
        self.kept[merge.folded] = replace(self.kept[merge.folded], deleted=False)

    def refuse(self, one: MemoryId, _: MemoryId, new: Kept) -> None:
        """What an engine does not take leaves no trace: neither it, nor what came with it."""
        self.vectors.faults.clear()
        refused = replace(new.new(), content=REFUSED)
        with pytest.raises(ContentRefused):
            add_memories(self.engine, new.project, [Item(new.new()), Item(refused)])
        if not self.kept[one].deleted:
            change = MemoryChange(content=REFUSED, metadata={"dependents": NAMES})
            with pytest.raises(ContentRefused):
                update_memory(self.engine, self.kept[one].project, one, change)

    def fail(self, _: MemoryId, __: MemoryId, new: Kept) -> None:
        """The next writes, or some of them."""
        faults = ["before" if word in ("cart", "login") else "after" for word in new.content.split()]
        self.vectors.faults, self.graph.faults = list(faults), list(faults)

    def restart(self, _: MemoryId, __: MemoryId, ___: Kept) -> None:
        self.opened.close()
        self._start()

    def kill(self, _: MemoryId, __: MemoryId, ___: Kept) -> None:
        """What a killed process leaves is what lies on the disk now: go on with a copy of that."""
        left = self._home
        self.lives += 1
        subprocess.run(["cp", "-R", left, self._home], check=True)  # it keeps the holes in sparse files
        self.opened.close()
        shutil.rmtree(left)
        self._start()

    def check(self, *_: object) -> None:
        """Let the engines catch up: records, vectors and graph hold what they should."""
        self.vectors.faults, self.graph.faults = [], []
        while upkeep(self.engine, Work()):
            pass
        assert reconcile(self.engine, Work()) == Reconciled(0, 0)
        for project in (SHOP, BANK):
            own = {id: kept for id, kept in self.kept.items() if kept.project == project and not kept.deleted}
            self._check_records(own)
            assert self._entries(project) == set(own)
            for word in WORDS:
                said = {id for id, kept in own.items() if word in kept.content.split()}
                assert self._entries(project, word) == said
            assert self._graph_of(own, project) == (set(own), self._edges_among(own))

    def _change(self, id: MemoryId, change: MemoryChange, **changed: Any) -> bool:
        kept = self.kept[id]
        if kept.deleted:
            with pytest.raises(NotFound):
                update_memory(self.engine, kept.project, id, change)
            return False
        after = update_memory(self.engine, kept.project, id, change).memory
        self.kept[id] = replace(kept, version=after.version, **changed)
        return True

    def _together(self, *ids: MemoryId) -> bool:
        return len({self.kept[id].project for id in ids}) == 1

    def _check_records(self, own: Mapping[MemoryId, Kept]) -> None:
        for id, kept in own.items():
            memory = get_memory(self.engine, kept.project, id).memory
            assert (memory.content, memory.metadata) == (kept.content, kept.metadata)
            assert memory.version == kept.version

    def _entries(self, project: Project, word: str | None = None) -> set[str]:
        """What the index has of a project, or finds by a word."""
        with self.engine.records.reading() as records:
            live = records.generations.live(Index.MEMORIES)
        assert live is not None
        leg = Words(TEXT, terms(word), 1000) if word else Every(None, 1000)
        (found,) = self.engine.vectors.query(live.name, [leg], Where(project))
        return {each.id for each in found}

    def _graph_of(self, own: Iterable[str], project: Project) -> tuple[set[str], set[Link]]:
        """The memories that the nodes of a project's graph stand for, and its edges."""
        with self.engine.records.reading() as records:
            live = records.generations.live("graph")
        assert live is not None
        key = GraphKey(project, live.number)
        refs = [NodeRef(NodeType.COMPONENT, id) for id in own]
        walked = self.engine.graph.related(key, refs, Walk(1, fanout=1000, frontier=1000))
        state = self.engine.graph.describe(key)
        assert sum(state.nodes.values()) == len(walked.nodes)
        assert sum(state.edges.values()) == len(walked.edges)
        ids = {reached.node.memory_id or "" for reached in walked.nodes}
        return ids, {(edge.start.id, edge.type, edge.end.id) for edge in walked.edges}

    def _edges_among(self, own: Mapping[MemoryId, Kept]) -> set[Link]:
        """What relationships and fields ask for; who was folded is meant to be the one that was kept."""
        into: dict[str, str] = {each.folded: each.kept for each in self.merges}
        asked = {(_end(start, into), type_, _end(end, into)) for start, type_, end in self.links}
        named = [(_end(id, into), kept.name) for id, kept in self.kept.items()]
        for id, kept in own.items():
            asked |= {(id, RelationshipType.DEPENDS_ON, it) for it, name in named if name in kept.needs}
            asked |= {(it, RelationshipType.DEPENDS_ON, id) for it, name in named if name in kept.needed_by}
        return {link for link in asked if link[0] != link[2] and {link[0], link[2]} <= own.keys()}


def _end(id: str, into: Mapping[str, str]) -> str:
    return _end(into[id], into) if id in into else id


#: What may be done, the more often the oftener it stands here.
STEPS: list[Callable[[Store, Any, Any, Kept], None]] = [
    *(Store.add, Store.add, Store.update, Store.update, Store.link, Store.link, Store.delete, Store.restore),
    *(Store.merge, Store.merge, Store.merge, Store.undo, Store.undo, Store.refuse, Store.fail, Store.check),
    *(Store.restart, Store.kill),
]

some_names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
components = st.builds(
    Kept,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    st.sampled_from(NAMES),
    some_names,
    some_names,
    st.sampled_from([SHOP, SHOP, SHOP, BANK]),
)
places = st.integers(0, 1000)


@contextmanager
def opened_store() -> Iterator[Store]:
    """A store in a folder of its own, in memory where there is room."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        store = Store(Path(folder))
        try:
            yield store
        finally:
            store.opened.close()


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), places, places, components), min_size=30, max_size=60),
)
def test_whatever_is_done_and_whatever_fails_records_vectors_and_graph_agree(
    steps: list[tuple[Callable[[Store, Any, Any, Kept], None], int, int, Kept]],
) -> None:
    with opened_store() as store:
        store.add(None, None, steps[0][3])
        for step, one, other, kept in steps:
            ids = list(store.kept)
            step(store, ids[one % len(ids)], ids[other % len(ids)], kept)
        store.check()


def test_a_link_that_fields_at_both_ends_ask_for_stays_when_one_of_them_lets_go() -> None:
    with opened_store() as store:
        stock = store.add_one(Kept("cart", "stock", needed_by=["orders"]))
        other = store.add_one(Kept("login", "orders"))

        store.update(other, stock, Kept("login", "payments", needs=["stock"]))

        assert store._edges_among(store.kept) == {(other, RelationshipType.DEPENDS_ON, stock)}
        store.check()


def test_a_link_that_was_asked_for_after_a_merge_outlives_it_though_one_stood_in_for_it() -> None:
    nothing = Kept("cart", "stock")
    with opened_store() as store:
        keep, fold, end = (store.add_one(Kept(word, "stock")) for word in WORDS[:3])
        store.link(fold, end, nothing)
        store.merge(keep, fold, nothing)
        store.link(keep, end, nothing)

        store.undo(keep, fold, nothing)

        assert {link[0] for link in store._edges_among(store.kept)} == {keep, fold}
        store.check()
