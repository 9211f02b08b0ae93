"""How a memory that is to be kept conflicts with those that are there: again, in part, or against them.

Pure: similarities come from outside, and the caller says which memories are near enough to be compared.
Metadata is judged by `analysis.identity`, texts by `analysis.likeness`. What to do about a conflict is the
agent's to decide.

Metadata should be as it was given, before fields that were left out are filled in: a design that says
nothing of its status counts as one that holds, a proposal does not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from backstory.analysis.claims import Claim, claims
from backstory.analysis.identity import Sameness, agree, clash, sameness
from backstory.analysis.likeness import Texts
from backstory.model.memory import MemoryId

_WORD = re.compile(r"\w+")
_SUPERSEDED = re.compile(r"\b(?:supersed|replac|overrid)(?:es|ing|ed) ((?:[A-Z]+-)+\d+)")

# What was decided once and holds no more contradicts nothing.
_OUT_OF_FORCE: Final = frozenset({"superseded", "deprecated", "rejected", "withdrawn", "obsolete"})

# How sure a verdict is. Fields are what somebody wrote down to be compared. A proposal need not be followed,
# and may well be there because the other is to be given up.
_NAMED: Final = 0.95
_IN_PART: Final = 0.7
_BY_WORDS: Final = 0.7
_PROPOSED: Final = 0.5


class ConflictKind(StrEnum):
    """What a conflict is. One that is told first outweighs the others."""

    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    OVERLAP = "overlap"


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody wants to be remembered."""

    type: str
    content: str
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that is kept, and the cosine of its meaning to the new one's."""

    id: MemoryId
    type: str
    content: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class Conflict:
    """A memory that the new one conflicts with, why, and how sure that is, from 0 to 1."""

    kind: ConflictKind
    id: MemoryId
    why: str
    certainty: float


@dataclass(frozen=True, slots=True)
class _Verdict:
    kind: ConflictKind
    why: str
    certainty: float


def conflicts(new: Said, others: Sequence[Candidate]) -> list[Conflict]:
    """Every conflict with what is kept, at most one for each memory; contradictions first, surest first."""
    said = claims(new.content)
    found = [
        Conflict(verdict.kind, other.id, verdict.why, verdict.certainty)
        for other in others
        if (verdict := _verdict(new, said, other))
    ]
    order = list(ConflictKind)
    return sorted(found, key=lambda each: (order.index(each.kind), -each.certainty))


def _verdict(new: Said, said: Sequence[Claim], other: Candidate) -> _Verdict | None:
    same = sameness(new.type, new.metadata, other.metadata) if new.type == other.type else Sameness.UNKNOWN
    if same is Sameness.OTHER:
        return None
    if _in_force(other) and _supersedes(new, other):
        return _Verdict(
            ConflictKind.CONTRADICTION, "it supersedes the other, which is still in force", _NAMED
        )
    texts = Texts(said, claims(other.content), other.similarity)
    if same is Sameness.SAME and (verdict := _by_fields(new, texts, other)):
        return verdict
    if _plain(new.content) == _plain(other.content):
        return _Verdict(ConflictKind.DUPLICATE, "it says the same in the same words", 1.0)
    return _by_text(new, texts, other)


def _by_fields(new: Said, texts: Texts, other: Candidate) -> _Verdict | None:
    """What follows from two memories being about one thing, whatever their wording."""
    differing = clash(new.type, new.metadata, other.metadata)
    if differing and _in_force(new) and _in_force(other):
        why = f"{differing.field} is {differing.new!r} in the new one, {differing.old!r} in the other"
        return _Verdict(ConflictKind.CONTRADICTION, why, _NAMED)
    if new.type == "requirement" and not texts.equal and _plain(new.content) != _plain(other.content):
        why = f"{new.metadata['requirement_id']} is there with another text"
        return _Verdict(ConflictKind.CONTRADICTION, why, _NAMED)
    if agree(new.type, new.metadata, other.metadata):
        return _Verdict(ConflictKind.DUPLICATE, "its fields say the same of the same thing", _NAMED)
    return None


def _by_text(new: Said, texts: Texts, other: Candidate) -> _Verdict | None:
    if change := texts.change:
        holds = _in_force(new) and _in_force(other)
        certainty = change.certainty * (_PROPOSED if _is_proposed(new) or _is_proposed(other) else 1.0)
        return _Verdict(ConflictKind.CONTRADICTION, change.why, certainty) if holds else None
    if texts.same:
        # The words alone can tell it, whatever the cosine is.
        certainty = min(1.0, max(_BY_WORDS, texts.similarity))
        return _Verdict(ConflictKind.DUPLICATE, "it says the same in other words", certainty)
    if part := texts.part:
        return _Verdict(ConflictKind.OVERLAP, part, _IN_PART)
    return None


def _supersedes(new: Said, other: Candidate) -> bool:
    """Whether the new memory says that it takes the other's place, by its id or by its number."""
    given = new.metadata.get("supersedes")
    named = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else []
    numbers = [number.casefold() for number in _SUPERSEDED.findall(new.content)]
    words = f"{other.metadata.get('title', '')} {other.content}".casefold()
    return other.id in named or any(re.search(rf"\b{re.escape(number)}\b", words) for number in numbers)


def _in_force(memory: Said | Candidate) -> bool:
    return _status(memory) not in _OUT_OF_FORCE


def _is_proposed(memory: Said | Candidate) -> bool:
    return memory.type == "design" and _status(memory) == "proposed"


def _status(memory: Said | Candidate) -> str:
    return str(memory.metadata.get("status", "")).casefold()


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
