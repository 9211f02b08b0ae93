"""What a run is asked for, and the shape every benchmark has."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.console import Table


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options. `scratch` is a folder that is removed when the run ends."""

    scratch: Path
    sizes: Sequence[int]
    samples: int
    kills: int
    sessions: Sequence[int]
    data: Path | None
    weights: bool
    transcripts: Path | None
    megabytes: int
    turns: int
    storages: Sequence[str]


Benchmark = Callable[[Options], Iterator[Table]]
"""Yields each table as soon as its figures are known."""
