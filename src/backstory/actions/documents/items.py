"""What a document says as a memory, and what has to change in one when the document does.

Pure. A memory that was read from a document has in its metadata, beside the fields of its type:
`document_key` (what it is called in its document), `source_lines` (where it stood when it was last read
anew), `document_digest` (what the document said then, as hashes) and, when the document does not say it any
more, `source_gone`.
"""

import base64
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import Final

from backstory.analysis.documents.values import ParsedItem
from backstory.model.memory import DEFAULT_IMPORTANCE, Memory, MemoryId
from backstory.model.project import Project

KEY: Final = "document_key"
GONE: Final = "source_gone"
DOCUMENT: Final = "source_document"
_DIGEST: Final = "document_digest"
_LINES: Final = "source_lines"
_CONTENT: Final = "content"

#: What documents say of each type, in the order of the hashes in a digest: a new field goes to the end.
SAID: Final[Mapping[str, Sequence[str]]] = {
    "requirement": (
        _CONTENT,
        "title",
        "description",
        "priority",
        "status",
        "verification",
        "implementing_components",
        "related_requirements",
    ),
    "design": (
        _CONTENT,
        "title",
        "design_type",
        "status",
        "decision",
        "rationale",
        "consequences",
        "related_requirements",
        "affected_components",
        "decided_on",
        "supersedes",
        "superseded_by",
        "related_designs",
    ),
}

#: Of a hash. A change goes unseen once in 16 million times; every search shows an agent all of them.
_HASH_CHARS: Final = 4
#: As many as leave metadata within its limit.
_MOST_RELATED: Final = 200
_DECISION: Final = "ADR-"


def name_of(item: ParsedItem) -> str | None:
    """What others may name an item by, if its document gave it a number."""
    return item.id if item.type == "requirement" or item.id.startswith(_DECISION) else None


def first_version(project: Project, item: ParsedItem, at: datetime) -> Memory:
    """An item as a new memory."""
    return Memory(
        id=MemoryId(str(uuid.uuid4())),
        project=project,
        type=item.type,
        content=item.content,
        metadata={**_fields(item), **_place(item), **_reading(item)},
        importance=DEFAULT_IMPORTANCE,
        version=1,
        created_at=at,
        updated_at=at,
    )


def next_version(memory: Memory, item: ParsedItem, at: datetime) -> Memory | None:
    """A memory as its document has it now; None if that says what it said when it was last read.

    What somebody changed in the memory stays, unless the document says something else of it than it did.
    """
    known, place = memory.metadata, _place(item)
    if {_DIGEST: _digest(item), **place}.items() <= known.items() and GONE not in known:
        return None
    fields = _fields(item)
    changed = set(_changed(known.get(_DIGEST), item))
    unsaid = {GONE, *(changed - fields.keys())}
    said = {name: fields[name] for name in changed & fields.keys()}
    metadata = {**known, **said, **place, **_reading(item)}
    return replace(
        memory,
        content=item.content if _CONTENT in changed else memory.content,
        metadata={name: value for name, value in metadata.items() if name not in unsaid},
        version=memory.version + 1,
        updated_at=at,
    )


def gone_version(memory: Memory, at: datetime) -> Memory:
    """A memory whose document does not say it any more."""
    return replace(
        memory, metadata={**memory.metadata, GONE: True}, version=memory.version + 1, updated_at=at
    )


def _fields(item: ParsedItem) -> dict[str, object]:
    """What a document says of an item, as fields of its type."""
    decisions = [id for id in item.references if id.startswith(_DECISION)]
    requirements = [id for id in item.references if not id.startswith(_DECISION)]
    related = {"related_requirements": requirements, "related_designs": decisions}
    said = {name: ids[:_MOST_RELATED] for name, ids in related.items() if ids}
    return {**item.fields, **said}


def _place(item: ParsedItem) -> dict[str, object]:
    """Where an item is, and what it is called there."""
    number = {"adr_id": item.id} if item.type == "design" and name_of(item) else {}
    return {KEY: item.key, DOCUMENT: item.fields[DOCUMENT], **number}


def _reading(item: ParsedItem) -> dict[str, object]:
    return {_LINES: [item.lines.first, item.lines.last], _DIGEST: _digest(item)}


def _changed(digest: object, item: ParsedItem) -> Iterator[str]:
    """The parts of which the document says something else than it did when this digest was made."""
    before = digest.split(".") if isinstance(digest, str) else []
    now = _digest(item).split(".")
    for name, old, new in zip_longest(SAID[item.type], before, now, fillvalue=""):
        if old != new and name:
            yield name


def _digest(item: ParsedItem) -> str:
    """What a document says of an item: a short hash of each part, nothing for a part that it leaves out."""
    said = {_CONTENT: item.content, **_fields(item)}
    return ".".join(_hash(said[name]) if name in said else "" for name in SAID[item.type])


def _hash(value: object) -> str:
    digest = hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode()).digest()
    return base64.urlsafe_b64encode(digest).decode()[:_HASH_CHARS]
