"""How good a ranking is, given what should have been found. A unit counts where it comes first."""

import math
from collections.abc import Callable, Sequence, Set

Measure = Callable[[Sequence[str], Set[str]], float]


def ndcg(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """Gain discounted by rank, against that of the best possible ranking."""
    gain = sum(1 / math.log2(rank + 2) for rank, unit in enumerate(ranked[:depth]) if unit in relevant)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(depth, len(relevant))))
    return gain / best


def recall(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """The share of what is relevant that was found."""
    return len(relevant & set(ranked[:depth])) / len(relevant)


def hit(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """1 when anything relevant was found."""
    return float(not relevant.isdisjoint(ranked[:depth]))


def reciprocal_rank(ranked: Sequence[str], relevant: Set[str], depth: int) -> float:
    """1 for a first place, 1/2 for a second, 0 for none."""
    return next((1 / (rank + 1) for rank, unit in enumerate(ranked[:depth]) if unit in relevant), 0.0)
