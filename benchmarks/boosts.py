"""What importance, age and links do to rankings of memories, at other weights than those in use.

No question set says what was important, and few say when something was written. So both ends are tried:
worths that have nothing to do with the questions, drawn by chance, and such as somebody might give who knew
the answers. All rankings begin with what search found by words and meaning.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Final

from backstory.ranking.importance import EXPLICIT, importance
from backstory.ranking.memories import GIVING, HALF_LIFE, matches
from benchmarks.answered import Answer, Answers
from benchmarks.console import Table
from benchmarks.datasets import Document

#: What something is worth beside what was asked, from 0 to 1, by id. What is not in it cannot be found.
Worths = Mapping[str, float]
#: Which memories each is linked to.
Near = Mapping[str, Sequence[str]]
#: The ids of an answer, best first, at a weight.
Ranking = Callable[[float, Answer], list[str]]

_WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
_SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_YEARS: Final = timedelta(days=730)
_MONTH: Final = timedelta(days=30)
_GIVEN: Final = (0.3, 0.5, 0.5, 0.5, 0.5, 0.7, 0.9)
_USUAL_USES: Final = 3
_IMPORTANT, _ORDINARY = 0.9, 0.5


def compared(answered: Sequence[Answers]) -> Iterator[Table]:
    """A table for the weight of importance, one for that of recency, one for the share that links give."""
    yield _table("weight of importance", _WEIGHTS, _importances(answered))
    yield _table("weight of recency", _WEIGHTS, _recencies(answered))
    yield _table("share given by links", _SHARES, _links(answered))


def _table(title: str, weights: Sequence[float], columns: Mapping[str, Callable[[float], float]]) -> Table:
    rows = {f"{weight}": [score(weight) for score in columns.values()] for weight in weights}
    return Table(f"quality: {title}", list(columns), rows)


def _importances(answered: Sequence[Answers]) -> dict[str, Callable[[float], float]]:
    columns = {}
    for each in answered:
        for how, worths in {"by chance": _by_chance(each), "as told": _as_told(each)}.items():
            columns[f"{_name(each)} {how}"] = _scorer(each, partial(_raised, worths))
    return columns


def _recencies(answered: Sequence[Answers]) -> dict[str, Callable[[float], float]]:
    columns = {}
    for each in answered:
        for half_life in (_MONTH, HALF_LIFE):
            if any(question.asked_at for question in each.dataset.questions):
                columns[f"{_name(each)} {half_life.days} days"] = _scorer(each, _aged(each, half_life))
        columns[f"{_name(each)} by chance"] = _scorer(each, partial(_raised, _ages_by_chance(each)))
    return columns


def _links(answered: Sequence[Answers]) -> dict[str, Callable[[float], float]]:
    """Only of sets whose memories follow one another and that keep some of their questions for checking."""
    columns = {}
    for each in answered:
        if len(each.splits) > 1:
            ranking = partial(_linked, _to_the_next(each))
            for split in each.splits:
                columns[f"{_name(each)} {split}, next turn"] = _scorer(each, ranking, split)
            columns[f"{_name(each)} by chance"] = _scorer(each, partial(_linked, _anywhere(each)))
    return columns


def _name(answered: Answers) -> str:
    return f"{answered.dataset.name.split()[0]} {next(iter(answered.dataset.measures))}"


def _scorer(answered: Answers, ranking: Ranking, split: str | None = None) -> Callable[[float], float]:
    return lambda weight: answered.scores(partial(ranking, weight), split)[0]


def _raised(worths: Worths, weight: float, answer: Answer) -> list[str]:
    """What was found, best first, each raised by what it is worth."""
    found = matches(answer.lists)
    return _best_first(
        {each.id: each.score + weight * worths[each.id] for each in found if each.id in worths}
    )


def _linked(near: Near, share: float, answer: Answer) -> list[str]:
    """What was found and what the best of it are linked to, best first, as search does it."""
    found = matches(answer.lists)
    totals = {each.id: each.score for each in found}
    gifts: dict[str, float] = defaultdict(float)
    for giver in found[:GIVING]:
        for other in near.get(giver.id, ()):
            gifts[other] = max(gifts[other], share * giver.score)
    return _best_first({id: totals.get(id, 0.0) + gifts.get(id, 0.0) for id in totals | gifts})


def _by_chance(answered: Answers) -> Worths:
    """Importances of memories of two years, half of which were used; none has to do with any question."""
    chance = random.Random(1)
    return {id: _some_importance(chance) for id in answered.units}


def _some_importance(chance: random.Random) -> float:
    age = _YEARS * chance.random()
    uses = int(chance.expovariate(1 / _USUAL_USES)) if chance.random() < 0.5 else 0
    last = _NOW - age * chance.random() if uses else None
    return importance(chance.choice(_GIVEN), uses, last, _NOW - age, _NOW)


def _as_told(answered: Answers) -> Worths:
    """Half of what answers a question was called important, and a tenth of everything else."""
    chance = random.Random(2)
    answers = {unit for question in answered.dataset.questions for unit in question.relevant}
    return {
        id: EXPLICIT * (_IMPORTANT if chance.random() < (0.5 if unit in answers else 0.1) else _ORDINARY)
        for id, unit in answered.units.items()
    }


def _aged(answered: Answers, half_life: timedelta) -> Ranking:
    """Raised by how new each was when the question was asked; what was written later is left out."""
    written = dict(zip(answered.units, (each.at for each in answered.dataset.documents), strict=True))

    def ranking(weight: float, answer: Answer) -> list[str]:
        asked_at = answer.question.asked_at or _NOW
        ages = {id: asked_at - at for id, at in written.items() if at and at <= asked_at}
        return _raised({id: 2 ** (-age / half_life) for id, age in ages.items()}, weight, answer)

    return ranking


def _ages_by_chance(answered: Answers) -> Worths:
    chance = random.Random(3)
    return {id: 2 ** (-_YEARS * chance.random() / HALF_LIFE) for id in answered.units}


def _to_the_next(answered: Answers) -> Near:
    """Each memory linked to the one after it, if that is of the same day."""
    days = _grouped(answered, lambda document: (document.project, document.title))
    return _both_ways(pair for ids in days for pair in pairwise(ids))


def _anywhere(answered: Answers) -> Near:
    """Each memory linked to two others of its project, whichever."""
    chance = random.Random(4)
    projects = _grouped(answered, lambda document: document.project)
    return _both_ways((id, chance.choice(ids)) for ids in projects for id in ids for _ in range(2))


def _grouped(answered: Answers, key: Callable[[Document], object]) -> Iterable[Sequence[str]]:
    groups: dict[object, list[str]] = defaultdict(list)
    for id, document in zip(answered.units, answered.dataset.documents, strict=True):
        groups[key(document)].append(id)
    return groups.values()


def _both_ways(pairs: Iterable[tuple[str, str]]) -> Near:
    near: dict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        near[one].append(other)
        near[other].append(one)
    return near


def _best_first(totals: Mapping[str, float]) -> list[str]:
    return sorted(totals, key=lambda id: (-totals[id], id))
