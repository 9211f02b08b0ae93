"""What the sentences of a message or a question do: ask, state, tell when something happened.

Pure, and English alone. What any of it is worth is left to `ranking.turns`.
"""

import math
import re
from typing import Final

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")

# What may follow a question: not the rest of an address, nor of an expression in code.
_AFTER_QUESTION: Final = frozenset(" \t\r\n\"')]*_!")

_TIME_WORD = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|days?|weeks?|weekends?|months?|years?|since|recently|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|"
    r"october|november|december|(?:in|of|\d) may|may \d+|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|how often|(?:what|which) (?:date|day|month|year|time|week)|since when)\b",
    re.IGNORECASE,
)

# Longer statements say no more for being longer, and longer texts are not looked at: they are pasted.
_MANY_WORDS: Final = 40
_LOOKED_AT: Final = 20_000


def questions_of(text: str) -> str:
    """The sentences of a text that ask something."""
    text = text[-_LOOKED_AT:]
    return " ".join(each.group().strip() for each in _SENTENCE.finditer(text) if _asks(text, each))


def _asks(text: str, sentence: re.Match[str]) -> bool:
    end = sentence.end()
    return text[end - 1] == "?" and (end == len(text) or text[end] in _AFTER_QUESTION)


def stated(text: str) -> float:
    """How much a text says without asking, from 0 to 1: 1 for forty words and more."""
    sentences = _SENTENCE.findall(text[:_LOOKED_AT])
    words = sum(len(each.split()) for each in sentences if not each.endswith("?"))
    return math.log1p(min(words, _MANY_WORDS)) / math.log1p(_MANY_WORDS)


def ends_asking(text: str) -> bool:
    """Whether a text's last word is a question's."""
    return text.rstrip().endswith("?")


def tells_when(text: str) -> bool:
    """Whether a text has a word that places something in time."""
    return _TIME_WORD.search(text[:_LOOKED_AT]) is not None


def asks_when(question: str) -> bool:
    """Whether a question wants to know a time."""
    return _ASKS_WHEN.search(question) is not None
