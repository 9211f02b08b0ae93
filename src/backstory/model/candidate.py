"""Memories that might be kept: what an extractor finds in a talk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: The types that a talk tells of. Components and functions are read from the code itself.
EXTRACTED_TYPES: Final = ("design", "requirement", "preference", "code_pattern", "test_history", "session")

#: The type of the one that tells of the talk as a whole.
SESSION: Final = "session"

#: How sure a candidate has to be, if nobody says. What the rules find is .55 and more.
USUAL_CONFIDENCE: Final = 0.5


@dataclass(frozen=True, slots=True)
class CandidateMemory:
    """A memory that might be kept. `evidence` stands letter by letter in what was said, or tools gave back.

    `fields` are those of its type that the words give. `confidence` is from 0 to 1, and orders candidates.
    """

    type: str
    content: str
    fields: Mapping[str, object]
    evidence: str
    turn: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was found in a talk, in the order in which it was said; the talk as a whole comes last.

    `note` tells why it is not all that was asked for; mostly it is empty.
    """

    candidates: Sequence[CandidateMemory]
    note: str = ""
