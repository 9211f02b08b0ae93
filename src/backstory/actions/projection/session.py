"""The beginning and the end of a store's being open."""

from contextlib import suppress

from backstory.actions.projection.generations import prepare
from backstory.engine import Engine
from backstory.errors import StoreError


def begin(engine: Engine) -> None:
    """Make the projections ready. If the last process died, have upkeep compare them with the records."""
    prepare(engine)
    with engine.records.writing() as records:
        if records.store.get("open"):
            records.store.put("suspect", "yes")
        records.store.put("open", "yes")


def end(engine: Engine) -> None:
    """Write down what was counted, and that nothing was left half done."""
    with suppress(StoreError):  # a full disk at the end loses counts, and has the next start compare
        engine.records.flush_uses()
        with engine.records.writing() as records:
            records.store.put("open", "")
