"""The part of a text that shows best why it was found.

Pure. Which words match is decided by the same terms that BM25 sees.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from backstory.model.search import Snippet
from backstory.ranking.words import terms

# Scripts that put no blanks between words: every character is a word there, as it is a term.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+")
_BLANK = re.compile(r"\s")
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f][\"')\]]*\s+|\n+")

_ELLIPSIS = "\u2026"

# A tool may have given back megabytes; looking at 20,000 characters takes 5 ms.
_LOOKED_AT: Final = 20_000

# Meeting a term again is worth less than meeting another one, whatever the number of times.
_AGAIN: Final = 0.01


class _Match(NamedTuple):
    start: int
    end: int
    terms: frozenset[str]


def snippet(text: str, query_terms: str, max_chars: int = 300) -> Snippet:
    """The piece of at most `max_chars` with most of the query's terms, and where they stand in it.

    Of pieces that are equally good the first is taken; a text with none of the terms gives its beginning.
    An ellipsis stands where something was left out.
    """
    matches = list(_matches(text[:_LOOKED_AT], frozenset(query_terms.split())))
    room = max(1, max_chars - 2 * len(_ELLIPSIS))
    beginning = len(text) - len(text.lstrip())
    start, end = _piece(text, _densest(matches, beginning, room), room)
    before = _ELLIPSIS if text[:start].strip() else ""
    after = _ELLIPSIS if text[end:].strip() else ""
    shift = len(before) - start
    marks = [
        (each.start + shift, each.end + shift) for each in matches if start <= each.start < each.end <= end
    ]
    return Snippet(f"{before}{text[start:end]}{after}", marks)


def _matches(text: str, wanted: frozenset[str]) -> Iterator[_Match]:
    """The words whose terms are among those wanted."""
    for word in _WORD.finditer(text):
        own = _terms_of(word.group())
        if not wanted.isdisjoint(own):
            yield _Match(word.start(), word.end(), wanted & own)


# Texts repeat themselves: a word seen before costs 0.1 µs, a new one 6.
@lru_cache(maxsize=32_768)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(terms(word).split())


def _densest(matches: list[_Match], beginning: int, room: int) -> tuple[int, int]:
    """From where to where the matches stand that are worth most together and fit into the room."""
    best, best_worth = (beginning, beginning), 0.0
    held: Counter[str] = Counter()
    first = 0
    for last, match in enumerate(matches):
        held.update(match.terms)
        while first < last and match.end - matches[first].start > room:
            held.subtract(matches[first].terms)
            held = +held
            first += 1
        worth = len(held) + _AGAIN * held.total()
        if worth > best_worth:
            best, best_worth = (matches[first].start, match.end), worth
    return best


def _piece(text: str, core: tuple[int, int], room: int) -> tuple[int, int]:
    """The core with what stands around it: from the start of its sentence if that fits, else of a word."""
    spare = room - (core[1] - core[0])
    if spare <= 0:
        return core[0], min(core[1], core[0] + room)
    start = _start(text, core[0], max(0, core[0] - spare))
    start += len(text[start : core[0]]) - len(text[start : core[0]].lstrip())
    return start, _end(text, core[1], start + room)


def _start(text: str, core: int, earliest: int) -> int:
    if earliest == 0:
        return 0
    if ends := list(_SENTENCE_END.finditer(text, earliest, core)):
        return ends[-1].end()
    blank = _BLANK.search(text, core - (core - earliest) // 2, core)
    return blank.end() if blank else core


def _end(text: str, core: int, latest: int) -> int:
    if latest >= len(text):
        return len(text.rstrip()) if len(text.rstrip()) >= core else len(text)
    cut = max(text.rfind(" ", core, latest + 1), text.rfind("\n", core, latest + 1))
    return cut if cut > core else latest
