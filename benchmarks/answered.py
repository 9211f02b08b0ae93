"""Answers to a question set, and how good they are when they are ranked in one way or another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.datasets import Dataset, Question
from benchmarks.sweep import Lists


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a question: by search, and by each leg. Ids are those of memories."""

    question: Question
    found: Sequence[str]
    lists: Lists


@dataclass(frozen=True, slots=True)
class Answers:
    """Every answer of a question set, with the unit that each memory belongs to, in the set's order."""

    dataset: Dataset
    units: Mapping[str, str]
    answers: Sequence[Answer]

    @property
    def splits(self) -> list[str]:
        """The parts of the set that are kept apart; one if none are."""
        return list(dict.fromkeys(question.split for question in self.dataset.questions))

    def scores(self, ranking: Callable[[Answer], Sequence[str]], split: str | None = None) -> list[float]:
        """The mean of each measure when answers are ranked in this way."""
        judged = [
            (list(dict.fromkeys(self.units[id] for id in ranking(answer))), answer.question.relevant)
            for answer in self.answers
            if split in (None, answer.question.split)
        ]
        return [
            fmean(measure(units, relevant) for units, relevant in judged)
            for measure in self.dataset.measures.values()
        ]
