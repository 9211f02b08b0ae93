"""Two claims side by side: what they share, where they differ, whether they are about the same thing.

Pure. What a difference means is left to `analysis.changes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Final

from backstory.analysis.claims import Claim
from backstory.analysis.vocabulary import (
    are_alternatives,
    are_side_by_side,
    has_others_beside,
    limits,
    term_set,
)

_MADE: Final = term_set("write build code implement read")
_CHOSEN: Final = ("use", "prefer", "choose", "adopt", "pick")

# Terms that stand for one alternative, with the words that belong to it.
_MOST_BESIDE: Final = 2


@dataclass(frozen=True, slots=True)
class Block:
    """Places where the new claim has other terms than the old one, between the same neighbours."""

    new: range
    old: range

    @property
    def size(self) -> int:
        """The terms of the longer side."""
        return max(len(self.new), len(self.old))


class Pair:
    """Two claims, and where they differ."""

    def __init__(self, new: Claim, old: Claim) -> None:
        self.new: Final = new
        self.old: Final = old
        self.shared: Final = frozenset(new.terms) & frozenset(old.terms)
        self.only_new: Final = [term for term in new.terms if term not in self.shared]
        self.only_old: Final = [term for term in old.terms if term not in self.shared]

    @property
    def agrees(self) -> bool:
        """Whether the claims have enough in common to be about the same thing.

        That is two thirds of the shorter one, but for the term in which they may differ. One term in common
        is chance, unless the claims say nothing else, or begin with it and it is a name.
        """
        shorter = min(len(set(self.new.terms)), len(set(self.old.terms)))
        if len(self.shared) < 2:
            return shorter - len(self.shared) == 1 or self.begin_with_one_name
        return len(self.shared) >= (shorter - 1) * 2 / 3

    @property
    def other_scope(self) -> bool:
        """Whether the claims name two things that lie side by side, such as staging and production."""
        return any(
            are_side_by_side(one, other) and not (_is_made_of(self.new, one) and _is_made_of(self.old, other))
            for one, other in product(filter(has_others_beside, self.only_new), self.only_old)
        )

    @property
    def apart(self) -> bool:
        """Whether the claims are about two things: by their first terms, their order, or their scope."""
        return (
            self.other_scope
            or _narrows(self.new, self.old)
            or _narrows(self.old, self.new)
            or self._other_lead
            or self._exchanged
        )

    @property
    def _exchanged(self) -> bool:
        """Whether two terms change places and all other words stay: who calls whom is the other way round."""
        new, old = self.new.terms, self.old.terms
        if len(new) != len(old) or self.new.leads != self.old.leads:
            return False
        other = [place for place in range(len(new)) if new[place] != old[place]]
        if len(other) != 2:
            return False
        first, second = other
        return new[first] == old[second] and new[second] == old[first]

    @property
    def same_purpose(self) -> bool:
        """Whether both choose something, by its name, for the same: use this for that."""
        return all(map(_chooses_a_name, (self.new, self.old))) and self.new.terms[1:] == self.old.terms[1:]

    @cached_property
    def replaced(self) -> list[Block]:
        """Where each claim has terms of its own in the other's stead."""
        ends = [
            (-1, -1),
            *_in_common(self.new.terms, self.old.terms),
            (len(self.new.terms), len(self.old.terms)),
        ]
        blocks = [Block(range(i + 1, k), range(j + 1, m)) for (i, j), (k, m) in pairwise(ends)]
        return [block for block in blocks if self._has_own_terms(block)]

    def terms_in(self, block: Block) -> tuple[Sequence[str], Sequence[str]]:
        """What each claim has in a block."""
        return [self.new.terms[place] for place in block.new], [self.old.terms[place] for place in block.old]

    def unexplained(self, but: Block | None = None) -> bool:
        """Whether the claims differ in words that are no alternatives: they may speak of two things."""
        return any(block != but and not self._explained(block) for block in self.replaced)

    def _has_own_terms(self, block: Block) -> bool:
        return not any(map(self.shared.issuperset, self.terms_in(block)))

    def _explained(self, block: Block) -> bool:
        """Whether an alternative to something in the other claim is nearly all that a block has."""
        new, old = self.terms_in(block)
        found = [*product(new, self.only_old), *product(self.only_new, old)]
        explained = any(alternatives(one, other) or _same_unit(one, other) for one, other in found)
        return explained and min(len(new), len(old)) <= _MOST_BESIDE

    @property
    def begin_with_one_name(self) -> bool:
        """Whether both begin with the same name."""
        first = self.new.terms[0]
        return first == self.old.terms[0] and first in self.new.names & self.old.names

    @property
    def _other_lead(self) -> bool:
        first, other = self.new.terms[0], self.old.terms[0]
        related = first in self.old.terms or other in self.new.terms or alternatives(first, other)
        return not related and not self.same_purpose


def alternatives(one: str, other: str) -> bool:
    """Whether two terms are alternatives. Of an amount, what is counted decides: 4 spaces, or tabs."""
    both_counted = " " in one and " " in other
    return not both_counted and are_alternatives(one.split()[-1], other.split()[-1])


def _same_unit(one: str, other: str) -> bool:
    return " " in one and " " in other and one.split()[-1] == other.split()[-1]


def _is_made_of(claim: Claim, term: str) -> bool:
    """Whether a term says what something is written in, rather than where a rule holds."""
    place = claim.terms.index(term)
    return (place > 0 and claim.terms[place - 1] in _MADE) or "written" in claim.leads[place]


def _narrows(claim: Claim, other: Claim) -> bool:
    """Whether a claim is about one kind of what the other is about: e2e tests, and tests."""
    kind = claim.terms[0]
    return claim.terms[1:2] == other.terms[:1] and limits(kind) and kind not in other.terms


def _chooses_a_name(claim: Claim) -> bool:
    """Whether a claim says to use something for something, and what to use is a name."""
    purpose = len(claim.leads) > 1 and claim.leads[1].split()[:1] in (["for"], ["as"])
    return purpose and claim.leads[0].startswith(_CHOSEN) and claim.terms[0] in claim.names


def _in_common(new: Sequence[str], old: Sequence[str]) -> list[tuple[int, int]]:
    """The places of the most terms that both have in the same order."""
    first = next(
        (place for place, (one, other) in enumerate(zip(new, old, strict=False)) if one != other), None
    )
    if first is None:
        return [(place, place) for place in range(min(len(new), len(old)))]
    rest = _in_common_further(new[first:], old[first:])
    return [(place, place) for place in range(first)] + [(i + first, j + first) for i, j in rest]


def _in_common_further(new: Sequence[str], old: Sequence[str]) -> list[tuple[int, int]]:
    longest = [[0] * (len(old) + 1) for _ in range(len(new) + 1)]
    for i, j in product(reversed(range(len(new))), reversed(range(len(old)))):
        same = new[i] == old[j]
        longest[i][j] = longest[i + 1][j + 1] + 1 if same else max(longest[i + 1][j], longest[i][j + 1])
    places = []
    i = j = 0
    while i < len(new) and j < len(old):
        if new[i] == old[j]:
            places.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return places
