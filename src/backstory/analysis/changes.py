"""How two claims about the same thing do not go together: denied, given up, other amount, other choice.

Pure. It reads one claim against one other; which claims of two texts belong together is left to
`analysis.likeness`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from backstory.analysis.claims import Claim
from backstory.analysis.frames import ended_otherwise, filled_otherwise
from backstory.analysis.pairs import Pair, alternatives
from backstory.analysis.vocabulary import term_set

# What they say of a thing may be said of it more than once.
_OPEN: Final = term_set(
    "support include accept offer handle contain add depend work connect integrate import provide"
)
_OPPOSED: Final = (
    {"before", "after"},
    {"with", "without"},
    {"under", "over"},
    {"until", "since"},
    {"may", "must"},
    {"may", "shall"},
)
_MOST_AMOUNTS: Final = 3  # of a row of figures, the layout says which belongs to which
_MOST_NAMES: Final = 2  # "GitHub Actions" in the stead of "Jenkins"
_MOST_TOLD: Final = 3  # words of each side that a reason repeats

# How sure a change is. A rule that names what differs is surer than one that reads the frame around it.
_COUNTED: Final = 0.9
_SAID: Final = 0.85
_RELATED: Final = 0.8
_NAMED: Final = 0.75
_FRAMED: Final = 0.7
_ENDED: Final = 0.65


@dataclass(frozen=True, slots=True)
class Change:
    """What a claim says otherwise than another, and how surely both cannot hold."""

    why: str
    certainty: float


def change_between(new: Claim, old: Claim) -> Change | None:
    """How a claim contradicts another one, or None where both may hold."""
    pair = Pair(new, old)
    if not pair.other_scope and len(pair.shared) > 1 and (change := given_up(new, old)):
        return change
    if change := _reserves(new, old) or _reserves(old, new) or _limits(new, old) or _limits(old, new):
        return change
    if pair.apart or not (pair.shared or len(new.terms) == len(old.terms) == 1):
        return None
    return next((change for rule in _RULES if (change := rule(pair))), None)


def given_up(new: Claim, old: Claim) -> Change | None:
    """That one claim gives up what the other holds to, whatever else they are about."""
    for claim, other in ((new, old), (old, new)):
        terms = claim.rejected & other.asserted
        if terms and not other.denials:
            return Change(f'one gives up "{claim.worded(min(terms))}", which the other holds to', _SAID)
    return None


def _reserves(claim: Claim, other: Claim) -> Change | None:
    """Only this one, says one claim; another one as well, says the other."""
    rest = frozenset(claim.terms[1:])
    if "only" not in claim.leads[0].split() or len(rest) < 2 or not rest <= other.asserted:
        return None
    if other.terms[0] in claim.terms or claim.terms[0] in other.terms:
        return None
    return Change(f'one says that of "{claim.words[0]}" alone, the other of "{other.words[0]}"', _NAMED)


def _limits(claim: Claim, other: Claim) -> Change | None:
    """Only this, says one claim; this and that, says the other."""
    limited = any("only" in lead.split() for lead in claim.leads) and len(claim.terms) > 2
    if not limited or not frozenset(claim.terms) <= other.asserted:
        return None
    more = (
        place
        for place, lead in enumerate(other.leads)
        if lead == "and" and other.terms[place] not in claim.terms
    )
    added = next(more, None)
    return Change(f'one says that only, the other "{other.words[added]}" as well', _NAMED) if added else None


def _gives_up(pair: Pair) -> Change | None:
    short = min(len(pair.new.terms), len(pair.old.terms)) <= 2
    return given_up(pair.new, pair.old) if short else None


def _denies(pair: Pair) -> Change | None:
    """One denies what the other says. Two denials, each of something else, may mean the same."""
    undone = [*_undone(pair.new, pair.old), *_undone(pair.old, pair.new)]
    close = len(pair.shared) > 1 and min(len(pair.only_new), len(pair.only_old)) <= 1
    if len(undone) % 2 and close and pair.agrees and not pair.unexplained():
        return Change(f'one denies what the other says of "{pair.new.worded(min(undone[0]))}"', _SAID)
    return None


def _undone(claim: Claim, other: Claim) -> list[frozenset[str]]:
    """For each denial of a claim, what the other asserts of it."""
    if not other.rejected.isdisjoint(claim.terms):
        return []
    denials = (denial for denial in claim.denials if denial.isdisjoint(other.denied))
    return [asserted for denial in denials if (asserted := denial & other.asserted)]


def _counts_otherwise(pair: Pair) -> Change | None:
    many = max(len(pair.new.amounts), len(pair.old.amounts)) > _MOST_AMOUNTS
    if many or not pair.agrees or pair.unexplained():
        return None
    for one in pair.new.amounts:
        same = [each for each in pair.old.amounts if each.unit == one.unit]
        if same and set(same).isdisjoint(pair.new.amounts):
            return Change(f'the new one says "{one.said}", the other "{same[0].said}"', _COUNTED)
    return None


def _chooses_otherwise(pair: Pair) -> Change | None:
    if not pair.agrees or pair.shared & _OPEN or pair.unexplained():
        return None
    for one, other in product(pair.only_new, pair.only_old):
        if alternatives(one, other):
            return _instead(pair, [one], [other], _SAID)
    return None


def _names_otherwise(pair: Pair) -> Change | None:
    """A name in another one's stead, and no other difference; but one may say who does it."""
    new, old = _without_agent(pair.only_new, pair.new), _without_agent(pair.only_old, pair.old)
    named = pair.new.names.issuperset(new) and pair.old.names.issuperset(old)
    few = 0 < len(new) <= _MOST_NAMES and 0 < len(old) <= _MOST_NAMES
    agents = len(new) < len(pair.only_new) and len(old) < len(pair.only_old)
    fits = named and few and not agents and pair.agrees and not pair.shared & _OPEN
    return _instead(pair, new, old, _NAMED) if fits else None


def _without_agent(own: Sequence[str], claim: Claim) -> Sequence[str]:
    """The terms that a claim alone has, but for the one with which it begins, if that is no name."""
    return own[1:] if len(own) > 1 and own[0] == claim.terms[0] and own[0] not in claim.names else own


def _defaults_otherwise(pair: Pair) -> Change | None:
    """Something has one default."""
    one = len(pair.only_new) == len(pair.only_old) == 1 and "default" in pair.shared
    return _instead(pair, pair.only_new, pair.only_old, _FRAMED) if one and len(pair.shared) > 2 else None


def _ends_otherwise(pair: Pair) -> Change | None:
    return _instead(pair, pair.only_new, pair.only_old, _ENDED) if ended_otherwise(pair) else None


def _relates_otherwise(pair: Pair) -> Change | None:
    """The same words in another relation: before and after, with and without."""
    if len(pair.shared) < 2 or (pair.only_new and pair.only_old):
        return None
    for term in sorted(pair.shared):
        leads = (claim.leads[claim.terms.index(term)].split() for claim in (pair.new, pair.old))
        for one, other in product(*leads):
            if {one, other} in _OPPOSED:
                return Change(
                    f'the new one says "{one} {pair.new.worded(term)}", the other "{other}"', _RELATED
                )
    return None


def _fills_otherwise(pair: Pair) -> Change | None:
    """Words that no lexicon knows, in a place that has room for one."""
    if pair.same_purpose:
        return _instead(pair, pair.only_new, pair.only_old, _FRAMED)
    block = filled_otherwise(pair)
    return _instead(pair, *pair.terms_in(block), _FRAMED) if block else None


def _instead(pair: Pair, new: Sequence[str], old: Sequence[str], certainty: float) -> Change:
    one = " ".join(map(pair.new.worded, new[:_MOST_TOLD]))
    other = " ".join(map(pair.old.worded, old[:_MOST_TOLD]))
    return Change(f'the new one says "{one}", the other "{other}"', certainty)


_RULES: Final[tuple[Callable[[Pair], Change | None], ...]] = (
    _gives_up,
    _denies,
    _counts_otherwise,
    _chooses_otherwise,
    _names_otherwise,
    _defaults_otherwise,
    _ends_otherwise,
    _relates_otherwise,
    _fills_otherwise,
)
