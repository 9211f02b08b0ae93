"""How often a conflict between two memories is told as a person told it, and how long that takes.

The labelled pairs are in `conflicts.jsonl`: on each line a new memory, one that is kept, and what the new
one is to the other. A *duplicate* adds nothing. An *overlap* says all or a part of the other and more, and
both can stay. In a *contradiction* both cannot hold of the same thing at the same time. *None* is all else:
other subjects in the same words, other numbers for other things. Similarities are the built-in embedder's.

The rules were tuned on one half of the pairs, and on 356 others that are not here; of the other half only
the counts were looked at. All were written by the one who wrote the rules, so that the figures are an upper
bound. The 356 came in four lots when the rules stood. In one of plain sentences, 85 % of the contradictions
were found at first sight; in three that sought out what takes knowledge of the world, 40 to 57 %. Of what was
taken for a contradiction, 93 to 100 % was one.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from backstory.adapters.embedders.static import StaticEmbedder
from backstory.analysis.conflicts import Candidate, ConflictKind, Said, conflicts
from backstory.model.memory import MemoryId
from benchmarks.console import Cell, Table
from benchmarks.options import Options
from benchmarks.timing import percentile, seconds

PAIRS: Final = Path(__file__).with_name("conflicts.jsonl")
HELD_OUT: Final = "held out"
TUNED_ON: Final = "tuned on"
NONE: Final = "none"
KINDS: Final = (*(kind.value for kind in ConflictKind), NONE)

#: Memories that a new one is compared with, where the time is measured: what a search gives.
_NEIGHBOURS: Final = 20


@dataclass(frozen=True, slots=True)
class Labelled:
    """A new memory, one that is kept, and the kind of conflict between them, or none."""

    kind: str
    new: Said
    old: Said

    @property
    def half(self) -> str:
        """Which half it is in: by its own texts, so that a pair added later moves no other."""
        return HELD_OUT if zlib.crc32(f"{self.new.content}\n{self.old.content}".encode()) % 2 else TUNED_ON


def read_pairs(path: Path = PAIRS) -> list[Labelled]:
    """All labelled pairs, in the order of the file."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [Labelled(row["kind"], Said(**row["new"]), Said(**row["old"])) for row in rows]


def candidates(pairs: Sequence[Labelled], embedder: StaticEmbedder) -> list[Candidate]:
    """The kept memory of each pair, with its similarity to the new one."""
    new = embedder.embed_documents([pair.new.content for pair in pairs])
    old = embedder.embed_documents([pair.old.content for pair in pairs])
    cosines = (new * old).sum(axis=1).tolist()
    return [
        Candidate(MemoryId(str(number)), pair.old.type, pair.old.content, pair.old.metadata, cosine)
        for number, (pair, cosine) in enumerate(zip(pairs, cosines, strict=True))
    ]


def told(pair: Labelled, candidate: Candidate) -> str:
    """The kind of conflict that is found in a pair, or none."""
    found = conflicts(pair.new, [candidate])
    return found[0].kind.value if found else NONE


def run(options: Options) -> Iterator[Table]:
    """How good each half is, kind by kind, what is taken for what, and the time for one memory."""
    pairs = read_pairs()
    beside = candidates(pairs, StaticEmbedder())
    halves = {half: _counted(pairs, beside, half) for half in (HELD_OUT, TUNED_ON)}
    yield _quality(halves)
    for half, counts in halves.items():
        yield _confusion(half, counts)
    yield _times(pairs, beside, options.samples)


Counts = Counter[tuple[str, str]]
"""How many pairs of a kind were told to be of which: (should, did)."""


def _counted(pairs: Sequence[Labelled], beside: Sequence[Candidate], half: str) -> Counts:
    both = zip(pairs, beside, strict=True)
    return Counter((pair.kind, told(pair, candidate)) for pair, candidate in both if pair.half == half)


def _quality(halves: Mapping[str, Counts]) -> Table:
    figures: dict[str, Callable[[Counts, str], Cell]] = {
        "pairs": lambda counts, kind: _sum(counts, should=kind),
        "precision": lambda counts, kind: _share(counts[kind, kind], _sum(counts, did=kind)),
        "recall": lambda counts, kind: _share(counts[kind, kind], _sum(counts, should=kind)),
    }
    columns = [f"{half} {figure}" for half in halves for figure in figures]
    rows: dict[str, Sequence[Cell]] = {
        kind: [figure(counts, kind) for counts in halves.values() for figure in figures.values()]
        for kind in KINDS
    }
    return Table("conflicts: both halves have one author", columns, rows)


def _confusion(half: str, counts: Counts) -> Table:
    rows = {should: [counts[should, did] for did in KINDS] for should in KINDS}
    return Table(f"conflicts, {half}: rows should be, columns are taken for", list(KINDS), rows)


def _times(pairs: Sequence[Labelled], beside: Sequence[Candidate], samples: int) -> Table:
    calls = [
        partial(
            conflicts, pairs[n % len(pairs)].new, [beside[(n + k) % len(pairs)] for k in range(_NEIGHBOURS)]
        )
        for n in range(samples)
    ]
    taken_ms = sorted(1e3 * seconds(call)[0] for call in calls)
    row = [percentile(taken_ms, 0.5), percentile(taken_ms, 0.95)]
    return Table(f"conflicts: one memory beside {_NEIGHBOURS}", ["p50 ms", "p95 ms"], {"conflicts": row})


def _sum(counts: Counts, *, should: str | None = None, did: str | None = None) -> int:
    return sum(n for (own, given), n in counts.items() if should in (None, own) and did in (None, given))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
