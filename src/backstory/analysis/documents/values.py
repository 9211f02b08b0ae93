"""What is found in a document."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class DocumentKind(StrEnum):
    """What a document turned out to hold."""

    REQUIREMENTS = "requirements"
    DECISIONS = "decisions"
    BOTH = "both"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Where something stands: the numbers of its first and its last line, from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """Something in a document that was not understood, or not taken as it stands."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class ParsedItem:
    """A requirement or a decision, ready to be remembered.

    `key` is the same whenever the document is read again, wherever in it the item has moved.
    `id` is the requirement's, `ADR-0007` for a decision with a number, or the decision's title in small
    letters. `fields` are those that the memory type declares, and a few more. `references` are ids of
    others that it names, in the order in which they stand there.
    """

    key: str
    type: str
    id: str
    title: str
    content: str
    fields: Mapping[str, object]
    references: tuple[str, ...]
    lines: LineRange


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """All that was found, in the order of the document.

    `references` are ids of requirements that are named outside of every item, and declared nowhere in it.
    """

    path: str
    requirements: tuple[ParsedItem, ...]
    designs: tuple[ParsedItem, ...]
    references: tuple[str, ...]
    problems: tuple[DocumentProblem, ...]

    @property
    def kind(self) -> DocumentKind:
        """What it holds."""
        match bool(self.requirements), bool(self.designs):
            case True, True:
                return DocumentKind.BOTH
            case True, False:
                return DocumentKind.REQUIREMENTS
            case False, True:
                return DocumentKind.DECISIONS
            case _:
                return DocumentKind.NEITHER
