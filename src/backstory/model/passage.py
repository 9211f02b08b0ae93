"""The passage: the text of one retrievable thing, kept once, with what search needs to know of it.

A memory, a message, a function has one passage under its own id. How texts become terms and
chunks is the ranking room's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from backstory.model.project import Project


class Index(StrEnum):
    """The sets that are searched by meaning and words; a memory's type is a label."""

    MEMORIES = "memories"
    TURNS = "turns"  # an entry for each message
    SESSIONS = "sessions"  # an entry for each conversation, with all its words
    FUNCTIONS = "functions"


@dataclass(frozen=True, slots=True)
class Passage:
    """What search knows of a thing. `terms` are what its words are found by."""

    id: str
    index: Index
    project: Project
    text: str
    terms: str
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
