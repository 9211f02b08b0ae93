"""Stores to measure: opened in a folder of their own, and filled in bulk."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from backstory.actions.projection.now import project_batch
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine
from backstory.model.upkeep import Target
from backstory.ranking.memories import passage_of
from backstory.settings import read_settings
from backstory.wiring import open_engine
from benchmarks.console import reporting, say
from benchmarks.corpus import Draft
from benchmarks.timing import Stopwatch

#: Memories of one transaction: a commit is then no part of the cost, and the journal stays small.
_TRANSACTION: Final = 5_000


@dataclass(frozen=True, slots=True)
class Loading:
    """What it took to fill a store."""

    memories: int
    records_s: float
    projection_s: Mapping[str, float]
    settling_s: float

    @property
    def total_s(self) -> float:
        """From the first text to a store at rest."""
        return self.records_s + sum(self.projection_s.values()) + self.settling_s


def opened(home: Path) -> AbstractContextManager[Engine]:
    """The store in a folder, with the settings everybody has."""
    return open_engine(read_settings({"BACKSTORY_HOME": str(home)}))


def load(engine: Engine, drafts: Iterable[Draft]) -> Loading:
    """Keep many memories at once, project them, and let the engines come to rest."""
    count, records_s = _write(engine, drafts)
    projection_s = {target.value: _project(engine, target) for target in Target}
    settling = Stopwatch()
    with settling.running():
        settle(engine)
    return Loading(count, records_s, projection_s, settling.seconds)


def settle(engine: Engine) -> None:
    """Do all the upkeep there is to do."""
    work = reporting()
    while upkeep(engine, work):
        pass


def batches(drafts: Iterable[Draft], size: int) -> Iterator[Sequence[Draft]]:
    """The drafts in groups, so that never more than one group is in memory."""
    rest = iter(drafts)
    while batch := list(islice(rest, size)):
        yield batch


def _write(engine: Engine, drafts: Iterable[Draft]) -> tuple[int, float]:
    watch, work, count = Stopwatch(), reporting(), 0
    for batch in batches(drafts, _TRANSACTION):
        with watch.running(), engine.records.writing() as records:
            records.memories.add_all([(each.memory, passage_of(each.memory), each.links) for each in batch])
        count += len(batch)
        work.step(count, None, "writing records")
    say(f"  {count:,} records in {watch.seconds:.1f} s")
    return count, watch.seconds


def _project(engine: Engine, target: Target) -> float:
    watch, work, done = Stopwatch(), reporting(), 0
    with watch.running():
        while count := project_batch(engine, target):
            done += count
            work.step(done, None, f"projecting {target.value}")
    say(f"  {done:,} {target.value} in {watch.seconds:.1f} s")
    return watch.seconds
