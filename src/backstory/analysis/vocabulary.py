"""What words have to do with one another: forms of one word, words for the same, alternatives.

English, and for words of software projects, which `analysis.lexicon` has. What it does not know is left to
`analysis.changes`, which reads the frame of a sentence instead.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from backstory.analysis import lexicon

#: Words whose terms are remembered. To find one takes 17 µs, and texts repeat their words.
_REMEMBERED: Final = 4_096

_IRREGULAR: Final = {
    "written": "write", "wrote": "write", "kept": "keep", "sent": "send", "built": "build", "made": "make",
    "taken": "take", "took": "take", "chosen": "choose", "chose": "choose", "ran": "run", "left": "leave",
    "held": "hold", "said": "say", "given": "give", "gave": "give", "thrown": "throw", "threw": "throw",
    "drawn": "draw", "found": "find", "got": "get", "told": "tell", "paid": "pay", "lost": "lose",
    "met": "meet", "stopped": "stop", "shown": "show", "hidden": "hide", "frozen": "frozen",
    "broken": "break", "caught": "catch",
    "analytics": "analytics", "kubernetes": "kubernetes", "redis": "redis", "https": "https", "aws": "aws",
    "always": "always", "js": "js", "css": "css", "s3": "s3", "ios": "ios", "status": "status",
}  # fmt: skip
_INFLECTED: Final = (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", ""))
_DERIVED: Final = (
    ("ically", "ic"),
    ("ily", "y"),
    ("ly", ""),
    ("ment", ""),
    ("ion", ""),
    ("loadable", "load"),
)
_NO_ENDING: Final = ("ss", "us", "sis", "eed")
_OPPOSING: Final = re.compile(r"^(?:un|in|im|non|dis)")
_VOWEL: Final = re.compile(r"[aeiouy]")


def stem(word: str) -> str:
    """A word without its ending, so that its forms are one: stored, stores and storing are stor."""
    if word in _IRREGULAR:
        return _IRREGULAR[word].removesuffix("e")
    if not word.isalpha() or len(word) < 4:
        return word
    return _without_ending(word)


@lru_cache(_REMEMBERED)
def term_of(word: str) -> str:
    """What a word in lower case counts as: its stem, or the stem of what it means the same as."""
    stemmed = stem(word)
    return _SAME_AS.get(stemmed, stemmed)


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def term_set(text: str) -> frozenset[str]:
    """What the words of a text count as."""
    return frozenset(map(term_of, text.split()))


def are_alternatives(one: str, other: str) -> bool:
    """Whether two terms answer the same question in two ways."""
    if one == other:
        return False
    return (
        _stand_together(_ALTERNATIVE, one, other) or _differ_by_number(one, other) or _are_opposed(one, other)
    )


def are_side_by_side(one: str, other: str) -> bool:
    """Whether two terms name two things for each of which something else may hold."""
    return one != other and _stand_together(_BESIDE, one, other)


def has_others_beside(term: str) -> bool:
    """Whether there is a term at all that `are_side_by_side` is true for."""
    return term in _BESIDE


def limits(term: str) -> bool:
    """Whether a term before a name makes it the name of one kind of thing among others."""
    return term in _LIMITING


def _stand_together(groups: Mapping[str, frozenset[int]], one: str, other: str) -> bool:
    return bool(groups.get(one, _NOWHERE) & groups.get(other, _NOWHERE))


def _are_opposed(one: str, other: str) -> bool:
    """Whether one word denies the other by its form: sensitive and insensitive, state and stateless."""
    short, long = sorted((one, other), key=len)
    return len(short) > 3 and (
        long.removesuffix("less") == short or _OPPOSING.sub("", long, count=1) == short
    )


def _differ_by_number(one: str, other: str) -> bool:
    """Whether two names are one but for its number: mq1 and mq2."""
    bare = one.rstrip("0123456789")
    return bare != one and bare != "" and bare == other.rstrip("0123456789") != other and " " not in one


def _without_ending(word: str) -> str:
    for endings in (_INFLECTED, _DERIVED):
        for ending, instead in endings:
            rest = word.removesuffix(ending)
            if rest != word and len(rest) > 2 and _VOWEL.search(rest) and not word.endswith(_NO_ENDING):
                word = _undoubled(rest + instead)
                break
    return word.removesuffix("e")


def _undoubled(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeioulsz" else word


def _groups(text: str) -> Iterator[list[str]]:
    return (group.split() for line in text.strip().splitlines() for group in line.split("|"))


def _by_term(text: str) -> Mapping[str, frozenset[int]]:
    """In which groups each term stands."""
    found: dict[str, frozenset[int]] = {}
    for number, words in enumerate(_groups(text)):
        for term in map(term_of, words):
            found[term] = found.get(term, frozenset()) | {number}
    return found


_NOWHERE: Final[frozenset[int]] = frozenset()
_SAME_AS: Final = {stem(word): stem(group[0]) for group in _groups(lexicon.SAME) for word in group[1:]}
_ALTERNATIVE: Final = _by_term(lexicon.ALTERNATIVES)
_LIMITING: Final = frozenset(_by_term(lexicon.LIMITS))
_BESIDE: Final = _by_term(lexicon.LIMITS + lexicon.SIDE_BY_SIDE)
