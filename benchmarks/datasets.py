"""Public question sets as memories to be found: LoCoMo, LongMemEval, CoSQA.

Reads `NAME.jsonl.gz` from the folder that the user names; the formats are in `docs/benchmarks.md`. What
is ranked is a unit: a turn, a session, a function. Several memories may belong to one unit, whose rank
is then that of the best of them.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from backstory.model.project import Project
from benchmarks.measures import Measure, hit, ndcg, recall, reciprocal_rank


@dataclass(frozen=True, slots=True)
class Document:
    """One memory, and the unit that finding it finds."""

    unit: str
    project: Project
    type: str
    content: str
    title: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, where, and the units that answer it. A `split` keeps tuning and checking apart."""

    text: str
    project: Project
    relevant: Set[str]
    split: str = ""
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, the questions about them, and how answers are judged. The first measure is the main one."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[Question]
    measures: Mapping[str, Measure]


def read_datasets(folder: Path) -> Iterator[Dataset]:
    """Those of the question sets that the folder has."""
    for name, read in _READERS.items():
        if (path := folder / f"{name}.jsonl.gz").exists():
            yield read(path)


def _locomo(path: Path) -> Dataset:
    """Turns of long chats, one project a chat. Odd chats are for tuning, even ones for checking."""
    documents, questions = [], []
    for number, chat in enumerate(_rows(path), 1):
        project = Project(chat["conversation"])
        documents += [_turn(project, turn) for turn in chat["turns"]]
        split = "odd" if number % 2 else "even"
        questions += [
            Question(each["question"], project, {f"{project} {turn}" for turn in each["evidence"]}, split)
            for each in chat["questions"]
        ]
    measures = {"nDCG@10": partial(ndcg, depth=10), "recall@10": partial(recall, depth=10)}
    return Dataset("LoCoMo turns", documents, questions, measures)


def _turn(project: Project, turn: Mapping[str, Any]) -> Document:
    seen = f" ({turn['caption']})" if turn["caption"] else ""
    day = turn["date"].split(" on ")[-1].replace(",", "")
    content = f"{turn['speaker']}: {turn['text']}{seen}"
    return Document(f"{project} {turn['id']}", project, "session", content, title=day)


def _longmemeval(path: Path) -> Dataset:
    """Sessions of many chats in one project; a session is found by its best turn."""
    project = Project("pooled sessions")
    documents: list[Document] = []
    questions: list[Question] = []
    for row in _rows(path):
        if row["kind"] == "session":
            day = _day(row["date"])
            title = f"{day.day} {day:%B %Y}"
            turns = [f"{turn['role']}: {turn['text']}" for turn in row["turns"]]
            documents += [Document(row["id"], project, "session", turn, title, day) for turn in turns]
        else:
            asked_at = _day(row["date"]) if "date" in row else None
            questions.append(Question(row["question"], project, set(row["sessions"]), asked_at=asked_at))
    measures = {
        "nDCG@10": partial(ndcg, depth=10),
        "any@5": partial(hit, depth=5),
        "recall@5": partial(recall, depth=5),
    }
    return Dataset("LongMemEval sessions", documents, questions, measures)


def _day(text: str) -> datetime:
    return datetime.strptime(text[:10], "%Y/%m/%d").replace(tzinfo=UTC)


def _cosqa(path: Path) -> Dataset:
    """Python functions and what people asked a search engine before they found one."""
    project = Project("functions")
    documents: list[Document] = []
    questions: list[Question] = []
    for row in _rows(path):
        if row["kind"] == "function":
            documents.append(Document(row["id"], project, "function", row["code"]))
        else:
            questions.append(Question(row["question"], project, {row["function"]}))
    return Dataset("CoSQA functions", documents, questions, {"MRR@10": partial(reciprocal_rank, depth=10)})


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


_READERS: Final[Mapping[str, Callable[[Path], Dataset]]] = {
    "locomo": _locomo,
    "longmemeval_pooled": _longmemeval,
    "cosqa": _cosqa,
}
