"""How metadata is filtered by: each value becomes a label "key=value", in what is kept and in what is asked.

Pure. Memories and turns name theirs alike.
"""

from collections.abc import Iterator, Mapping
from typing import Final

#: Longer metadata values cannot be filtered by; nobody filters by a paragraph.
_MAX_LABEL_CHARS: Final = 200


def metadata_labels(metadata: Mapping[str, object]) -> Iterator[str]:
    """The labels of what can be filtered by: texts, numbers, truths, and lists of them."""
    for key, value in metadata.items():
        for each in value if isinstance(value, list | tuple) else (value,):
            is_plain = isinstance(each, str | int | float)
            if is_plain and len(label := metadata_label(key, each)) <= _MAX_LABEL_CHARS:
                yield label


def metadata_label(key: str, value: object) -> str:
    """The label of one value."""
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"
