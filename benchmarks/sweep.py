"""Other ways of making one ranking from the words and the meaning lists, to put beside the one in use.

All are given the same candidates, so that only the arithmetic differs. The words weigh 1 throughout.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from backstory.model.search import Scored
from backstory.ranking.fusion import fuse, normalised

Lists = Mapping[str, Sequence[Scored]]
Fusion = Callable[[Lists, Mapping[str, float]], list[str]]

WEIGHTS: Final = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)

#: The constant of the first paper on reciprocal ranks, which everybody uses.
_RRF_K: Final = 60


def _min_max(lists: Lists, weights: Mapping[str, float]) -> list[str]:
    """What search does."""
    return [each.id for each in fuse(lists, weights)]


def _share_of_best(lists: Lists, weights: Mapping[str, float]) -> list[str]:
    """Words as a share of the best score, since their scores have a true zero; meaning as search does."""
    totals: dict[str, float] = defaultdict(float)
    for each in lists["words"]:
        totals[each.id] += weights["words"] * each.score / lists["words"][0].score
    for id, value in normalised(lists["meaning"]).items():
        totals[id] += weights["meaning"] * value
    return _best_first(totals)


def _z_scores(lists: Lists, weights: Mapping[str, float]) -> list[str]:
    """Distances from the mean of the list, in deviations; who is not in it gets its lowest."""
    totals = dict.fromkeys((each.id for scored in lists.values() for each in scored), 0.0)
    for name, scored in lists.items():
        values = np.array([each.score for each in scored])
        deviations = (values - values.mean()) / (values.std() or 1) if scored else values
        own = dict(zip((each.id for each in scored), deviations.tolist(), strict=True))
        lowest = min(own.values(), default=0.0)
        for id in totals:
            totals[id] += weights[name] * own.get(id, lowest)
    return _best_first(totals)


def _reciprocal_ranks(lists: Lists, weights: Mapping[str, float]) -> list[str]:
    """Ranks alone, whatever the scores were."""
    totals: dict[str, float] = defaultdict(float)
    for name, scored in lists.items():
        for rank, each in enumerate(scored, 1):
            totals[each.id] += weights[name] / (_RRF_K + rank)
    return _best_first(totals)


def _best_first(totals: Mapping[str, float]) -> list[str]:
    return sorted(totals, key=lambda id: (-totals[id], id))


FUSIONS: Final[Mapping[str, Fusion]] = {
    "min-max": _min_max,
    "share of best, min-max": _share_of_best,
    "z-scores": _z_scores,
    "reciprocal ranks": _reciprocal_ranks,
}
