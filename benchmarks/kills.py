"""A process that writes and is killed, again and again: is anything lost, is anything left behind?

The writing process, the killing and the checking are those of the tests; here they are repeated more
often than a test should, and counted.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from backstory.actions.projection.reconcile import reconcile
from backstory.engine import Work
from benchmarks.console import Table, say
from benchmarks.options import Options
from benchmarks.stores import opened, settle
from tests.e2e.killing import Promises, broken_promises, write_and_kill

_TOLD_EVERY: Final = 25


class _Counted(Promises):
    """Promises that know how many operations made them."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def take(self, line: str) -> None:
        super().take(line)
        self.operations += "id" in json.loads(line)


def run(options: Options) -> Iterator[Table]:
    """One table: kills, what was acknowledged before them, and what was wrong after them."""
    say(f"kills: {options.kills}")
    home = options.scratch / "kills"
    whole = _Counted()
    lost = orphans = 0
    for seed in range(options.kills):
        own = _Counted()
        write_and_kill(home, seed, own)
        # A later process does not touch what an earlier one wrote, so its own promises are enough here.
        found = _wrong(home, own)
        lost, orphans = lost + found[0], orphans + found[1]
        whole.kept |= own.kept
        whole.operations += own.operations
        if (seed + 1) % _TOLD_EVERY == 0:
            say(f"  {seed + 1} kills, {whole.operations:,} operations, {lost} lost, {orphans} orphans")
    lost_at_last, orphans_at_last = _wrong(home, whole)
    yield Table(
        "kills",
        ("count",),
        {
            "kills": (options.kills,),
            "operations acknowledged": (whole.operations,),
            "memories checked at the end": (len(whole.kept),),
            "lost or wrong": (lost + lost_at_last,),
            "orphans and gaps after recovery": (orphans + orphans_at_last,),
        },
    )


def _wrong(home: Path, promises: Promises) -> tuple[int, int]:
    """How many promises are broken, and how much still disagrees after upkeep had its time."""
    with opened(home) as engine:
        settle(engine)
        found = reconcile(engine, Work())
        broken = broken_promises(engine, promises)
    for each in broken:
        say(f"  {each}")
    return len(broken), found.entries + found.graphs
