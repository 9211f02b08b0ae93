"""Projecting what is marked: a memory's vectors at once, the rest when it is needed or there is time.

A projection is written under its target's lock and from what the records say at that moment, so
the newest text is always the last one written. Whoever gets the lock takes along what others have
left waiting, and they find their work done: many writers at once cost little more than one.

Vectors are written before an action returns, so that the next search finds what it wrote. The graph is
brought up to date by upkeep, or by `graph_of` before somebody reads it: written with every add it was a
third of what the add cost (2.4 of 7.2 ms of CPU), and in a batch of one project a node costs 0.3 ms.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from backstory.actions.projection import graph, vectors
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, StoreError, StoreUnavailable
from backstory.model.graph import GraphKey
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.upkeep import Mark, Target

#: What a worker takes at once when the oldest is of this index: enough to embed well, so few that who adds
#: a memory waits 0.13 s for it at most. 100,000 memories take 50 s. A message costs twice as much (1.1 ms of
#: CPU with 1,060 characters, its window and its chunks), hence fewer; other sizes were not measured well.
BATCHES: Final[Mapping[str, int]] = {Index.MEMORIES: 256, Index.TURNS: 64, Index.SESSIONS: 64}

#: What a worker takes at once for a graph.
BATCH: Final = 256

#: What a writer takes along for others.
COMPANY: Final = 32

#: Nodes that wait before a graph is loaded whole instead, and the share of the graph that they must be at
#: least: written in a batch a node costs 0.3 ms; loading takes 0.4 s, and 0.03 ms a node.
LOAD_FROM: Final = 2_000
LOAD_SHARE: Final = 0.1

_PROJECT: Final[Mapping[Target, Callable[[Engine, Sequence[Mark]], None]]] = {
    Target.VECTORS: vectors.project,
    Target.GRAPH: graph.project,
}


def project_now(engine: Engine, *subjects: str) -> Sequence[str]:
    """Let memories be found; says what has to wait, and why. Raises `ContentRefused` if one never can be."""
    if paused := vectors_wait(engine):
        return (paused,)
    try:
        _project_with_company(engine, subjects)
    except ContentRefused:
        raise
    except StoreError as error:
        return (f"not found by meaning yet: {error}",)
    return ()


def graph_of(engine: Engine, project: Project) -> GraphKey:
    """The project's graph, with everything in it that was written so far."""
    while _project_graph(engine, project):
        pass
    with engine.records.reading() as records:
        live = records.generations.live(graph.TARGET)
    if live is None:
        raise StoreUnavailable("the graph is being built", hint="try again in a moment")
    return GraphKey(project, live.number)


def project_batch(engine: Engine, target: Target) -> int:
    """Project some of what waits for a target, the oldest first; how much it was."""
    with engine.records.reading() as records:
        oldest = records.marks.pending(target, 1)
    if oldest and target is Target.GRAPH:  # one project at a time: each has a database of its own
        return _project_graph(engine, Project(oldest[0].project))
    if not oldest or switched_off(engine):
        return 0
    return _project_vectors(engine, Index(oldest[0].place))


def vectors_wait(engine: Engine) -> str | None:
    """Why vectors are not written now, if they are not: they are switched off, or the disk is too full."""
    return switched_off(engine) or shortage(engine)


def switched_off(engine: Engine) -> str | None:
    """That vectors are not to be written, if somebody wants it so; the graph goes on."""
    if engine.switches().vector_writes:
        return None
    return "projection is paused: vectors are not written while ENABLE_QDRANT_WRITES is off"


def shortage(engine: Engine) -> str | None:
    """Why projection has to pause, if it has to: the vector engine dies on a full disk."""
    free = shutil.disk_usage(engine.home).free
    if free >= engine.min_free_bytes:
        return None
    return (
        f"projection is paused: {free // 2**20:,} MB are free, fewer than"
        f" BACKSTORY_MIN_FREE_MB={engine.min_free_bytes // 2**20:,}; free some space"
    )


def _project_with_company(engine: Engine, subjects: Sequence[str]) -> None:
    with engine.locks[Index.MEMORIES]:
        with engine.records.reading() as records:
            own = records.marks.of(Target.VECTORS, subjects)  # none if somebody took them along
            others = records.marks.pending(Target.VECTORS, COMPANY) if own else []
        # Of their own index alone: behind a memory may wait the thousand messages of a long transcript.
        company = [each for each in others if each.place == own[0].place and each.subject not in subjects]
        refused = _project(engine, Target.VECTORS, [*own, *company])
    if why := next((refused[subject] for subject in subjects if subject in refused), None):
        raise ContentRefused(why, hint="change the content and try again; nothing was stored")


def _project_vectors(engine: Engine, index: Index) -> int:
    with engine.locks[index]:
        with engine.records.reading() as records:
            oldest = records.marks.pending(Target.VECTORS, BATCHES[index])
        marks = [mark for mark in oldest if mark.place == index]
        _project(engine, Target.VECTORS, marks)
    return len(marks) or 1  # what waited was taken along by somebody else


def _project_graph(engine: Engine, project: Project) -> int:
    with engine.locks[Target.GRAPH]:
        with engine.records.reading() as records:
            marks = records.marks.pending_in(Target.GRAPH, project, BATCH)
            waiting = records.marks.count_in(Target.GRAPH, project) if len(marks) == BATCH else 0
            nodes = _nodes(records, project) if waiting >= LOAD_FROM else 0
        if waiting < max(LOAD_FROM, LOAD_SHARE * nodes):
            _project(engine, Target.GRAPH, marks)
            return len(marks)
        through = graph.load_live(engine, project)
        with engine.records.writing() as records:
            records.marks.clear_in(Target.GRAPH, project, through)
    return waiting


def _nodes(records: Transaction, project: Project) -> int:
    """About how many nodes a project's graph has."""
    said = records.conversations.counts(project)
    return sum(records.memories.count_by_type(project).values()) + said.messages + said.files_touched


def _project(engine: Engine, target: Target, marks: Sequence[Mark]) -> Mapping[str, str]:
    """Project what is marked; which subjects the engine refused, and why."""
    if not marks:
        return {}
    try:
        _PROJECT[target](engine, marks)
    except ContentRefused as refusal:
        if len(marks) > 1:  # one bad text must not hold up the others
            return {key: why for mark in marks for key, why in _project(engine, target, [mark]).items()}
        with engine.records.writing() as records:
            records.marks.refuse(marks[0], str(refusal))
        return {marks[0].subject: str(refusal)}
    with engine.records.writing() as records:
        records.marks.clear(marks)
    return {}
