"""Whether metadata is acceptable for a type, and what it means where fields were left out.

That metadata is JSON, valid Unicode and not too large is checked for all types alike, in `model.memory`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from backstory.model.kinds.kind import Field, MemoryKind

#: As many characters as are shown of a memory that has no title.
_MAX_TITLE_CHARS: Final = 120
_BETWEEN_LETTERS: Final = re.compile(r"[\W_]+")
_HEADING: Final = re.compile(r"^\s*#{1,6}(\s+|$)")


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field, the rule it breaks, and a value that keeps the rule. As a text: all three in a sentence."""

    field: str
    rule: str
    example: object

    def __str__(self) -> str:
        return f"{self.field} {self.rule}, for example {json.dumps(self.example, ensure_ascii=False)}"


def problems_of(kind: MemoryKind, metadata: Mapping[str, object]) -> Iterator[FieldProblem]:
    """Everything that keeps metadata from being that of a type, in the order of the type's fields.

    What it accepts, the type's JSON Schema accepts, and the other way round, but for one thing no schema
    says: a key may not look like a field that is missing.
    """
    names = {field.name for field in kind.fields}
    unknown = [key for key in metadata if key not in names]
    for field in kind.fields:
        present = field.name in metadata
        rule = _broken_by(field, metadata[field.name]) if present else _missed(field, unknown)
        if rule:
            yield FieldProblem(field.name, rule, field.example)


def filled(kind: MemoryKind, metadata: Mapping[str, object], content: str = "") -> dict[str, object]:
    """The metadata, with what is meant where a field was left out. What was given stays as it is."""
    meant = {field.name: field.default for field in kind.fields if field.default is not None}
    if kind.titled_by and (title := _first_line(content)):
        meant[kind.titled_by] = title
    return {**metadata, **{name: value for name, value in meant.items() if name not in metadata}}


def _missed(field: Field, unknown: Iterable[str]) -> str | None:
    # If the field is there, a key that looks like it was written on purpose, and this is not asked.
    if slip := _nearest(field.name, unknown):
        return f"is how to write {slip!r}"
    return "is required" if field.required else None


def _broken_by(field: Field, value: object) -> str | None:
    if field.accepts.fits(value):
        return None
    rule = f"must be {field.accepts.words}"
    meant = _meant(field.one_of, value)
    return f"{rule} (use {meant})" if meant else rule


def _meant(choice: tuple[str, ...], value: object) -> str | None:
    """The allowed value of which something wrong in a value is a slip."""
    items = value if isinstance(value, list | tuple) else [value]
    wrong = (item for item in items if isinstance(item, str) and item not in choice)
    return next((meant for item in wrong if (meant := _nearest(item, choice))), None)


def _nearest(word: str, others: Iterable[str]) -> str | None:
    """The first of the others that is the same word written differently, or with one letter wrong."""
    letters = _letters(word)
    return next((other for other in others if _is_slip(letters, _letters(other))), None)


def _letters(word: str) -> str:
    """A word without what people write differently: requirementId is requirement_id."""
    return _BETWEEN_LETTERS.sub("", word.casefold())


def _is_slip(one: str, other: str) -> bool:
    """Whether a letter too many, too few or wrong, or two that changed places, is all that differs."""
    return abs(len(one) - len(other)) <= 1 and not _shortened(one).isdisjoint(_shortened(other))


def _shortened(word: str) -> set[str]:
    """The word, and what is left of it without each of its letters."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _first_line(content: str) -> str:
    """The first line with words in it, without the mark of a heading."""
    lines = (" ".join(_HEADING.sub("", line).split()) for line in content.splitlines())
    return next(filter(None, lines), "")[:_MAX_TITLE_CHARS].rstrip()
