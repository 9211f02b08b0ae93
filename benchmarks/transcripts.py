"""Transcripts: how fast they are read, stored and made searchable, and how fast turns are found.

Everything goes through the actions that the product's faces call. Search is compared in the same run
with `bm25s` over the same texts, filtered after the search, which is how a small server would do it.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

# The package has no types.
import bm25s  # type: ignore[import-untyped]

from backstory.actions.projection.now import project_batch
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import ingest_paths, ingest_transcripts
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Work
from backstory.model.conversation import Role
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.model.search import TurnQuery
from backstory.model.upkeep import Target
from backstory.settings import read_settings
from backstory.transcripts.lines import read_lines
from backstory.transcripts.reader import read_transcript
from backstory.transcripts.slim import slimmed
from backstory.wiring import open_engine
from benchmarks.console import Cell, Table, reporting, say
from benchmarks.corpus import SEARCHED, Corpus
from benchmarks.machine import resident_mb
from benchmarks.options import Options
from benchmarks.scripts import Scripts
from benchmarks.stores import opened, settle
from benchmarks.talks import Saying, Talk, keep_talks
from benchmarks.timing import Stopwatch, seconds, spread

Figures = dict[str, float]

_SAYINGS: Final = 20  # messages of a made-up conversation
_APPENDS: Final = 20
_WARM_UP: Final = 10
_SCOPES: Final[Mapping[str, Scope]] = {"in a project (5 %)": SEARCHED, "in all projects": ALL_PROJECTS}


def run(options: Options) -> Iterator[Table]:
    """Reading in, of made-up transcripts or of those in a folder; then finding, at each size."""
    yield _reading_in(options)
    for size in options.sizes:
        say(f"transcripts: {size:,} messages")
        yield _finding(options.scratch / f"messages-{size}", size, options.samples)
        shutil.rmtree(options.scratch / f"messages-{size}")


def _reading_in(options: Options) -> Table:
    folder, scripts = options.scratch / "transcripts", Scripts()
    if options.transcripts:
        shutil.copytree(options.transcripts, folder)
        what = "of the folder"
    else:
        say(f"transcripts: making {options.megabytes:,} MB")
        scripts.write(folder, options.megabytes)
        what = "made up"
    files = sorted(folder.rglob("*.jsonl"))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    settings = read_settings(
        {
            "BACKSTORY_HOME": str(options.scratch / "read-in"),
            "CLAUDE_PROJECTS_DIR": str(folder),
            "CODEX_HOME": str(folder / "none"),
            "MAX_CONVERSATION_AGE_DAYS": "off",
        }
    )
    with open_engine(settings) as engine:
        figures = _parsing(files, megabytes) | _ingesting(engine, megabytes)
        figures |= _appending(engine, scripts, folder)
    rows: dict[str, Sequence[Cell]] = {label: (value,) for label, value in figures.items()}
    return Table(f"transcripts: {megabytes:,.0f} MB in {len(files):,} files, {what}", ("figure",), rows)


def _parsing(files: Sequence[Path], megabytes: float) -> Figures:
    say("  parsing")
    watch = Stopwatch()
    for file in files:
        data = file.read_bytes()
        with watch.running():
            lines = read_lines(data)
            slim = replace(lines, records=[slimmed(record) for record in lines.records])
            read_transcript(slim, id=file.stem)
    return {"parsed: MB a second": megabytes / watch.seconds}


def _ingesting(engine: Engine, megabytes: float) -> Figures:
    say("  reading in")
    taken, done = seconds(lambda: ingest_transcripts(engine, Wish(), reporting()))
    graph, _ = seconds(lambda: _drain(engine))
    again, _ = seconds(lambda: ingest_transcripts(engine, Wish(), reporting()))
    return {
        "read in and searchable: s": taken,
        "read in and searchable: MB a second": megabytes / taken,
        "read in: conversations a minute": 60 * done.conversations / taken,
        "messages": done.messages_added,
        "messages a second": done.messages_added / taken,
        "files that failed": len(done.errors),
        "graph brought up to date: s": graph,
        "nothing new: s": again,
        "resident, MB": resident_mb(),
    }


def _drain(engine: Engine) -> None:
    while project_batch(engine, Target.GRAPH):
        pass


def _appending(engine: Engine, scripts: Scripts, folder: Path) -> Figures:
    """From a turn's last byte on the disk to its being found, without the debounce."""
    say("  appending")
    small = scripts.write(folder / "small", 0.01)[0]
    large = folder / "large" / small.name.replace("-", "0")
    large.parent.mkdir()
    with large.open("wb") as out:
        for file in sorted(folder.rglob("*.jsonl"))[:12]:
            out.write(file.read_bytes())
    figures: Figures = {}
    for name, file in {"small": small, "large": large}.items():
        ingest_paths(engine, [file], Work())
        times = spread(partial(_appended, engine, scripts, file, f"{name}-{n}") for n in range(_APPENDS))
        size = file.stat().st_size / 1e6
        figures |= {f"appended to {size:,.1f} MB, searchable: p50, ms": times.p50_ms}
        figures |= {f"appended to {size:,.1f} MB, searchable: p95, ms": times.p95_ms}
    return figures


def _appended(engine: Engine, scripts: Scripts, file: Path, word: str) -> None:
    scripts.append_turn(file, f"Remember the word zebra-{word} please.")
    ingest_paths(engine, [file], Work())
    hits = search_turns(engine, ALL_PROJECTS, TurnQuery(f"zebra-{word}", limit=1)).hits
    assert hits
    assert word in hits[0].message.text


def _finding(home: Path, size: int, samples: int) -> Table:
    corpus = Corpus(size)
    with opened(home) as engine:
        keep_talks(engine, _talks(corpus))
        loading, _ = seconds(lambda: settle(engine))
        own = _searches(partial(_search, engine), corpus, samples)
        resident = resident_mb()
    plain = _searches(_Plain(_talks(corpus)).search, corpus, samples)
    rows: dict[str, Sequence[Cell]] = {
        label: (value, plain[label], plain[label] / value) for label, value in own.items()
    }
    rows["projecting all of it, s"] = (loading, None, None)
    rows["resident, MB"] = (resident, None, None)
    return Table(f"transcripts: {size:,} messages", ("Backstory", "bm25s", "times faster"), rows)


def _talks(corpus: Corpus) -> Iterator[Talk]:
    """The texts of the corpus as conversations between a user and an assistant."""
    drafts = corpus.drafts()
    number = 0
    while batch := list(islice(drafts, _SAYINGS)):
        number += 1
        memory = batch[number % len(batch)].memory
        sayings = [
            Saying(str(place), Role.ASSISTANT if place % 2 else Role.USER, draft.memory.content)
            for place, draft in enumerate(batch)
        ]
        yield Talk(f"talk {number}", memory.project, memory.created_at, sayings)


def _search(engine: Engine, scope: Scope, text: str) -> object:
    return search_turns(engine, scope, TurnQuery(text))


def _searches(search: Callable[[Scope, str], object], corpus: Corpus, samples: int) -> Figures:
    """Every question is asked once, so that nothing is answered from a cache of questions."""
    questions = iter(corpus.questions(_WARM_UP + 2 * samples))
    for text in islice(questions, _WARM_UP):
        search(ALL_PROJECTS, text)
    figures: Figures = {}
    for kind, scope in _SCOPES.items():
        times = spread(partial(search, scope, text) for text in islice(questions, samples))
        figures |= {f"search {kind}: p50, ms": times.p50_ms, f"search {kind}: p95, ms": times.p95_ms}
    return figures


class _Plain:
    """BM25 over all turns, of which those of other projects are dropped after the search."""

    def __init__(self, talks: Iterator[Talk]) -> None:
        sayings = [(talk.project, saying.text) for talk in talks for saying in talk.sayings]
        self._projects = [project for project, _ in sayings]
        self._retriever = bm25s.BM25()
        texts = bm25s.tokenize([text for _, text in sayings], stopwords="en", show_progress=False)
        self._retriever.index(texts, show_progress=False)

    def search(self, scope: Scope, text: str) -> list[int]:
        """The ten best turns, of three times as many candidates."""
        asked = bm25s.tokenize([text], stopwords="en", show_progress=False)
        depth = min(30, len(self._projects))
        found, _ = self._retriever.retrieve(asked, k=depth, show_progress=False)
        return [n for n in found[0] if scope is ALL_PROJECTS or self._projects[n] == scope][:10]
