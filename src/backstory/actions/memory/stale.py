"""What is told to somebody who would change a memory that is not what they think it is.

Both versions are shown, so that they can decide without reading the memory again; long ones in part.
"""

import json
from collections.abc import Iterator
from typing import Final

from backstory.actions.memory.marking import marked
from backstory.analysis.differences import FieldDiff, difference
from backstory.engine import Transaction
from backstory.errors import StaleVersion
from backstory.model.memory import Memory

#: Characters that are shown of each text, and fields that are compared: the whole takes 2,500 tokens at most.
_MOST_CHARS: Final = 2_000
_MOST_OF_A_FIELD: Final = 400
_MOST_FIELDS: Final = 10


def stale(records: Transaction, now: Memory, expected_version: int | None) -> StaleVersion:
    """That a memory has another version than was expected: both of them, and what differs."""
    older = (each for each in records.memories.versions(now.id) if each.version == expected_version)
    expected = next(older, None)
    return StaleVersion(
        "\n".join(
            [
                f"memory {now.id} has version {now.version} now, not {expected_version}; nothing was changed",
                *(_shown("expected", expected) if expected else [f"there is no version {expected_version}"]),
                *_shown("present", now),
                *(_differences(expected, now) if expected else ()),
            ]
        ),
        hint=f"if your change still holds, ask again with expected_version={now.version}",
    )


def _shown(name: str, memory: Memory) -> Iterator[str]:
    yield f"{name}, version {memory.version}: {_short(memory.content, _MOST_CHARS)}"
    if memory.metadata:
        yield f"{name} metadata: {_short(_written(memory.metadata), _MOST_CHARS)}"


def _differences(expected: Memory, now: Memory) -> Iterator[str]:
    fields = difference(expected, now)
    for each in fields[:_MOST_FIELDS]:
        yield f"{each.mark} {each.field}: {_short(_difference(each), _MOST_OF_A_FIELD)}"
    if len(fields) > _MOST_FIELDS:
        yield f"and {len(fields) - _MOST_FIELDS} more fields"


def _difference(field: FieldDiff) -> str:
    return marked(field.words) if field.words else f"{_written(field.old)} -> {_written(field.new)}"


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [...]"
