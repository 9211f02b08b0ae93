"""What has to be done in the background, one bounded step at a time."""

from backstory.actions.projection import graph
from backstory.actions.projection.generations import build_step, building, drop_retired
from backstory.actions.projection.now import project_batch, shortage, switched_off
from backstory.actions.projection.reconcile import reconcile
from backstory.engine import Engine, Work
from backstory.errors import StoreError
from backstory.model.graph import GraphKey
from backstory.model.upkeep import GenerationState, Target


def upkeep(engine: Engine, work: Work) -> bool:
    """Do one step of whatever waits; False when nothing does, or nothing can be done now.

    While transcripts are read in it stands back: reading in projects by itself what it wrote, and the graph
    can wait. Beside it, reading in took half as long again (23.6 against 15.5 s for 595 files).
    """
    engine.records.flush_uses()
    engine.records.checkpoint()
    if shortage(engine) or engine.ingesting.locked():
        return False
    return (
        _project(engine)
        or _build(engine)
        or _check_after_crash(engine, work)
        or drop_retired(engine)
        or _settle(engine)
    )


def _project(engine: Engine) -> bool:
    """A batch for each target; one that fails keeps no other from its turn."""
    done, failures = 0, []
    for target in Target:
        try:
            done += project_batch(engine, target)
        except StoreError as error:
            failures.append(error)
    if failures and not done:
        raise failures[0]
    return done > 0


def _build(engine: Engine) -> bool:
    for generation in building(engine):
        if generation.target == graph.TARGET or not switched_off(engine):
            build_step(engine, generation)
            return True
    return False


def _check_after_crash(engine: Engine, work: Work) -> bool:
    with engine.records.reading() as records:
        if not records.store.get("suspect") or switched_off(engine):
            return False
    reconcile(engine, work)
    with engine.records.writing() as records:
        records.store.put("suspect", "")
    return True


def _settle(engine: Engine) -> bool:
    with engine.records.reading() as records:
        live = [each for each in records.generations.all() if each.state is GenerationState.LIVE]
        projects = records.memories.projects()
    graphs = [
        GraphKey(project, each.number) for each in live if each.target == graph.TARGET for project in projects
    ]
    return any(engine.vectors.settle(each.name) for each in live if each.target != graph.TARGET) or any(
        engine.graph.settle(key) for key in graphs
    )
