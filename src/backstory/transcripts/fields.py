"""Typed reading of JSON that nobody promised: a field of the wrong kind is an absent field.

Every text that leaves here is free of NUL, which no store takes.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

Fields = Mapping[str, object]


def text(fields: Fields, key: str) -> str:
    """The text under a key, or an empty one."""
    value = fields.get(key)
    if not isinstance(value, str):
        return ""
    return value.replace("\0", "") if "\0" in value else value


def number(fields: Fields, key: str) -> int:
    """The whole number under a key, or 0."""
    value = fields.get(key)
    return value if isinstance(value, int) else 0


def inner(fields: Fields, key: str) -> Fields:
    """The object under a key, or an empty one."""
    value = fields.get(key)
    return value if isinstance(value, dict) else {}


def objects(fields: Fields, key: str) -> Iterator[Fields]:
    """The objects in the list under a key."""
    value = fields.get(key)
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def blocks(fields: Fields, key: str = "content") -> Iterator[Fields]:
    """The content blocks under a key; a plain text counts as one block of text."""
    if plain := text(fields, key):
        yield {"type": "text", "text": plain}
    yield from objects(fields, key)


def time(fields: Fields, key: str = "timestamp") -> datetime | None:
    """The moment under a key in UTC, or None where there is none that can be read."""
    try:
        moment = datetime.fromisoformat(text(fields, key))
        if moment.tzinfo is UTC:
            return moment
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
