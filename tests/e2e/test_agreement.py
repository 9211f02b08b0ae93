"""Whatever happens, in whatever order: records, vectors and graph say the same in the end."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.bulk_add import Item, add_memories
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.restore import restore_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.model.graph import GraphKey, RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.model.search import MemoryQuery
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .doubles import Unreliable
from .samples import least

PROJECTS = [Project("shop"), Project("bank")]
WORDS = ["cart", "login", "invoice", "retry", "queue", "schema", "deploy", "cache"]

contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


class Store(RuleBasedStateMachine):
    """The actions, an outage, crashes and rebuilds; the model is a plain dict."""

    memories = Bundle("memories")
    gone = Bundle("gone")

    @initialize()
    def open(self) -> None:
        self.stack = ExitStack()
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.lives = 0
        self.expected: dict[MemoryId, tuple[Project, str]] = {}
        self.edges: set[tuple[str, str]] = set()
        self._start()

    @property
    def home(self) -> Path:
        return self.folder / str(self.lives)

    def _start(self) -> None:
        self.opened = ExitStack()
        environ = {"BACKSTORY_HOME": str(self.home), "BACKSTORY_MIN_FREE_MB": "1"}
        real = self.opened.enter_context(open_engine(read_settings(environ)))
        self.vectors, self.graph = Unreliable(real.vectors), Unreliable(real.graph)
        self.engine: Engine = replace(real, vectors=self.vectors, graph=self.graph)

    def teardown(self) -> None:
        if hasattr(self, "opened"):
            self.opened.close()
            self.stack.close()

    @rule(
        target=memories,
        project=st.sampled_from(PROJECTS),
        type_=st.sampled_from(list(KINDS)),
        content=contents,
    )
    def add(self, project: Project, type_: str, content: str) -> MemoryId:
        id = add_memory(self.engine, project, NewMemory(type_, content, least(type_))).memory.id
        self.expected[id] = (project, content)
        return id

    @rule(target=memories, to=memories, content=contents)
    def add_linked(self, to: MemoryId, content: str) -> object:
        if to not in self.expected:
            return multiple()
        project, _ = self.expected[to]
        link = Relationship(RelationshipType.RELATES_TO, to)
        id = add_memory(self.engine, project, NewMemory("design", content, relationships=[link])).memory.id
        self.expected[id] = (project, content)
        self.edges.add((id, to))
        return id

    @rule(id=memories, content=contents)
    def update(self, id: MemoryId, content: str) -> None:
        if id in self.expected:
            project, _ = self.expected[id]
            update_memory(self.engine, project, id, MemoryChange(content=content))
            self.expected[id] = (project, content)

    @rule(
        target=memories, project=st.sampled_from(PROJECTS), texts=st.lists(contents, min_size=2, max_size=4)
    )
    def add_together(self, project: Project, texts: list[str]) -> object:
        """Each but the last is linked to the one after it."""
        after = [Relationship(RelationshipType.RELATES_TO, MemoryId(f"#{n}")) for n in range(1, len(texts))]
        wishes: list[list[Relationship]] = [*([each] for each in after), []]
        items = [
            Item(NewMemory("design", text, relationships=links), ref=str(number))
            for number, (text, links) in enumerate(zip(texts, wishes, strict=True))
        ]
        ids = [each.memory.id for each in add_memories(self.engine, project, items)]
        self.expected |= {id: (project, text) for id, text in zip(ids, texts, strict=True)}
        self.edges |= set(pairwise(ids))
        return multiple(*ids)

    @rule(id=memories, to=memories)
    def link(self, id: MemoryId, to: MemoryId) -> None:
        if id != to and {id, to} <= self.expected.keys() and self.expected[id][0] == self.expected[to][0]:
            wish = Relationship(RelationshipType.RELATES_TO, to)
            update_memory(self.engine, self.expected[id][0], id, MemoryChange(relationships=[wish]))
            self.edges.add((id, to))

    @rule(target=gone, id=consumes(memories))
    def delete(self, id: MemoryId) -> object:
        if id not in self.expected:
            return multiple()
        project, content = self.expected.pop(id)
        delete_memory(self.engine, project, id)
        return id, project, content

    @rule(target=memories, deleted=consumes(gone))
    def restore(self, deleted: tuple[MemoryId, Project, str]) -> MemoryId:
        id, project, content = deleted
        restore_memory(self.engine, project, id)
        self.expected[id] = (project, content)
        return id

    @rule(down=st.sets(st.sampled_from(["vectors", "graph"])))
    def outage(self, down: Iterable[str]) -> None:
        self.vectors.down, self.graph.down = "vectors" in down, "graph" in down

    @rule()
    def restart(self) -> None:
        self.opened.close()
        self._start()

    @rule()
    def crash(self) -> None:
        """What a killed process leaves is what lies on the disk now: go on with a copy of that."""
        left, self.lives = self.home, self.lives + 1
        subprocess.run(["cp", "-R", left, self.home], check=True)  # it keeps the holes in sparse files
        self.opened.close()
        shutil.rmtree(left)
        self._start()

    @rule()
    def rebuild(self) -> None:
        self.vectors.down = self.graph.down = False
        rebuild(self.engine, Work())

    @rule()
    def catch_up(self) -> None:
        self.vectors.down = self.graph.down = False
        while upkeep(self.engine, Work()):
            pass
        assert reconcile(self.engine, Work()) == Reconciled(0, 0)
        self._graph_holds_the_links()
        self._search_finds_the_newest_text()

    @invariant()
    def records_hold_what_was_acknowledged(self) -> None:
        if hasattr(self, "engine"):
            for id, (project, content) in self.expected.items():
                assert get_memory(self.engine, project, id).memory.content == content

    def _graph_holds_the_links(self) -> None:
        with self.engine.records.reading() as records:
            live = records.generations.live("graph")
        assert live is not None
        for project in PROJECTS:
            state = self.engine.graph.describe(GraphKey(project, live.number))
            own = {id for id, (owner, _) in self.expected.items() if owner == project}
            edges = [edge for edge in self.edges if set(edge) <= own]
            assert sum(state.nodes.values()) == len(own)
            assert sum(state.edges.values()) == len(edges)

    def _search_finds_the_newest_text(self) -> None:
        for project in PROJECTS:
            for word in WORDS:
                found = search_memories(self.engine, project, MemoryQuery(word, limit=100))
                assert found.degraded == []
                by_words = {hit.memory.id for hit in found.hits if "words" in hit.parts}
                assert by_words == {
                    id
                    for id, (owner, text) in self.expected.items()
                    if owner == project and word in text.split()
                }


TestStore = Store.TestCase
TestStore.settings = settings(
    max_examples=15, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
