"""Comparing what is projected with the records, and mending what disagrees.

Nothing should ever disagree: marks see to that. But disks lose power and people delete folders.
A missing entry is marked, so that it is projected again; an orphan is removed, unless vectors are not to be
written.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import count
from typing import Final

from backstory.actions.projection import graph
from backstory.engine import Engine, Work
from backstory.model.graph import GraphKey, Walk
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS
from backstory.model.search import Where
from backstory.model.upkeep import Generation, GenerationState, Target
from backstory.ports import Every

#: Ids compared at once; a page of each side fits in a few hundred kilobytes.
PAGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was found to disagree: in the indexes, and graphs that were made anew."""

    entries: int
    graphs: int


def reconcile(engine: Engine, work: Work) -> Reconciled:
    """Compare every live projection with the records and mend what disagrees."""
    with engine.records.reading() as records:
        live = [each for each in records.generations.all() if each.state is GenerationState.LIVE]
        projects = records.memories.projects()
    entries = graphs = 0
    for generation in live:
        if generation.target != graph.TARGET:
            entries += reconcile_index(engine, generation, work)
            continue
        for done, project in enumerate(projects):
            work.step(done, len(projects), f"comparing the graph of {project}")
            graphs += reconcile_graph(engine, GraphKey(project, generation.number))
    return Reconciled(entries, graphs)


def reconcile_index(engine: Engine, generation: Generation, work: Work) -> int:
    """Mark what an index lacks and remove what it should not have; how many there were."""
    found, after = 0, ""
    for page in count():
        work.step(page * PAGE, None, f"comparing {generation.name}")
        with engine.locks[Index(generation.target)]:
            wrong, end = _compare_page(engine, generation, after)
        found += wrong
        if end is None:
            break
        after = end
    return found


def _compare_page(engine: Engine, generation: Generation, after: str) -> tuple[int, str | None]:
    """Compare the ids that follow `after` up to where the shorter of both pages ends."""
    index = Index(generation.target)
    with engine.records.reading() as records:
        kept = records.passages.ids_after(index, after, PAGE)
        (scored,) = engine.vectors.query(generation.name, [Every(after or None, PAGE)], Where(ALL_PROJECTS))
        there = [each.id for each in scored]
        full = [ids[-1] for ids in (kept, there) if len(ids) == PAGE]
        end = min(full) if full else None
        expected = {id for id in kept if end is None or id <= end}
        projected = {id for id in there if end is None or id <= end}
        waiting = {mark.subject for mark in records.marks.of(Target.VECTORS, expected ^ projected)}
    _mend(engine, generation, missing=expected - projected - waiting, orphans=projected - expected - waiting)
    return len((expected ^ projected) - waiting), end


def _mend(engine: Engine, generation: Generation, *, missing: set[str], orphans: set[str]) -> None:
    if orphans and engine.switches().vector_writes:
        engine.vectors.remove(generation.name, Where(ALL_PROJECTS, ids=sorted(orphans)))
    if missing:
        with engine.records.writing() as records:
            for passage in records.passages.find(missing).values():
                records.marks.set(passage.id, {Target.VECTORS: generation.target}, passage.project.name)


def reconcile_graph(engine: Engine, key: GraphKey) -> bool:
    """Make a project's graph anew if it differs from the records; whether it did."""
    with engine.locks[Target.GRAPH]:
        if _graph_agrees(engine, key):
            return False
        graph.load(engine, key)
    return True


def _graph_agrees(engine: Engine, key: GraphKey) -> bool:
    with engine.records.reading() as records:
        if records.marks.count_in(Target.GRAPH, key.project):
            return True  # it is not finished, which is not the same as wrong
        refs = [node.ref for node in graph.nodes_in(records, key.project)]
        edges = Counter(edge.type for edge in graph.edges_in(records, key.project))
    state = engine.graph.describe(key)
    if state.nodes != Counter(ref.type for ref in refs) or state.edges != edges:
        return False
    pages = (refs[start : start + PAGE] for start in range(0, len(refs), PAGE))
    return all(len(engine.graph.related(key, page, Walk(depth=0)).nodes) == len(page) for page in pages)
