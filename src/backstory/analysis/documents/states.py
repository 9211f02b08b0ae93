"""Words for priorities and states, as documents have them, in the words that memory types know."""

import re
from dataclasses import dataclass
from typing import Final

from backstory.analysis.documents.markdown import bare

_BEFORE_WORDS = re.compile(r"^[\W_]+")
_UNSAID: Final = frozenset({"", "tbd", "tba", "todo", "n/a", "na", "none", "unknown"})


@dataclass(frozen=True, slots=True)
class States:
    """The states that something can be in, and the words that stand for each, longer ones first."""

    all: tuple[str, ...]
    words: tuple[tuple[str, str], ...]

    def meant_by(self, value: str) -> str | None:
        """The state that a value stands for, if it begins with one of the words."""
        said = _said(value)
        return next((state for word, state in self.words if _begins(said, word)), None)


def is_unsaid(value: str) -> bool:
    """Whether a value is there only because the form asks for one."""
    return _said(value).rstrip(".?!") in _UNSAID


def _states(**words: str) -> States:
    pairs = [
        (word, state) for state, given in words.items() for word in (state.casefold(), *given.split(", "))
    ]
    return States(tuple(words), tuple(sorted(pairs, key=lambda pair: -len(pair[0]))))


def _said(value: str) -> str:
    return _BEFORE_WORDS.sub("", bare(value)).casefold()


def _begins(said: str, word: str) -> bool:
    return said.startswith(word) and not said[len(word) : len(word) + 1].isalnum()


PRIORITIES: Final = _states(
    Critical="must have, must, mandatory, essential, blocker, highest, p0",
    High="should have, should, important, major, p1",
    Medium="could have, could, normal, moderate, p2",
    Low="won't have, won't, nice to have, optional, minor, lowest, p3, p4",
)
REQUIREMENT_STATES: Final = _states(
    Draft="proposed, new, open, in review, under review",
    Approved="accepted, agreed, baselined, planned, in progress, in-progress, active",
    Implemented="done, complete, completed, delivered, shipped, built",
    Verified="tested, validated, passed, closed",
)
#: A decision that was turned down does not hold. Of the four that is said by Deprecated.
DECISION_STATES: Final = _states(
    Proposed="draft, pending, open, in review, under review, in discussion, under discussion, rfc, wip",
    Accepted="approved, agreed, decided, adopted, active, final, implemented, done, in force",
    Deprecated="rejected, declined, withdrawn, abandoned, obsolete, retired, cancelled",
    Superseded="superceded, replaced, supplanted",
)
