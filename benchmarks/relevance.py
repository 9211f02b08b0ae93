"""How often the turns that a context shows hold a right one, and how many it shows where there is none.

Needs data that is not part of the repository. Each question is asked where its answer is and, if the set has
several chats, in another one, with the names of that chat's people: there nothing should be shown. Everything
goes through the search that contexts use.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from backstory.actions.conversations.relevant import relevant_turns
from backstory.engine import Engine
from backstory.model.live import ContextLimits, Switches
from backstory.model.project import Project
from backstory.model.search import TurnQuery
from benchmarks.console import Cell, Table, say
from benchmarks.options import Options
from benchmarks.stores import opened, settle
from benchmarks.talks import Asked, TalkSet, keep_talks, read_talk_sets

#: As many as the strategies with the most show.
SHOWN: Final = 15
THRESHOLD: Final = ContextLimits().threshold
COLUMNS: Final = ("a right turn shown", "turns shown", "turns shown elsewhere", "any shown elsewhere")


def run(options: Options) -> Iterator[Table]:
    """A table for each question set that is there."""
    if options.data is None:
        raise SystemExit("relevance needs question sets: name their folder with --data")
    for number, talks in enumerate(read_talk_sets(options.data)):
        say(f"relevance: {talks.name}")
        with opened(options.scratch / f"relevance-{number}") as engine:
            keep_talks(engine, talks.talks)
            settle(engine)
            by_words = replace(engine, switches=lambda: Switches(semantic_search=False))
            rows = {
                f"{split or 'all'}, {name}": _row(_Trial.of(own, talks), questions)
                for name, own in {"meaning and words": engine, "words alone": by_words}.items()
                for split, questions in _halves(talks.questions).items()
            }
        yield Table(f"relevance: {talks.name}, up to {SHOWN} turns a question", COLUMNS, rows)


def _halves(questions: Sequence[Asked]) -> Mapping[str, Sequence[Asked]]:
    halves: dict[str, list[Asked]] = defaultdict(list)
    for question in questions:
        halves[question.split].append(question)
    return halves


def _row(trial: "_Trial", questions: Sequence[Asked]) -> Sequence[Cell]:
    here = [trial.shown(question.text, question, question.project) for question in questions]
    right = [
        any(unit in question.relevant[trial.kind] for unit in units)
        for question, units in zip(questions, here, strict=True)
    ]
    elsewhere = [len(units) for question in questions for units in trial.shown_elsewhere(question)]
    there: Sequence[Cell] = [fmean(elsewhere), fmean(map(bool, elsewhere))] if elsewhere else [None, None]
    return [fmean(right), fmean(map(len, here)), *there]


@dataclass(frozen=True, slots=True)
class _Trial:
    """Questions to one set of talks. `units` are the names that questions know turns by."""

    engine: Engine
    kind: str
    units: Mapping[tuple[str, int], str]
    people: Mapping[Project, Sequence[str]]

    @classmethod
    def of(cls, engine: Engine, talks: TalkSet) -> "_Trial":
        people: dict[Project, dict[str, None]] = defaultdict(dict)
        for talk in talks.talks:
            people[talk.project] |= dict.fromkeys(each.speaker for each in talk.sayings)
        return cls(
            engine,
            kind="turn" if "turn" in talks.measures else "session",
            units={(talk.id, n): each.unit for talk in talks.talks for n, each in enumerate(talk.sayings, 1)},
            people={project: list(names) for project, names in people.items()},
        )

    def shown(self, text: str, question: Asked, project: Project) -> list[str]:
        """What a context would show of a project for a text."""
        query = TurnQuery(text, asked_at=question.at)
        found = relevant_turns(self.engine, project, query, most=SHOWN, threshold=THRESHOLD)
        return [self.units[turn.conversation, turn.number] for turn, _ in found.turns]

    def shown_elsewhere(self, question: Asked) -> Iterator[list[str]]:
        """What it would show of the next chat, if there are several."""
        projects = list(self.people)
        if len(projects) > 1:
            other = projects[(projects.index(question.project) + 1) % len(projects)]
            text = _renamed(question.text, self.people[question.project], self.people[other])
            yield self.shown(text, question, other)


def _renamed(text: str, names: Sequence[str], others: Sequence[str]) -> str:
    for name, other in zip(names, others, strict=False):
        text = re.sub(rf"\b{re.escape(name)}\b", other, text)
    return text
