"""How well memories are found, on public question sets: by search, by each leg alone, by other fusions.

Needs data that is not part of the repository. Nothing is tuned here; the sweep over weights shows what
a change of them would do, on chats for tuning and on chats for checking.
"""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from backstory.actions.memory.search import search_memories
from backstory.actions.projection.vectors import FIELD, SPACE
from backstory.engine import Engine
from backstory.model.memory import DEFAULT_IMPORTANCE, Memory, MemoryId
from backstory.model.passage import Index
from backstory.model.search import MAX_LIMIT, MemoryQuery, Scored, Where
from backstory.ports import Meaning, Words
from backstory.ranking.memories import CANDIDATES
from backstory.ranking.words import terms
from benchmarks import boosts
from benchmarks.answered import Answer, Answers
from benchmarks.console import Table, say
from benchmarks.corpus import Draft
from benchmarks.datasets import Dataset, Document, Question, read_datasets
from benchmarks.options import Options
from benchmarks.stores import load, opened
from benchmarks.sweep import FUSIONS, WEIGHTS

_KEPT_AT: Final = datetime(2024, 1, 1, tzinfo=UTC)


def run(options: Options) -> Iterator[Table]:
    """A table for each question set that is there; with `weights`, more that compare ways and weights."""
    if options.data is None:
        raise SystemExit("quality needs question sets: name their folder with --data")
    answered = []
    for number, dataset in enumerate(read_datasets(options.data)):
        say(f"quality: {dataset.name}")
        answered.append(_answered(dataset, options.scratch / f"quality-{number}"))
        yield _legs(answered[-1])
    if not answered:
        raise SystemExit(
            f"there is no question set in {options.data}: docs/benchmarks.md says which are known"
        )
    if options.weights:
        yield _sweep(answered)
        yield from boosts.compared(answered)


def _answered(dataset: Dataset, home: Path) -> Answers:
    drafts, units = [], {}
    for number, document in enumerate(dataset.documents):
        drafts.append(Draft(_memory(number, document)))
        units[str(drafts[-1].memory.id)] = document.unit
    with opened(home) as engine:
        load(engine, drafts)
        answers = [_answer(engine, question) for question in dataset.questions]
    return Answers(dataset, units, answers)


def _memory(number: int, document: Document) -> Memory:
    """A document as a memory, under the same id in every run, so that equal scores fall the same way."""
    return Memory(
        id=MemoryId(str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))),
        project=document.project,
        type=document.type,
        content=document.content,
        metadata={"title": document.title} if document.title else {},
        importance=DEFAULT_IMPORTANCE,
        version=1,
        created_at=_KEPT_AT,
        updated_at=_KEPT_AT,
    )


def _answer(engine: Engine, question: Question) -> Answer:
    found = search_memories(engine, question.project, MemoryQuery(question.text, limit=MAX_LIMIT))
    return Answer(question, [hit.memory.id for hit in found.hits], _lists(engine, question))


def _lists(engine: Engine, question: Question) -> dict[str, list[Scored]]:
    """The candidates that search has before it fuses them."""
    with engine.records.reading() as records:
        live = records.generations.live(Index.MEMORIES.value)
    assert live is not None
    words = Words(FIELD, terms(question.text), CANDIDATES)
    meaning = Meaning(SPACE, engine.embedder.embed_query(question.text), CANDIDATES)
    by_words, by_meaning = engine.vectors.query(live.name, [words, meaning], Where(question.project))
    return {"words": by_words, "meaning": by_meaning}


def _legs(answered: Answers) -> Table:
    dataset = answered.dataset
    sizes = f"{len(dataset.documents):,} memories, {len(dataset.questions):,} questions"
    rows = {
        "search": answered.scores(lambda answer: answer.found),
        "words alone": answered.scores(lambda answer: _ids(answer.lists["words"])),
        "meaning alone": answered.scores(lambda answer: _ids(answer.lists["meaning"])),
    }
    return Table(f"quality: {dataset.name}, {sizes}", list(dataset.measures), rows)


def _sweep(answered: Sequence[Answers]) -> Table:
    columns = [
        " ".join(filter(None, (each.dataset.name.split()[0], split, measure)))
        for each in answered
        for split in each.splits
        for measure in each.dataset.measures
    ]
    rows = {
        f"{name}, meaning {weight}": _swept(answered, name, weight) for name in FUSIONS for weight in WEIGHTS
    }
    return Table("quality: weight of meaning beside words", columns, rows)


def _swept(answered: Sequence[Answers], name: str, weight: float) -> list[float]:
    weights = {"words": 1.0, "meaning": weight}
    return [
        score
        for each in answered
        for split in each.splits
        for score in each.scores(lambda answer: FUSIONS[name](answer.lists, weights), split)
    ]


def _ids(scored: Sequence[Scored]) -> list[str]:
    return [each.id for each in scored]
