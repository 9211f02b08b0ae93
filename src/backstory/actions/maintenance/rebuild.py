"""Making vectors and graph anew from the records, beside the ones in use."""

from backstory.actions.projection.generations import begin_all, build_step, building, drop_retired
from backstory.actions.projection.now import shortage, switched_off
from backstory.engine import Engine, Work
from backstory.errors import StoreFull, StoreUnavailable
from backstory.model.passage import Index


def rebuild(engine: Engine, work: Work) -> None:
    """Build a new generation of everything and let it answer. Interrupted, it goes on where it stopped."""
    if paused := shortage(engine):
        raise StoreFull(paused, hint="free some space, then run it again")
    if paused := switched_off(engine):
        raise StoreUnavailable(paused, hint="switch them on, then run it again")
    begin_all(engine)
    with engine.records.reading() as records:
        total = sum(records.passages.count(index) for index in Index)
    done = 0
    while generations := building(engine):
        for generation in generations:
            work.step(min(done, total), total, f"building {generation.name}")
            done += build_step(engine, generation)
    drop_retired(engine)
