"""What several memories say together: their texts as one that says everything once, and their metadata.

Pure. Which memories are to be one, and which of them comes first, is left to `analysis.consolidation`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.analysis.claims import claims
from backstory.analysis.identity import Clash
from backstory.analysis.sentences import Kind, Piece, pieces
from backstory.analysis.vocabulary import term_of, term_set, word_set
from backstory.model.memory import Memory

# Words that two sentences may have or not and still say the same. Other small words, past which
# `analysis.claims` reads, do say something: "only", "may", "before", "moved". What is denied it reads itself.
_FILLERS: Final = word_set(
    "a an the this that these those it its their our your my we i you they them there is are was were be "
    "been being am will would shall should must has have had having do does did done need needs needed get "
    "gets got let and also too please always so just now very really of for with in on at "
    "by to as into via through use used uses using want wants prefer prefers user able way side here not no "
    "never without neither nor don t doesn isn aren s"
)

# With them it matters what comes first: "order", "from one to the other", "calls".
_ORDERED: Final = word_set(
    "order ordered from than over before after then first last until calls depends sends imports extends "
    "follows precedes owns"
)

# What is said with one of them is not said without it: that administrators alone may is not that they may.
_RESTRICTING: Final = term_set("only unless except")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")  # opt-in and opt-out, which are both "opt" to the claims
_WORD = re.compile(r"\w+")
_BLANK: Final[tuple[object, ...]] = ("", None, [], (), {})


@dataclass(frozen=True, slots=True)
class _Statement:
    """What a sentence, or a part of one, says: its terms in order, what it denies, and its other words."""

    terms: tuple[str, ...]
    denied: frozenset[str]
    others: frozenset[str]
    ordered: bool

    def is_in(self, other: "_Statement") -> bool:
        """Whether the other says this, and perhaps more."""
        restricted = (other.others ^ self.others) & _RESTRICTING
        if restricted or not self.others <= other.others or not set(self.terms) <= set(other.terms):
            return False
        rest = iter(other.terms)
        keeps_order = not self.ordered or all(term in rest for term in self.terms)
        return keeps_order and self.denied == other.denied & set(self.terms)


def united_text(memories: Sequence[Memory]) -> str:
    """The first text as it is, and after it every sentence, list item and block of code that is new.

    A sentence is not new if one before it has all its words but for fillers, or others that mean the same,
    and denies the same. A paragraph is added for each memory that has something new.
    """
    first, *others = (memory.content for memory in memories)
    said = _Sayings()
    said.add_all(_units(first))
    paragraphs = [_written(new) for text in others if (new := said.add_all(_units(text)))]
    return "\n\n".join([first.rstrip(), *paragraphs]) if paragraphs else first


def united_metadata(memories: Sequence[Memory]) -> tuple[dict[str, object], list[Clash]]:
    """Every entry of all, and the clashes: entries that have two values, of which the newest is taken.

    Lists have the items of all, objects are united in the same way, and what is blank counts as left out.
    """
    newest_first = sorted(memories, key=lambda each: (each.updated_at, each.id), reverse=True)
    united: dict[str, object] = {}
    clashes: list[Clash] = []
    for memory in newest_first:
        united, more = _united("", united, memory.metadata)
        clashes += more
    return united, clashes


class _Sayings:
    """What was said so far."""

    def __init__(self) -> None:
        self._words: set[str] = set()
        self._statements: list[_Statement] = []

    def add_all(self, units: Iterator[Piece]) -> list[Piece]:
        """Take in all units; those that said something new."""
        return [unit for unit in units if self._add(unit)]

    def _add(self, unit: Piece) -> bool:
        words = _words(unit)
        statements = [] if unit.kind is Kind.CODE else _statements(unit.text)
        known = bool(statements) and all(map(self._is_said, statements))
        new = not known and words not in self._words
        self._words.add(words)
        self._statements += statements
        return new

    def _is_said(self, statement: _Statement) -> bool:
        return any(statement.is_in(other) for other in self._statements)


def _units(text: str) -> Iterator[Piece]:
    """The sentences, lines of lists and blocks of code of a text. Lists may have some lines in common."""
    for piece in pieces(text):
        lines = piece.text.splitlines() if piece.kind is Kind.LIST else [piece.text]
        yield from (Piece(line.rstrip(), piece.kind) for line in lines if line.strip())


def _statements(text: str) -> list[_Statement]:
    found = claims(text)
    words = set(_WORD.findall(text.casefold()))
    read = {word for claim in found for written in claim.words for word in _WORD.findall(written)}
    others = set(map(term_of, words - _FILLERS - read)) | set(_COMPOUND.findall(text.casefold()))
    ordered = not words.isdisjoint(_ORDERED)
    return [
        _Statement(claim.terms, claim.denied | claim.rejected, frozenset(others), ordered) for claim in found
    ]


def _words(unit: Piece) -> str:
    """A unit without what may differ between two that are written the same; of code only blanks may."""
    words = unit.text.split() if unit.kind is Kind.CODE else _WORD.findall(unit.text.casefold())
    return " ".join(words) or unit.text


def _written(units: Sequence[Piece]) -> str:
    """Units as a text: sentences in a row, all else on lines of its own."""
    text = ""
    before = Kind.PROSE
    for unit in units:
        blank = " " if unit.kind is before is Kind.PROSE else "\n"
        text = f"{text}{blank}{unit.text}" if text else unit.text
        before = unit.kind
    return text


def _united(
    path: str, new: Mapping[str, object], old: Mapping[str, object]
) -> tuple[dict[str, object], list[Clash]]:
    united = dict(new)
    clashes: list[Clash] = []
    for key, value in old.items():
        if key not in united or united[key] in _BLANK:
            united[key] = value
        elif value not in _BLANK:
            united[key], more = _both(f"{path}{key}", united[key], value)
            clashes += more
    return united, clashes


def _both(field: str, new: object, old: object) -> tuple[object, list[Clash]]:
    """Two values of a field as one."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return _united(f"{field}.", new, old)
    if isinstance(new, list | tuple) and isinstance(old, list | tuple):
        known = set(map(as_json, new))
        return [*new, *(item for item in old if as_json(item) not in known)], []
    return new, [] if as_json(new) == as_json(old) else [Clash(field, new, old)]


def as_json(value: object) -> str:
    """A value so written that two are the same text if they are the same: to Python true is 1."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
