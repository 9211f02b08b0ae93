"""What a text claims, clause by clause: its terms, its amounts, what it denies and what it rejects.

Pure, and English where it reads words. Whether two claims agree is left to `analysis.changes`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final

from backstory.analysis import amounts
from backstory.analysis.amounts import Amount
from backstory.analysis.phrases import clauses, tokens
from backstory.analysis.vocabulary import term_of, term_set, word_set

#: Of a longer text the rest is not read: a comparison costs the product of two texts' claims.
MOST_CLAIMS: Final = 40

#: Of a longer clause the rest is not read either. Sentences have 20 words; a pasted table may be one clause
#: of 5,000, and to compare two of those takes ten seconds.
MOST_WORDS: Final = 100

#: Texts whose claims are remembered: a new memory is compared with twenty, and the next one with many of the
#: same. Reading 250 characters takes 0.5 ms.
_REMEMBERED: Final = 1_024

# They deny the next term, or the last one where none follows. Two in a clause may undo one another.
_DENYING: Final = word_set("not never no without unless neither nor")

# They say that something is not, or no more, what was chosen.
_REJECTING: Final = word_set(
    "nolonger insteadof avoid avoids avoided dropped abandoned forbidden forbid banned "
    "prohibited ditched retired disabled dislike dislikes hate hates"
)

# With them something new begins, which is not denied any more.
_BEGINNING: Final = word_set("infavour while when where if because that which but since so")
_ARTICLES: Final = word_set("a an the its their our your any")
_COPULAS: Final = word_set("is are was were been be being got gets")

# Before them a denial has met what it denies: "is not used in the tests".
_PLACING: Final = word_set("in on at for from with by to")

# They stand in almost every claim and tell none from another.
_SMALL: Final = term_set(
    "a an the this that these those it its their his her our your my we i you they them he she us is "
    "are was were be been being am get gets has have had having do does did done will would shall "
    "should must may might can could need needs needed let and or but if then so because since as at by "
    "for from in into of off on onto out over per than to under up upon via with within through when "
    "where which who whose what while there here also too just only very really please now always every "
    "each all any some both such same use used uses using prefer like want wish care choose pick decide "
    "decision agree go goes going went adr side way anywhere everywhere everything anything infavour "
    "switch move less more again still already able case ones become between across after before during "
    "until rule convention policy"
)

#: Verbs that relate and say little else. Small in these forms only: a write path is no relation.
RELATING_VERBS: Final = word_set(
    "written wrote lives live living runs run running ran comes come came goes made makes make puts put "
    "happens happen belongs belong called"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence or a part of one. Its terms are in order, and an amount is a term like any other."""

    text: str
    terms: tuple[str, ...]
    words: tuple[str, ...]  # each term as it was written
    leads: tuple[str, ...]  # the small words before each term, such as "is in"
    amounts: tuple[Amount, ...] = ()
    denials: tuple[frozenset[str], ...] = ()  # the terms that each denial is about
    rejected: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()  # the terms that are written as names are

    @property
    def denied(self) -> frozenset[str]:
        """The terms of all denials."""
        return frozenset().union(*self.denials)

    @property
    def asserted(self) -> frozenset[str]:
        """The terms that are neither denied nor rejected."""
        return frozenset(self.terms) - self.denied - self.rejected

    def worded(self, term: str) -> str:
        """A term of this claim, as it was written."""
        return self.words[self.terms.index(term)]


@lru_cache(_REMEMBERED)
def claims(text: str) -> tuple[Claim, ...]:
    """What a text says, in order; a clause of small words alone claims nothing."""
    found = (_Reader(clause).claim() for clause in clauses(text))
    return tuple(islice((claim for claim in found if claim.terms), MOST_CLAIMS))


@dataclass(slots=True)
class _Reader:
    """Walks over one clause, and remembers what waits for the next term."""

    text: str
    terms: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    amounts: list[Amount] = field(default_factory=list)
    denials: list[set[str]] = field(default_factory=list)
    rejected: set[str] = field(default_factory=set)
    small: list[str] = field(default_factory=list)
    denying: set[str] | None = None  # where the next terms belong as well

    def claim(self) -> Claim:
        """The clause as a claim."""
        read = ["", *tokens(self.text)[:MOST_WORDS], ""]
        place = 1
        while place < len(read) - 1:
            place += self._read(*read[place - 1 : place + 2])
        self._deny_last()
        return Claim(
            self.text.strip(),
            tuple(self.terms),
            tuple(self.words),
            tuple(self.leads),
            tuple(self.amounts),
            tuple(frozenset(each) for each in self.denials if each),
            frozenset(self.rejected),
            frozenset(self._names()),
        )

    def _read(self, before: str, word: str, following: str) -> int:
        """Take in a word; how many of them that used up."""
        if amounts.written(word):
            return self._count(word, following)
        if often := amounts.rhythm(word, before):
            self._amount(often)
        elif word in _DENYING or word in _REJECTING:
            self._deny(before, word)
        elif word in _BEGINNING or (word in _PLACING and self.denying in self.denials):
            self._deny_last()
            self.small.append(word)
        elif word == ",":
            self._end_phrase()
        else:
            self._word(word)
        return 1

    def _deny(self, before: str, word: str) -> None:
        if word in _REJECTING or (before == "," and word in {"not", "never"}):
            self.denying = self.rejected
        else:
            self.denying = set()
            self.denials.append(self.denying)
        if word in _REJECTING and before in _COPULAS:
            self._deny_last()

    def _count(self, number: str, following: str) -> int:
        """Take in a number, with the word after it where that is what is counted."""
        unit = term_of(following)
        if number == "one" and not amounts.measures(unit):
            waiting, self.denying = self.denying, None  # "no one thing" denies the thing
            self._term(term_of("single"), number)
            self.denying = waiting
            return 1
        takes = following.isalpha() and unit not in _SMALL and not amounts.written(following)
        beside = unit if takes else self._counted()
        self._amount(amounts.counted(number, beside, f"{number} {following}" if takes else number))
        return 1 + takes

    def _counted(self) -> str:
        """What a number without a unit counts: the term before it, unless a place or time begins with it."""
        if self.small and self.small[-1] in {"in", "since", "from", "until", "to"}:
            return ""
        return next((each for each in reversed(self.terms) if " " not in each), "")

    def _amount(self, amount: Amount) -> None:
        self.amounts.append(amount)
        self._term(str(amount), amount.said)

    def _word(self, word: str) -> None:
        term = word if "/" in word else term_of(word)
        if term in _SMALL or word in RELATING_VERBS:
            if word not in _ARTICLES:
                self._end_phrase()
            self.small.append(word)
        else:
            self._term(term, word)

    def _term(self, term: str, word: str) -> None:
        self.terms.append(term)
        self.words.append(word)
        self.leads.append(" ".join(self.small))
        self.small.clear()
        if self.denying is not None:
            self.denying.add(term)

    def _end_phrase(self) -> None:
        """A denial that has found its terms reaches no further than the next small word."""
        if self.denying is not None and self.terms and self.terms[-1] in self.denying:
            self.denying = None

    def _deny_last(self) -> None:
        """A denial that found no term after it is about the one before it."""
        if self.denying is not None and self.terms:
            self.denying.add(self.terms[-1])
        self.denying = None

    def _names(self) -> Iterator[str]:
        """The terms that are written with a capital inside a sentence, or with a mark or a digit in them."""
        lowered = self.text.lower()
        for term, word in zip(self.terms, self.words, strict=True):
            if self._is_name(word, _place(lowered, word)):
                yield term

    def _is_name(self, word: str, start: int) -> bool:
        end = start + len(word)
        if start < 0 or not word.isalpha() or self.text.startswith("(", end):
            return start >= 0 and not word[0].isdigit()
        written = self.text[start:end]
        return not written.islower() and (start > 0 or not written[1:].islower())


def _place(text: str, word: str) -> int:
    """Where a word first stands by itself, or -1.

    Not by a pattern: one for each word has to be compiled, which was a third of what comparing two memories
    took.
    """
    start = text.find(word)
    while start >= 0 and any(map(_is_letter, _beside(text, start, start + len(word)))):
        start = text.find(word, start + 1)
    return start


def _beside(text: str, start: int, end: int) -> str:
    """The signs just before and just after a part of a text."""
    return text[max(0, start - 1) : start] + text[end : end + 1]


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
