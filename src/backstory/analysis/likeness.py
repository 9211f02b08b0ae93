"""How two texts are alike: whether one says what the other says, a part of it, or something against it.

Pure. The claims of both are read by `analysis.claims`, and pairs of them compared by `analysis.changes`.

The cosines are those of the built-in embedder, and were chosen on one half of the labelled pairs of
`benchmarks/conflicts.jsonl`. There the cosine of unrelated pairs is .84 at most, that of duplicates .73 at
least, so that neither it nor the words decide alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product
from typing import Final

from backstory.analysis.amounts import Amount
from backstory.analysis.changes import Change, change_between, given_up
from backstory.analysis.claims import Claim
from backstory.analysis.pairs import Pair
from backstory.analysis.vocabulary import term_set

# Verbs that another sentence about the same does without.
_LIGHT: Final = term_set("write live make run put set come call take give keep stay remain work happen")

# Below this, words that contradict one another are chance. Of 2,778 pairs of near sentences from this
# project's documents, which should agree, 7 are taken for contradictions, and 10 without this.
_ABOUT_THE_SAME: Final = 0.4

# Texts of which each has words of its own say the same from this cosine on, but never where these words stand
# in one another's stead: "the reports service times out" and "the returns service times out" have .91.
_SAME: Final = 0.85

# A text that adds little to the other one: the share of its terms that the other has, and that share with
# the cosine. "At least 12 characters" and "12 characters long" pass; one more requirement does not.
_ADDS_LITTLE: Final = 0.7
_ADDS_LITTLE_WITH_COSINE: Final = 1.63

_HALF: Final = 0.5  # of the terms of each, for texts that say the same in other words
_MOST: Final = 0.8  # of the terms of one text, for it to be a part of the other
_TWO_ARE_ENOUGH: Final = 0.6  # cosine from which two terms in common are more than chance


@dataclass(frozen=True)
class Texts:
    """The claims of two texts, and the cosine of their meanings."""

    new: Sequence[Claim]
    old: Sequence[Claim]
    similarity: float

    @cached_property
    def change(self) -> Change | None:
        """What the new text says against the old one, as far as that is sure."""
        if self.similarity < _ABOUT_THE_SAME:
            return None
        found = [change for pair in self._aligned if (change := change_between(pair.new, pair.old))]
        if self._shared > 2 and not self._apart:
            found += [change for new, old in product(self.new, self.old) if (change := given_up(new, old))]
        return max(found, key=lambda each: each.certainty, default=None)

    @cached_property
    def same(self) -> bool:
        """Whether each says what the other says, and no more."""
        if self.change or self._apart:
            return False
        low, high = sorted(self._covered)
        if high == 1:
            return low == 1 or self._adds_little(low)
        if low < _HALF or self.similarity < _SAME:
            return False
        return not any(pair.replaced for pair in self._aligned)

    @property
    def equal(self) -> bool:
        """Whether each has all that the other says, whatever the order."""
        return self.same and self._covered == (1, 1)

    @property
    def part(self) -> str:
        """How one of the texts says what the other says and more, or both a part of the same; or nothing."""
        if self._apart:
            return ""
        new, old = self._covered
        if max(new, old) >= _MOST and self._are_enough(self._shared):
            return "the other says this, and more" if new > old else "it says what the other says, and more"
        whole = (pair for pair in self._aligned if not (pair.only_new and pair.only_old))
        return (
            "both say a part of the same" if any(self._are_enough(len(pair.shared)) for pair in whole) else ""
        )

    def _adds_little(self, low: float) -> bool:
        little = low >= _ADDS_LITTLE and low + self.similarity >= _ADDS_LITTLE_WITH_COSINE
        return little and _denied(self.new) == _denied(self.old) and _amounts(self.new) == _amounts(self.old)

    def _are_enough(self, shared: int) -> bool:
        """Whether so many terms in common are more than chance."""
        return shared > 2 or (shared == 2 and self.similarity >= _TWO_ARE_ENOUGH)

    @cached_property
    def _aligned(self) -> list[Pair]:
        """Each claim beside the one of the other text that has most of its terms."""
        if not self.new or not self.old:
            return []
        pairs = [Pair(new, max(self.old, key=partial(_nearness, new))) for new in self.new]
        return pairs + [Pair(max(self.new, key=partial(_nearness, old)), old) for old in self.old]

    @cached_property
    def _apart(self) -> bool:
        """Whether the texts are about two things, by the claims that have most in common."""
        nearest = max(self._aligned, key=lambda pair: len(pair.shared), default=None)
        return nearest is None or nearest.apart

    @property
    def _shared(self) -> int:
        return len(_weighty(self.new) & _weighty(self.old))

    @cached_property
    def _covered(self) -> tuple[float, float]:
        """The shares of the new text's terms and of the old one's that the other has as well."""
        new, old = _weighty(self.new), _weighty(self.old)
        return self._shared / max(1, len(new)), self._shared / max(1, len(old))


def _weighty(said: Sequence[Claim]) -> frozenset[str]:
    """All terms but those that carry little; these too, where there are no others."""
    terms = frozenset(chain.from_iterable(claim.terms for claim in said))
    return terms - _LIGHT or terms


def _denied(said: Sequence[Claim]) -> frozenset[str]:
    return frozenset(chain.from_iterable(claim.denied | claim.rejected for claim in said))


def _amounts(said: Sequence[Claim]) -> frozenset[Amount]:
    return frozenset(chain.from_iterable(claim.amounts for claim in said))


def _nearness(one: Claim, other: Claim) -> float:
    shared = frozenset(one.terms) & frozenset(other.terms)
    return len(shared) / len(frozenset(one.terms) | frozenset(other.terms))
