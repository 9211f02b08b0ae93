"""How well turns are found, on public question sets, beside BM25 over plain turns in the same run.

Needs data that is not part of the repository. Everything goes through the records, the projection and
the search that the product's faces use.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

# The package has no types.
import bm25s  # type: ignore[import-untyped]

from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine
from backstory.model.project import Project
from backstory.model.search import MAX_LIMIT, TurnQuery
from benchmarks.console import Table, say
from benchmarks.measures import Measure
from benchmarks.options import Options
from benchmarks.stores import opened, settle
from benchmarks.talks import Asked, Talk, TalkSet, keep_talks, read_talk_sets

Ranking = Mapping[str, Sequence[str]]
"""What was found for one question, best first, for each kind of unit."""


def run(options: Options) -> Iterator[Table]:
    """A table for each question set that is there, and kind of unit."""
    if options.data is None:
        raise SystemExit("turns needs question sets: name their folder with --data")
    for number, talks in enumerate(read_talk_sets(options.data)):
        say(f"turns: {talks.name}")
        own = _searched(talks, options.scratch / f"turns-{number}")
        plain = _Plain(talks.talks)
        beside = [plain.ranking(question) for question in talks.questions]
        for kind, measures in talks.measures.items():
            yield _table(talks, kind, measures, {"search": own, "bm25s over plain turns": beside})


def _searched(talks: TalkSet, home: Path) -> list[Ranking]:
    with opened(home) as engine:
        keep_talks(engine, talks.talks)
        settle(engine)
        units = {(talk.id, n): each.unit for talk in talks.talks for n, each in enumerate(talk.sayings, 1)}
        return [_ranking(engine, question, units) for question in talks.questions]


def _ranking(engine: Engine, question: Asked, units: Mapping[tuple[str, int], str]) -> Ranking:
    query = TurnQuery(question.text, limit=MAX_LIMIT, asked_at=question.at)
    hits = search_turns(engine, question.project, query).hits
    return {
        "turn": [units[hit.conversation.id, hit.turn] for hit in hits],
        "session": list(dict.fromkeys(hit.conversation.id for hit in hits)),
    }


@dataclass(frozen=True, slots=True)
class _Corpus:
    """The turns of one project, and BM25 over them."""

    turns: Sequence[tuple[str, str]]  # what it is, and which session it is in
    retriever: bm25s.BM25


class _Plain:
    """What a plan for a small search server had: BM25 with its usual constants over the turns' texts."""

    def __init__(self, talks: Sequence[Talk]) -> None:
        by_project: dict[Project, list[Talk]] = defaultdict(list)
        for talk in talks:
            by_project[talk.project].append(talk)
        self._corpora = {project: _corpus(own) for project, own in by_project.items()}

    def ranking(self, question: Asked) -> Ranking:
        """The turns that answer best, and the sessions they are in."""
        corpus = self._corpora[question.project]
        asked = bm25s.tokenize([question.text], stopwords="en", show_progress=False)
        depth = min(MAX_LIMIT, len(corpus.turns))
        found, _ = corpus.retriever.retrieve(asked, k=depth, show_progress=False)
        best = [corpus.turns[index] for index in found[0]]
        return {
            "turn": [unit for unit, _ in best],
            "session": list(dict.fromkeys(session for _, session in best)),
        }


def _corpus(talks: Sequence[Talk]) -> _Corpus:
    sayings = [(talk, saying) for talk in talks for saying in talk.sayings]
    texts = [f"{each.speaker} {each.text}" if each.speaker else each.text for _, each in sayings]
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
    return _Corpus([(saying.unit, talk.id) for talk, saying in sayings], retriever)


def _table(
    talks: TalkSet, kind: str, measures: Mapping[str, Measure], found: Mapping[str, Sequence[Ranking]]
) -> Table:
    splits = list(dict.fromkeys(question.split for question in talks.questions))
    columns = [" ".join(filter(None, (split, name))) for split in splits for name in measures]
    rows = {
        name: [
            score for split in splits for score in _scores(talks.questions, rankings, kind, measures, split)
        ]
        for name, rankings in found.items()
    }
    messages = sum(len(talk.sayings) for talk in talks.talks)
    sizes = f"{messages:,} turns, {len(talks.talks):,} sessions, {len(talks.questions):,} questions"
    return Table(f"turns: {talks.name} {kind}s, {sizes}", columns, rows)


def _scores(
    questions: Sequence[Asked],
    rankings: Sequence[Ranking],
    kind: str,
    measures: Mapping[str, Measure],
    split: str,
) -> list[float]:
    judged = [
        (ranking[kind], question.relevant[kind])
        for question, ranking in zip(questions, rankings, strict=True)
        if question.split == split
    ]
    return [fmean(measure(found, relevant) for found, relevant in judged) for measure in measures.values()]
