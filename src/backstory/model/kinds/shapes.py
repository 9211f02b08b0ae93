"""Shapes: what a field's value may look like, said once for people, for programs and for the check.

Shapes are about JSON values. A list may also be a tuple, since code that builds metadata has those.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeGuard

#: The longest path that Linux takes; other systems take less.
_MAX_PATH_CHARS: Final = 4096
#: Ids are UUIDs, ids of requirements, names of components and functions: none of them comes near.
_MAX_ID_CHARS: Final = 200

_TIME: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a value must be: in words, as JSON Schema, and as a check. A list has the shape of its items.

    Schema and check accept the same JSON values, if the formats that the schema names are asserted.
    """

    words: str  # what follows "must be"
    schema: Mapping[str, object]
    fits: Callable[[object], bool]
    item: "Shape | None" = None


def one_of(values: Sequence[str]) -> Shape:
    """One of these texts and nothing else."""
    return Shape(f"one of {', '.join(values)}", {"enum": list(values)}, lambda value: value in values)


def like(pattern: str, words: str = "", most: int | None = None) -> Shape:
    """A text with what the pattern asks for, of at most so many characters."""

    def fits(value: object) -> bool:
        return isinstance(value, str) and (most is None or len(value) <= most) and _matches(pattern, value)

    limit = {} if most is None else {"maxLength": most}
    return Shape(
        words or f"a text that matches {pattern}", {"type": "string", "pattern": pattern, **limit}, fits
    )


def list_of(item: Shape) -> Shape:
    """A list, which may be empty, of values of one shape."""

    def fits(value: object) -> bool:
        return isinstance(value, list | tuple) and all(item.fits(each) for each in value)

    return Shape(f"a list, each {item.words}", {"type": "array", "items": item.schema}, fits, item)


def whole_number(least: int) -> Shape:
    """A whole number that is not below the least."""

    def fits(value: object) -> bool:
        # In JSON 3.0 is whole too.
        return _is_number(value) and value >= least and (isinstance(value, int) or value.is_integer())

    return Shape(f"a whole number from {least}", {"type": "integer", "minimum": least}, fits)


def _matches(pattern: str, text: str) -> bool:
    # To JSON Schema `$` is the very end; to Python it is also the place before a last line break.
    exact = pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern
    return re.search(exact, text) is not None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or not _matches(_TIME, value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_json(value: object) -> bool:
    return isinstance(value, dict | list | tuple | str | int | float)


TEXT: Final = like(r"\S", "a text that is not blank")
PATH: Final = like(r"^(?=.*\S)[^\x00-\x1f]+$", "a path on one line", _MAX_PATH_CHARS)
ID: Final = like(
    r"^\S([^\x00-\x1f]*\S)?$",
    f"an id or a name of at most {_MAX_ID_CHARS} characters, on one line, without blanks at its ends",
    _MAX_ID_CHARS,
)
UUID: Final = like(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", "a UUID")
TIME: Final = Shape(
    "a time with seconds and zone, or a date, as ISO 8601 writes them",
    {"type": "string", "pattern": _TIME, "anyOf": [{"format": "date-time"}, {"format": "date"}]},
    _is_time,
)
LINE_NUMBER: Final = whole_number(1)
SHARE: Final = Shape("a number from 0 to 1", {"type": "number", "minimum": 0, "maximum": 1}, _is_share)
TEXTS: Final = list_of(TEXT)
PATHS: Final = list_of(PATH)
IDS: Final = list_of(ID)
JSON: Final = Shape(
    "any JSON value but null", {"type": ["object", "array", "string", "number", "boolean"]}, _is_json
)
