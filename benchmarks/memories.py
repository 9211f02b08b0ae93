"""Memories by the thousand: loading, adding, changing, finding, reading, rebuilding, and what they take.

Everything goes through the actions that the product's faces call. Search is compared in the same run
with a plain FTS5 and matrix baseline, over the same texts.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.bulk_add import MOST_AT_ONCE, Item, add_memories
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.adapters.embedders.static import StaticEmbedder
from backstory.engine import Engine
from backstory.model.memory import MemoryChange, NewMemory
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.model.search import MemoryQuery
from benchmarks.baseline import Baseline
from benchmarks.console import Cell, Table, reporting, say
from benchmarks.corpus import SEARCHED, Corpus
from benchmarks.machine import resident_mb
from benchmarks.options import Options
from benchmarks.stores import Loading, load, opened
from benchmarks.timing import Spread, seconds, spread

Search = Callable[[Scope, MemoryQuery], object]
Figures = dict[str, float]

_REPOSITORY: Final = Path(__file__).parents[1]
_WARM_UP: Final = 10
_NEWCOMER_QUESTIONS: Final = 100

#: FTS5 takes a second and more for common words among a million texts; fifty show its spread already.
_BASELINE_SAMPLES: Final = 50

#: Calls of `add_memories` that are timed together.
_BATCHES: Final = 5

_PLAIN: Final = MemoryQuery("")
_TYPES: Final = replace(_PLAIN, types=("design", "code_pattern"))
_TIME: Final = replace(_PLAIN, since=datetime(2025, 1, 1, tzinfo=UTC))
_METADATA: Final = replace(_PLAIN, metadata={"branch": "feature-7"})
_FILTERS: Final = {
    "": _PLAIN,
    ", two of eight types": _TYPES,
    ", one of two years": _TIME,
    ", one of fifty branches": _METADATA,
    ", types and time": replace(_TYPES, since=_TIME.since),
}
_PLACES: Final[Mapping[str, Scope]] = {"a project (5 %)": SEARCHED, "all projects": ALL_PROJECTS}
_KINDS: Final[Mapping[str, tuple[Scope, MemoryQuery]]] = {
    f"search in {place}{filters}": (scope, query)
    for place, scope in _PLACES.items()
    for filters, query in _FILTERS.items()
}
#: The baseline keeps no metadata.
_BASELINE_KINDS: Final = {kind: asked for kind, asked in _KINDS.items() if not asked[1].metadata}
_DISK_PARTS: Final = {"records": "backstory.db", "vectors": "vectors", "graph": "graph", "cache": "cache"}


def run(options: Options) -> Iterator[Table]:
    """A table for each size; with several sizes, one that shows how the figures grow."""
    measured: dict[int, Figures] = {}
    for size in options.sizes:
        say(f"memories: {size:,}")
        folder = options.scratch / f"memories-{size}"
        corpus = Corpus(size)
        measured[size] = _measured(folder, corpus, options.samples)
        yield _compared(size, measured[size], _baseline(folder, corpus, options.samples))
        shutil.rmtree(folder)
    if len(measured) > 1:
        yield _growth(measured)


def _measured(folder: Path, corpus: Corpus, samples: int) -> Figures:
    home = folder / "home"
    with opened(home) as engine:
        figures = _loading(load(engine, corpus.drafts()))
        figures |= _everyday(engine, corpus, samples)
        figures |= _upkeep(engine)
    figures |= _reopening(home, corpus)
    return figures | _disk(home, corpus.size + samples + _BATCHES * _batch(samples))


def _loading(loading: Loading) -> Figures:
    return {
        "load: records, s": loading.records_s,
        **{f"load: {name}, s": taken for name, taken in loading.projection_s.items()},
        "load: coming to rest, s": loading.settling_s,
        "load: memories a second": loading.memories / loading.total_s,
        "resident after loading, MB": resident_mb(),
    }


def _everyday(engine: Engine, corpus: Corpus, samples: int) -> Figures:
    say("  adding, changing, finding, reading")
    others = corpus.newcomers(2 * samples + _BATCHES * _batch(samples))
    added, changes, bulk = others[:samples], others[samples : 2 * samples], others[2 * samples :]
    some = corpus.some_ids(samples)
    adds = spread(partial(add_memory, engine, SEARCHED, new) for new in added)
    updates = spread(
        partial(update_memory, engine, *which, MemoryChange(content=new.content))
        for which, new in zip(some, changes, strict=True)
    )
    figures = _named("add", adds) | _named("update", updates) | _bulk_adds(engine, bulk, _batch(samples))
    figures |= _searches(partial(search_memories, engine), _KINDS, corpus, samples)
    figures |= _named("next page", spread(_next_pages(engine, corpus.questions(samples))))
    return figures | _named("get", spread(partial(get_memory, engine, *which) for which in some))


def _batch(samples: int) -> int:
    """How many memories are added at once; few, where a run is to be short."""
    return min(samples, MOST_AT_ONCE)


def _bulk_adds(engine: Engine, new: Sequence[NewMemory], size: int) -> Figures:
    batches = [[Item(each) for each in new[start : start + size]] for start in range(0, len(new), size)]
    taken_s, _ = seconds(lambda: [add_memories(engine, SEARCHED, batch) for batch in batches])
    return {f"bulk add, {size} at once: memories a second": len(new) / taken_s}


def _searches(
    search: Search, kinds: Mapping[str, tuple[Scope, MemoryQuery]], corpus: Corpus, samples: int
) -> Figures:
    """Every question is asked once, so that nothing is answered from a cache of questions."""
    questions = iter(corpus.questions(_WARM_UP + samples * len(kinds)))
    for _ in range(_WARM_UP):
        search(ALL_PROJECTS, MemoryQuery(next(questions)))
    figures: Figures = {}
    for kind, (scope, query) in kinds.items():
        asked = [replace(query, text=next(questions)) for _ in range(samples)]
        figures |= _named(kind, spread(partial(search, scope, each) for each in asked))
    return figures


def _next_pages(engine: Engine, questions: Sequence[str]) -> Iterator[Callable[[], object]]:
    """Calls for the second pages of searches, each after its first."""
    for question in questions:
        query = MemoryQuery(question, limit=1)
        first = search_memories(engine, SEARCHED, query)
        second = replace(query, limit=10, offset=first.end, ranking=first.ranking)
        yield partial(search_memories, engine, SEARCHED, second)


def _upkeep(engine: Engine) -> Figures:
    say("  rebuilding")
    statistics_s, _ = seconds(lambda: statistics(engine, ALL_PROJECTS))
    rebuild_s, _ = seconds(lambda: rebuild(engine, reporting()))
    return {"statistics, ms": 1000 * statistics_s, "rebuild, s": rebuild_s}


def _reopening(home: Path, corpus: Corpus) -> Figures:
    command = [sys.executable, "-m", "benchmarks.newcomer", str(home), SEARCHED.name]
    questions = json.dumps(corpus.questions(_NEWCOMER_QUESTIONS))
    said = json.loads(subprocess.check_output(command, cwd=_REPOSITORY, input=questions, text=True))
    return {
        "reopening to the first answer, s": said["reopening_s"],
        f"resident after {_NEWCOMER_QUESTIONS} answers, MB": said["resident_mb"],
    }


def _disk(home: Path, memories: int) -> Figures:
    with opened(home) as engine:
        sizes = statistics(engine, ALL_PROJECTS).storage_bytes
    figures = {"disk, bytes a memory": sum(sizes.values()) / memories}
    for part, prefix in _DISK_PARTS.items():
        own = sum(size for name, size in sizes.items() if name.startswith(prefix))
        figures[f"disk: {part}, bytes a memory"] = own / memories
    return figures


def _baseline(folder: Path, corpus: Corpus, samples: int) -> Figures:
    baseline = Baseline(folder, StaticEmbedder())
    baseline.load(corpus.drafts())
    try:
        return _searches(baseline.search, _BASELINE_KINDS, corpus, min(samples, _BASELINE_SAMPLES))
    finally:
        baseline.close()


def _named(what: str, taken: Spread) -> Figures:
    return {f"{what}: p50, ms": taken.p50_ms, f"{what}: p95, ms": taken.p95_ms}


def _compared(size: int, own: Figures, baseline: Figures) -> Table:
    rows: dict[str, Sequence[Cell]] = {
        label: (value, baseline.get(label), baseline[label] / value if label in baseline else None)
        for label, value in own.items()
    }
    return Table(f"memories: {size:,}", ("Backstory", "baseline", "times faster"), rows)


def _growth(measured: Mapping[int, Figures]) -> Table:
    first, *_, last = measured.values()
    rows: dict[str, Sequence[Cell]] = {
        label: (*(figures[label] for figures in measured.values()), last[label] / first[label])
        for label in first
        if first[label]
    }
    return Table("memories: growth", (*(f"{size:,}" for size in measured), "last / first"), rows)
