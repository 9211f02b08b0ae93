"""How well a message that was found answers a question, on a scale of its own from 0 to 1.

Pure. Ranking says which of the candidates is better than another one; here it is said whether any of them is
worth showing: 0.7 is where it begins to be. Cosines are no such scale: on LoCoMo half of the right turns have
one of .41 to .56, and where nothing answers, half of the nearest turns have .46 to .56.

Two numbers speak for a message: how near it and its window are in meaning, and the share of the question's
terms that they have, where a term counts the more the fewer of the candidates have it. How far one gets with
them, by `python -m benchmarks relevance`: up to 15 turns of .7 and more are shown for a question; "elsewhere"
asks it in another chat, with the names of that chat's people.

                         a right turn shown   turns shown   turns shown elsewhere   any shown elsewhere
  odd chats, fitted on          .76               6.5                 .8                   .23
  even chats                    .78               8.2                2.3                   .38
  LongMemEval, sessions         .89              11.4
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backstory.ranking.words import terms

#: Candidates that are judged, best ranked first, and that a term's rarity is counted in. Fewer than there are
#: in all: among the few best a word that all have tells nothing.
JUDGED: Final = 40

# By logistic regression on LoCoMo's odd chats, each question asked where its answer is and elsewhere; fitted
# on the even chats the slopes are 4.7 and 3.7. The third number is chosen, not fitted, so that three of four
# of those questions have a right turn of .7 or more. Of those of the even chats it was .77; with -2.2 it was
# .79, and a sixth more had anything shown elsewhere; with -2.5 it was .73, and a quarter less.
_MEANING: Final = 4.8
_WORDS: Final = 3.6
_BOTH_AT_ZERO: Final = -2.3

# The same where meaning could not be asked for. Then .73 of the even chats' questions have a right turn
# shown, and .44 anything elsewhere.
_WORDS_ALONE: Final = 4.3
_WORDS_ALONE_AT_ZERO: Final = -0.35

# Words that speak of the talk and not of its subject: "we talked about Tyranid tactics before, what did we
# decide?" is about two words. Where a question has no others, they count.
_OF_THE_TALK: Final = frozenset(
    terms(
        "talk talked discuss discussed discussion decide decided decision agree agreed say said tell told "
        "mention mentioned remember recall remind conversation chat earlier before previously again last ago "
        "yesterday week month ever"
    ).split()
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a candidate: how near its meaning is, its terms, and those of its whole window."""

    meaning: float | None
    terms: str
    window: str


def relevances(query: str, candidates: Sequence[Evidence]) -> list[float]:
    """The relevance of each of the candidates for a question that has these terms."""
    words = frozenset(query.split())
    asked = words - _OF_THE_TALK or words
    own = _shares(asked, [frozenset(each.terms.split()) for each in candidates])
    around = _shares(asked, [frozenset(each.window.split()) for each in candidates])
    shares = [(one + other) / 2 for one, other in zip(own, around, strict=True)]
    return [_relevance(each.meaning, share) for each, share in zip(candidates, shares, strict=True)]


def _shares(asked: frozenset[str], had: Sequence[frozenset[str]]) -> list[float]:
    """Which part of the question's terms each has, by their weight."""
    weights = {term: _rarity(sum(term in each for each in had)) for term in asked}
    whole = sum(weights.values())
    return [sum(weights[term] for term in asked & each) / whole if whole else 0.0 for each in had]


def _rarity(count: int) -> float:
    """As BM25 weighs terms, among as many as are judged at most: a conversation may have three turns."""
    return math.log1p((max(JUDGED - count, 0) + 0.5) / (count + 0.5))


def _relevance(meaning: float | None, words: float) -> float:
    if meaning is None:
        return _logistic(_WORDS_ALONE * words + _WORDS_ALONE_AT_ZERO)
    return _logistic(_MEANING * meaning + _WORDS * words + _BOTH_AT_ZERO)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
