"""How metadata is filtered by: each value becomes a label, in what is kept and in what is asked.

Pure. Memories and turns name theirs alike.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Final

#: Of a longer label a digest is kept: engines hold every label in memory.
_MAX_LABEL_CHARS: Final = 200


def metadata_labels(metadata: Mapping[str, object]) -> Iterator[str]:
    """The labels of what can be filtered by: texts, numbers, truths, and lists of them."""
    for key, value in metadata.items():
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, str | int | float):
                yield metadata_label(key, each)


def metadata_label(key: str, value: object) -> str:
    """The label of one value: another one for another key, type or value, the same for 2 and 2.0."""
    plain = int(value) if isinstance(value, float) and value.is_integer() else value
    label = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(plain, ensure_ascii=False)}"
    if len(label) <= _MAX_LABEL_CHARS:
        return label
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()
