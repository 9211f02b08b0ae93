"""The command: which benchmarks to run, and where their figures go."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from backstory.actions.conversations.migrate import PLACES
from benchmarks import (
    classifier,
    conflicts,
    embedding,
    extraction,
    kills,
    live,
    memories,
    process,
    quality,
    relevance,
    summaries,
    transcripts,
    turns,
)
from benchmarks.console import Table
from benchmarks.machine import machine_class
from benchmarks.options import Benchmark, Options

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "embedding": embedding.run,
    "memories": memories.run,
    "kills": kills.run,
    "process": process.run,
    "quality": quality.run,
    "transcripts": transcripts.run,
    "classifier": classifier.run,
    "conflicts": conflicts.run,
    "summaries": summaries.run,
    "extraction": extraction.run,
    "turns": turns.run,
    "relevance": relevance.run,
    "conversations": live.run,
}
NEED_DATA: Final = ("quality", "turns", "relevance")
MILLION: Final = 1_000_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for; print each table as soon as it is known."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the scratch folder goes
    names = asked.names or [name for name in BENCHMARKS if name not in NEED_DATA or asked.data]
    print(machine_class(), flush=True)
    tables = []
    with tempfile.TemporaryDirectory(prefix="backstory-bench-") as scratch:
        for table in _tables(names, _options(asked, Path(scratch))):
            print(f"\n{table}", flush=True)
            tables.append(table.as_json())
    if asked.json:
        figures = {"machine": machine_class(), "tables": tables}
        asked.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


def _tables(names: Sequence[str], options: Options) -> Iterator[Table]:
    for name in names:
        yield from BENCHMARKS[name](options)


def _options(asked: argparse.Namespace, scratch: Path) -> Options:
    sizes = [*asked.sizes, MILLION] if asked.million else asked.sizes
    return Options(
        scratch,
        sizes,
        asked.samples,
        asked.kills,
        asked.sessions,
        asked.data,
        asked.weights,
        asked.transcripts,
        asked.megabytes,
        asked.turns,
        asked.storage,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add(
        "names",
        nargs="*",
        metavar="NAME",
        type=_name,
        help=f"of {', '.join(BENCHMARKS)}; all by default, but {', '.join(NEED_DATA)} only with --data",
    )
    add("--sizes", type=_sizes, default=[1_000, 100_000], help="memories or messages: 1000,100000")
    add("--million", action="store_true", help="load a million memories as well")
    add("--samples", type=_positive, default=200, help="calls that are timed, of each kind")
    add("--kills", type=_positive, default=500, help="how often a writing process is killed")
    add("--sessions", type=_sizes, default=[1, 10, 100], help="clients of 'process' at once: 1,10,100")
    add("--data", type=Path, metavar="FOLDER", help=f"where the question sets are: {', '.join(NEED_DATA)}")
    add("--transcripts", type=Path, metavar="FOLDER", help="read these in, in place of made-up ones")
    add("--megabytes", type=_positive, default=100, help="of transcripts to make up")
    add("--turns", type=_positive, default=100_000, help="of the conversations of 'conversations'")
    add("--storage", type=_places, default=PLACES, help=f"where those are kept: {','.join(PLACES)}")
    add("--weights", action="store_true", help="let 'quality' compare ways and weights of fusion")
    add("--json", type=Path, metavar="FILE", help="write the figures here as well")
    return parser


def _name(text: str) -> str:
    if text not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(BENCHMARKS)}")
    return text


def _places(text: str) -> list[str]:
    places = text.split(",")
    if unknown := [place for place in places if place not in PLACES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(PLACES)}")
    return places


def _sizes(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


if __name__ == "__main__":
    main()
