"""How much of what should be remembered is found in talks, and how much of what is found should be.

The talks are in `extraction.jsonl`, written in the manner of real ones, each with the memories that a person
would keep of it, by the meanings that `backstory.analysis.wordings` gives the types. A memory found counts if
it has the type, was taken from the words that were marked, and says what it has to say: names, numbers,
negations, the test and its fix. The rules were tuned on one half of the talks, and the other half was only
counted. Both were written by the one who wrote the rules, so that the figures are an upper bound: other
people will use other words. Of the 21 talks of that half which were written when the rules stood, named
"mess" and "talk", .71 of what is found is right and .43 of what is wanted is found.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from backstory.analysis.extraction import extract
from backstory.analysis.statements import meaning
from backstory.model.candidate import CandidateMemory
from backstory.model.summary import SaidTurn
from benchmarks.console import Cell, Table
from benchmarks.options import Options
from benchmarks.timing import percentile, seconds

EXCERPTS: Final = Path(__file__).with_name("extraction.jsonl")
HELD_OUT: Final = "held out"
TUNED_ON: Final = "tuned on"
TYPES: Final = ("design", "preference", "requirement", "code_pattern", "test_history", "session")

# Of the marked words; people differ in where a quotation begins and ends.
_SHARED: Final = 0.6


@dataclass(frozen=True, slots=True)
class Wanted:
    """A memory that should be found: its type, the words it is taken from, and what it has to say."""

    type: str
    quote: str
    says: Sequence[str]

    def is_met_by(self, found: CandidateMemory) -> bool:
        """Whether a memory that was found is this one."""
        words = meaning(self.quote)
        shared = len(words & meaning(found.evidence)) / len(words) if words else 1.0
        told = " ".join([found.content, *map(str, found.fields.values())]).lower()
        return (
            found.type == self.type and shared >= _SHARED and all(each.lower() in told for each in self.says)
        )


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A talk, what tools gave back in it, and what should be remembered of it."""

    name: str
    turns: Sequence[SaidTurn]
    tools: Mapping[int, str]
    wanted: Sequence[Wanted]

    @property
    def half(self) -> str:
        """Which half it is in: by its own text, so that one added later moves no other."""
        first = self.turns[0]
        return HELD_OUT if zlib.crc32((first.user + first.assistant).encode()) % 2 else TUNED_ON


@dataclass(slots=True)
class Counts:
    """By type: what should be found, what was found, and what was found and should be."""

    wanted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)


def read_excerpts(path: Path = EXCERPTS) -> list[Excerpt]:
    """All annotated talks, in the order of the file."""
    return [_excerpt(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def run(options: Options) -> Iterator[Table]:
    """How good each half is, type by type, and the time for one talk."""
    excerpts = read_excerpts()
    yield _quality({half: counted(excerpts, half) for half in (HELD_OUT, TUNED_ON)})
    yield _times(excerpts, options.samples)


def counted(excerpts: Sequence[Excerpt], half: str) -> Counts:
    """What is found in the talks of one half."""
    counts = Counts()
    for excerpt in excerpts:
        if excerpt.half == half:
            found = extract(excerpt.turns, excerpt.tools)
            counts.found.update(each.type for each in found)
            counts.wanted.update(each.type for each in excerpt.wanted)
            counts.right.update(each.type for each, _ in matched(excerpt.wanted, found))
    return counts


def matched(
    wanted: Sequence[Wanted], found: Sequence[CandidateMemory]
) -> Iterator[tuple[Wanted, CandidateMemory]]:
    """Each wanted memory with the first found one that is it; a found one counts once."""
    free = list(found)
    for each in wanted:
        if met := next((candidate for candidate in free if each.is_met_by(candidate)), None):
            free.remove(met)
            yield each, met


def _excerpt(row: Mapping[str, object]) -> Excerpt:
    turns, memories = row["turns"], row["memories"]
    assert isinstance(turns, list)
    assert isinstance(memories, list)
    said = [SaidTurn(number, turn["user"], turn["assistant"]) for number, turn in enumerate(turns, 1)]
    tools = {number: turn["tools"] for number, turn in enumerate(turns, 1) if "tools" in turn}
    wanted = [Wanted(each["type"], each.get("quote", ""), each["says"]) for each in memories]
    return Excerpt(str(row["name"]), said, tools, wanted)


def _quality(halves: Mapping[str, Counts]) -> Table:
    figures: dict[str, Callable[[Counts, Sequence[str]], Cell]] = {
        "wanted": lambda counts, types: _sum(counts.wanted, types),
        "precision": lambda counts, types: _share(_sum(counts.right, types), _sum(counts.found, types)),
        "recall": lambda counts, types: _share(_sum(counts.right, types), _sum(counts.wanted, types)),
    }
    columns = [f"{half} {figure}" for half in halves for figure in figures]
    rows: dict[str, Sequence[Cell]] = {
        name: [figure(counts, types) for counts in halves.values() for figure in figures.values()]
        for name, types in {**{name: [name] for name in TYPES}, "all": TYPES}.items()
    }
    return Table("extraction: memories found in annotated talks; both halves have one author", columns, rows)


def _times(excerpts: Sequence[Excerpt], samples: int) -> Table:
    chosen = [excerpts[n % len(excerpts)] for n in range(samples)]
    taken_us = sorted(1e6 * seconds(partial(extract, each.turns, each.tools))[0] for each in chosen)
    row = [percentile(taken_us, 0.5), percentile(taken_us, 0.95)]
    return Table("extraction: one talk", ["p50 us", "p95 us"], {"extract": row})


def _sum(counts: Counter[str], types: Sequence[str]) -> int:
    return sum(counts[name] for name in types)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
