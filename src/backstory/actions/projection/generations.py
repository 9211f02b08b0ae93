"""Editions of the projections: which there must be, building the next one, swapping.

Writes go to the live generation and to those being built. A build walks the records once, a batch
at a time, and remembers how far it came; when it is through and the counts agree, one pointer is
changed. The old generation is dropped by the next upkeep.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Final

from backstory.actions.projection import graph, vectors
from backstory.actions.projection.layouts import LAYOUTS
from backstory.actions.projection.now import BATCHES, project_batch, switched_off
from backstory.actions.projection.reconcile import reconcile_index
from backstory.engine import Engine, Transaction, Work
from backstory.errors import ContentRefused, StoreError, StoreUnavailable
from backstory.model.graph import GraphKey
from backstory.model.passage import Index, Passage
from backstory.model.upkeep import Generation, GenerationState, Target

_IN_USE: Final = (GenerationState.LIVE, GenerationState.BUILDING)


def prepare(engine: Engine) -> None:
    """See to it that every projection has a generation that is fit, or one in the making."""
    present = {name for name, state in engine.vectors.describe().items() if not state.damaged}
    with engine.records.writing() as records:
        for target, fingerprint in _fingerprints(engine).items():
            _retire_unfit(records, target, fingerprint, present)
            in_use = records.generations.of(target, *_IN_USE)
            if not in_use and _is_empty(records, target):
                _begin(engine, records, target, GenerationState.LIVE)  # nothing to build: it is complete
            elif not any(each.fingerprint == fingerprint for each in in_use):
                _begin(engine, records, target, GenerationState.BUILDING)


def begin_all(engine: Engine) -> None:
    """Begin a new generation of every projection, unless a former rebuild has still to be finished."""
    if building(engine):
        return
    with engine.records.writing() as records:
        records.marks.forgive()
        for target in _fingerprints(engine):
            _begin(engine, records, target, GenerationState.BUILDING)


def building(engine: Engine) -> list[Generation]:
    """The generations that are being built."""
    with engine.records.reading() as records:
        return [each for each in records.generations.all() if each.state is GenerationState.BUILDING]


def build_step(engine: Engine, generation: Generation) -> int:
    """Build a little of a generation; how many entries it wrote. The last step makes the generation live."""
    if generation.target == graph.TARGET:
        _build_graph(engine, generation)
        return 0
    if paused := switched_off(engine):
        raise StoreUnavailable(paused, hint="switch them on; what was built so far is kept")
    return _build_index(engine, generation)


def drop_retired(engine: Engine) -> bool:
    """Delete what retired generations hold; whether there were any."""
    with engine.records.reading() as records:
        retired = [each for each in records.generations.all() if each.state is GenerationState.RETIRED]
        projects = records.memories.projects()
    for generation in retired:
        if generation.target == graph.TARGET:
            for project in projects:
                engine.graph.drop(GraphKey(project, generation.number))
        else:
            engine.vectors.drop(generation.name)
    if retired:
        with engine.records.writing() as records:
            records.generations.forget(retired)
    return bool(retired)


def _fingerprints(engine: Engine) -> Mapping[str, str]:
    """What each projection is made with; another value means that it has to be made anew."""
    indexes = {index.value: vectors.fingerprint(engine, index) for index in LAYOUTS}
    return {**indexes, graph.TARGET: graph.FINGERPRINT}


def _is_empty(records: Transaction, target: str) -> bool:
    """Whether the records hold nothing that belongs into a projection."""
    if target == graph.TARGET:
        return not records.memories.projects()
    return not records.passages.count(Index(target))


def _begin(engine: Engine, records: Transaction, target: str, state: GenerationState) -> None:
    generation = records.generations.begin(target, _fingerprints(engine)[target], state)
    if target != graph.TARGET:
        engine.vectors.drop(generation.name)  # what a crash may have left under this name
        engine.vectors.ensure(vectors.specification(generation, engine.embedder.dimension))


def _retire_unfit(records: Transaction, target: str, fingerprint: str, present: Set[str]) -> None:
    """Retire generations that cannot be used, and unfinished ones that another embedder began."""
    for generation in records.generations.of(target, *_IN_USE):
        stale = generation.state is GenerationState.BUILDING and generation.fingerprint != fingerprint
        if stale or (target != graph.TARGET and not _usable(generation, present)):
            records.generations.retire(generation)


def _usable(generation: Generation, present: Set[str]) -> bool:
    """Whether an index is there, is whole, and can take the entries of this version."""
    digest = LAYOUTS[Index(generation.target)].digest
    return generation.name in present and generation.fingerprint.endswith(digest)


def _build_index(engine: Engine, generation: Generation) -> int:
    index = Index(generation.target)
    with engine.locks[index]:
        with engine.records.reading() as records:
            page = records.passages.after(index, generation.built_to, BATCHES[index])
        if page:
            _write_page(engine, generation, [passage for _, passage in page])
            with engine.records.writing() as records:
                records.generations.advance(generation, page[-1][0])
    if not page:
        _finish_index(engine, generation)
    return len(page)


def _write_page(engine: Engine, generation: Generation, passages: Sequence[Passage]) -> None:
    try:
        vectors.write(engine, [generation], passages)
    except ContentRefused:
        for passage in passages:
            _write_alone(engine, generation, passage)


def _write_alone(engine: Engine, generation: Generation, passage: Passage) -> None:
    """Write one passage; if it is refused, set it aside, so that it holds up no other."""
    try:
        vectors.write(engine, [generation], [passage])
    except ContentRefused as refusal:
        with engine.records.writing() as records:
            records.marks.set(passage.id, {Target.VECTORS: passage.index.value}, passage.project.name)
            for mark in records.marks.of(Target.VECTORS, [passage.id]):
                records.marks.refuse(mark, str(refusal))


def _finish_index(engine: Engine, generation: Generation) -> None:
    """Let a generation answer that holds what the records hold."""
    if reconcile_index(engine, generation, Work()):
        with engine.records.reading() as records:
            waiting = records.marks.count().get(Target.VECTORS, 0)
        while waiting > 0:  # not until none is left: others go on writing
            waiting -= project_batch(engine, Target.VECTORS) or waiting
        if found := reconcile_index(engine, generation, Work()):
            raise StoreError(
                f"the new generation {generation.name} differs from the records in {found} entries",
                hint="the old generation stays in use; run 'backstory doctor'",
            )
    with engine.records.writing() as records:
        records.generations.swap(generation)


def _build_graph(engine: Engine, generation: Generation) -> None:
    with engine.locks[Target.GRAPH]:
        with engine.records.reading() as records:
            projects = records.memories.projects()[generation.built_to :]
        if projects:
            graph.load(engine, GraphKey(projects[0], generation.number))
        with engine.records.writing() as records:
            if projects:
                records.generations.advance(generation, generation.built_to + 1)
            else:
                records.generations.swap(generation)
