"""Working memory: which memories a task should begin with, of each type the most useful, inside a budget.

Pure. Which memories are offered, how near they are to the task and how they are printed is left to others;
`ranking.importance` says how important one is.

First every type has an equal share of the tokens for its best memory. Then the rest goes to the best of all
that is left, where a type counts the less the more it has, and a text the less the more of its words are
there. What is there nearly word for word is not said again; of two such memories the longer one is taken.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backstory.model.memory import MemoryId
from backstory.model.tokens import tokens
from backstory.ranking.words import terms

#: What stands above a memory: its type, its id and why it was chosen. Ids have 36 characters, reasons up to
#: 110.
HEADING: Final = 48

# Chosen, not fitted. What is near to the task comes first; with equal nearness importance decides, and a
# vital memory far from the task (.3) comes before an unimportant one that is a little nearer to it.
_RELEVANCE: Final = 0.7
_IMPORTANCE: Final = 0.3

# What one more of the same type is worth: the eighth counts half, so that no type fills the set alone.
_ONE_MORE: Final = 0.9

# What a text loses that has the same words as one that is there. Of all words of two wordings of one thing
# three of four are in both, of those of unrelated memories about the same project one of five
# (medians of the pairs in `benchmarks/conflicts.jsonl`).
_REPEATED: Final = 0.5

# From here on a number is told as high, and below the second as low.
_HIGH: Final = 0.7
_LOW: Final = 0.4

# A text that says so more or less often says something else, though it may have the same words.
_DENIAL = re.compile(
    r"\b(?:not|never|no|none|without|cannot|neither|nor|instead|avoid\w*|stop\w*|unless|except|only|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Offer:
    """A memory that may be useful: its text as it would be shown, and two numbers from 0 to 1."""

    id: MemoryId
    text: str
    relevance: float
    importance: float

    @property
    def usefulness(self) -> float:
        """What it is worth by itself, from 0 to 1."""
        return _RELEVANCE * self.relevance + _IMPORTANCE * self.importance

    @property
    def tokens(self) -> int:
        """What it takes of the budget, with its heading."""
        return tokens(self.text) + HEADING


@dataclass(frozen=True, slots=True)
class Picked:
    """A memory that was chosen, or was not, and the reason in words."""

    type: str
    offer: Offer
    why: str


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """The chosen memories in the order in which they were chosen, and the others, most useful first."""

    chosen: Sequence[Picked]
    left_out: Sequence[Picked]
    tokens: int


@dataclass(frozen=True, slots=True)
class _Entry:
    type: str
    offer: Offer
    words: Sequence[str]
    word_set: frozenset[str]
    denials: int


@dataclass(slots=True)
class _Choosing:
    """What is chosen so far, and what can still be. The waiting are most useful first."""

    waiting: list[_Entry]
    offered: Mapping[str, int]
    left: int
    chosen: list[Picked] = field(default_factory=list)
    left_out: list[Picked] = field(default_factory=list)
    had: Counter[str] = field(default_factory=Counter)
    likeness: dict[MemoryId, float] = field(default_factory=dict)

    def choose(self, entry: _Entry) -> None:
        """Take an entry, and leave out what says the same."""
        self.had[entry.type] += 1
        self.left -= entry.offer.tokens
        why = _why(entry, self.had[entry.type], self.offered[entry.type])
        self.chosen.append(Picked(entry.type, entry.offer, why))
        self._take_away({entry.offer.id})
        same = [other.offer.id for other in self.waiting if _same(entry, other)]
        self._leave_out(dict.fromkeys(same, f"{entry.offer.id} says nearly the same"))
        for other in self.waiting:
            likeness = _likeness(entry, other)
            self.likeness[other.offer.id] = max(likeness, self.likeness.get(other.offer.id, 0.0))

    def leave_out_what_does_not_fit(self) -> None:
        """Let nothing wait that needs more tokens than there are."""
        needed = {each.offer.id: each.offer.tokens for each in self.waiting if each.offer.tokens > self.left}
        self._leave_out(
            {id: f"takes {most:,} tokens; {self.left:,} were left" for id, most in needed.items()}
        )

    def fullest(self, entry: _Entry, most: int) -> _Entry:
        """The longest of those of its type that say the same and fit."""
        fit = (each for each in self.waiting if each.type == entry.type and each.offer.tokens <= most)
        return max((each for each in fit if _same(entry, each)), key=lambda each: len(each.words))

    def worth(self, entry: _Entry) -> float:
        """What an entry adds to those that are chosen, rounded so that equals stay equal everywhere."""
        repeated = _REPEATED * self.likeness.get(entry.offer.id, 0.0)
        return round(entry.offer.usefulness * _ONE_MORE ** self.had[entry.type] - repeated, 9)

    def _leave_out(self, why: Mapping[MemoryId, str]) -> None:
        self.left_out += [
            Picked(each.type, each.offer, why[each.offer.id]) for each in self.waiting if each.offer.id in why
        ]
        self._take_away(why.keys())

    def _take_away(self, ids: Collection[MemoryId]) -> None:
        self.waiting = [each for each in self.waiting if each.offer.id not in ids]


def working_set(offers: Mapping[str, Sequence[Offer]], max_tokens: int) -> WorkingSet:
    """The most useful memories of each type that fit together, each with why it was chosen.

    Offers are by type, each memory once. In which order they come makes no difference.
    """
    entries = [_entry(kind, offer) for kind, own in offers.items() for offer in own]
    entries.sort(key=_most_useful_first)
    choosing = _Choosing(entries, {kind: len(own) for kind, own in offers.items()}, max_tokens)
    choosing.leave_out_what_does_not_fit()
    _choose_one_of_each_type(choosing)
    _choose_the_best_of_the_rest(choosing)
    left_out = sorted(choosing.left_out, key=_most_useful_first)
    return WorkingSet(choosing.chosen, left_out, max_tokens - choosing.left)


def _choose_one_of_each_type(choosing: _Choosing) -> None:
    """The best of each type that fits into the type's share; the types that have better ones first."""
    types = list(dict.fromkeys(entry.type for entry in choosing.waiting))
    share = choosing.left // max(1, len(types))
    for kind in types:
        own = (each for each in choosing.waiting if each.type == kind and each.offer.tokens <= share)
        if best := next(own, None):
            choosing.choose(choosing.fullest(best, share))


def _choose_the_best_of_the_rest(choosing: _Choosing) -> None:
    choosing.leave_out_what_does_not_fit()
    while choosing.waiting:
        best = max(choosing.waiting, key=choosing.worth)
        choosing.choose(choosing.fullest(best, choosing.left))
        choosing.leave_out_what_does_not_fit()


def _entry(kind: str, offer: Offer) -> _Entry:
    # A text without terms is all signs, and is itself.
    words = terms(offer.text).split() or [offer.text]
    return _Entry(kind, offer, words, frozenset(words), len(_DENIAL.findall(offer.text)))


def _most_useful_first(picked: _Entry | Picked) -> tuple[float, str]:
    return -round(picked.offer.usefulness, 9), picked.offer.id


def _same(one: _Entry, other: _Entry) -> bool:
    """Whether one says what the other says in the same words and order, and is half as long at least."""
    short, long = (one, other) if len(one.words) <= len(other.words) else (other, one)
    if 2 * len(short.words) < len(long.words) or not short.word_set <= long.word_set:
        return False
    rest = iter(long.words)
    return short.denials == long.denials and all(word in rest for word in short.words)


def _likeness(one: _Entry, other: _Entry) -> float:
    """The words that two have in common, as a share of those of both."""
    common = len(one.word_set & other.word_set)
    return common / (len(one.word_set) + len(other.word_set) - common)


def _why(entry: _Entry, place: int, offered: int) -> str:
    relevance, importance = entry.offer.relevance, entry.offer.importance
    nearness = _level(relevance, "close to the task", "related to the task", "far from the task")
    weight = _level(importance, "important", "of ordinary importance", "of little importance")
    rank = f"{'most useful' if place == 1 else f'no. {place}'} of {offered} offered as {entry.type}"
    return f"{rank}: {nearness} ({relevance:.2f}), {weight} ({importance:.2f})"


def _level(value: float, high: str, middle: str, low: str) -> str:
    return high if value >= _HIGH else middle if value >= _LOW else low
