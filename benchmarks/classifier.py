"""How often a query gets the class that a person gave it, and how long that takes.

The labelled queries are in `queries.jsonl`, a class and a query on each line, labelled by what the module
`backstory.ranking.strategy` says the classes mean. The rules were tuned on one half of them, and the other
half was only counted. Both halves were written by the one who wrote the rules, so that the figures are an
upper bound: other people will use other words.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from backstory.ranking.strategy import STRATEGIES, classify, strategy_of
from benchmarks.console import Cell, Table
from benchmarks.options import Options
from benchmarks.timing import percentile, seconds

QUERIES: Final = Path(__file__).with_name("queries.jsonl")
HELD_OUT: Final = "held out"
TUNED_ON: Final = "tuned on"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A query and the class that it should get."""

    query: str
    strategy: str

    @property
    def half(self) -> str:
        """Which half it is in: by its own text, so that a query added later moves no other."""
        return HELD_OUT if zlib.crc32(self.query.encode()) % 2 else TUNED_ON


def read_queries(path: Path = QUERIES) -> list[Labelled]:
    """All labelled queries, in the order of the file."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Labelled(row["query"], row["strategy"]) for row in rows]


def run(options: Options) -> Iterator[Table]:
    """How good each half is, class by class, what is taken for what, and the time for one query."""
    queries = read_queries()
    halves = {half: _counted(queries, half) for half in (HELD_OUT, TUNED_ON)}
    yield _quality(halves)
    for half, counts in halves.items():
        yield _confusion(half, counts)
    yield _times(queries, options.samples)


Counts = Counter[tuple[str, str]]
"""How many queries of a class got which class: (should, did)."""


def _counted(queries: Sequence[Labelled], half: str) -> Counts:
    return Counter((each.strategy, strategy_of(each.query).name) for each in queries if each.half == half)


def _quality(halves: dict[str, Counts]) -> Table:
    figures: dict[str, Callable[[Counts, str], Cell]] = {
        "queries": lambda counts, name: _sum(counts, should=name),
        "precision": lambda counts, name: _share(counts[name, name], _sum(counts, did=name)),
        "recall": lambda counts, name: _share(counts[name, name], _sum(counts, should=name)),
    }
    columns = [f"{half} {figure}" for half in halves for figure in figures]
    rows: dict[str, Sequence[Cell]] = {
        name: [figure(counts, name) for counts in halves.values() for figure in figures.values()]
        for name in STRATEGIES
    }
    rows["all"] = [cell for counts in halves.values() for cell in _accuracy(counts)]
    return Table("classifier: 'all' is accuracy; both halves have one author", columns, rows)


def _accuracy(counts: Counts) -> list[Cell]:
    right = _share(sum(counts[name, name] for name in STRATEGIES), counts.total())
    return [counts.total(), right, right]


def _confusion(half: str, counts: Counts) -> Table:
    rows = {should: [counts[should, did] for did in STRATEGIES] for should in STRATEGIES}
    return Table(f"classifier, {half}: rows should be, columns are taken for", list(STRATEGIES), rows)


def _times(queries: Sequence[Labelled], samples: int) -> Table:
    calls = [partial(classify, queries[n % len(queries)].query) for n in range(samples)]
    taken_us = sorted(1e6 * seconds(call)[0] for call in calls)
    row = [percentile(taken_us, 0.5), percentile(taken_us, 0.95)]
    return Table("classifier: one query", ["p50 us", "p95 us"], {"classify": row})


def _sum(counts: Counts, *, should: str | None = None, did: str | None = None) -> int:
    return sum(n for (own, given), n in counts.items() if should in (None, own) and did in (None, given))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
