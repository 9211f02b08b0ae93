"""The memory: what an agent chose to keep, and what makes one acceptable.

Checking here needs nothing but the value itself; what needs the store (does the other end of a
relationship exist?) is asked by the actions. Which types there are, and what their fields may hold, is
said in `kinds`.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NewType

from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.checking import problems_of as field_problems
from backstory.model.project import Project

MemoryId = NewType("MemoryId", str)

#: A quarter of the largest answer (50,000 tokens), so that four of the longest still fit in one.
MAX_CONTENT_CHARS: Final = 50_000
MAX_METADATA_BYTES: Final = 65_536
#: Deeper than anybody writes, and half of what can be written in an answer again.
MAX_LEVELS: Final = 120
DEFAULT_IMPORTANCE: Final = 0.5

#: How long a deleted memory can be brought back at least.
DELETED_KEPT: Final = timedelta(days=30)


def id_made_from(text: str) -> MemoryId:
    """An id that is always the same for the same text; its form is that of any other."""
    return MemoryId(str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)))


@dataclass(frozen=True, slots=True)
class Relationship:
    """A wish to link a memory to another one of the same project."""

    type: RelationshipType
    to: MemoryId


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory as it is asked for, before it is checked and given an id."""

    type: str
    content: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    importance: float = DEFAULT_IMPORTANCE
    relationships: Sequence[Relationship] = ()


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What an update changes; None leaves a part as it is.

    Entries of `metadata` take the place of those with their names; one that is None goes, all others stay.
    `relationships` are links to be added.
    """

    content: str | None = None
    metadata: Mapping[str, object] | None = None
    importance: float | None = None
    relationships: Sequence[Relationship] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it is kept. `version` grows by one with each update."""

    id: MemoryId
    project: Project
    type: str
    content: str
    metadata: Mapping[str, object]
    importance: float
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    access_count: int = 0
    last_used_at: datetime | None = None

    @property
    def title(self) -> str:
        """A line that names it: its title if it was given one, else how its content begins."""
        given = self.metadata.get("title") or self.metadata.get("name")
        text = given if isinstance(given, str) and given.strip() else self.content
        return " ".join(text.split())[:120].rstrip()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a value is not acceptable, and what to do about it."""

    what: str
    remedy: str


def problems_of(new: NewMemory) -> Iterator[Problem]:
    """Everything that keeps a new memory from being stored; nothing when it is acceptable."""
    if new.type not in KINDS:
        yield Problem(f"there is no memory type {new.type!r}", f"use one of: {', '.join(KINDS)}")
    yield from content_problems(new.content)
    yield from metadata_problems(new.type, new.metadata)
    yield from importance_problems(new.importance)


def content_problems(content: str) -> Iterator[Problem]:
    """Everything wrong with a memory's text."""
    if not content.strip():
        yield Problem("the memory has no content", "say in a sentence or more what should be remembered")
    if len(content) > MAX_CONTENT_CHARS:
        yield Problem(
            f"the content has {len(content):,} characters, more than {MAX_CONTENT_CHARS:,}",
            "keep what matters, or split it into several memories",
        )
    if not _storable(content):
        yield Problem("the content is not valid Unicode text", "remove NUL characters and lone surrogates")


def metadata_problems(type_: str, metadata: Mapping[str, object]) -> Iterator[Problem]:
    """Everything wrong with the metadata of a memory of this type."""
    problems = list(json_problems(metadata))
    yield from problems
    if not problems and type_ in KINDS:
        for problem in field_problems(KINDS[type_], metadata):
            yield Problem(
                f"the metadata of a {type_} is not acceptable: {problem.field} {problem.rule}",
                f"for example {json.dumps({problem.field: problem.example}, ensure_ascii=False)}; "
                f"all fields are in the resource backstory://schema/{type_}",
            )


def json_problems(metadata: Mapping[str, object]) -> Iterator[Problem]:
    """Everything that keeps metadata of any kind from being stored."""
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        yield Problem(
            f"the metadata is not JSON: {error}",
            "use objects, lists, texts, finite numbers, true, false, null",
        )
        return
    if is_deep(metadata):
        yield Problem(
            f"the metadata is nested more than {MAX_LEVELS} levels deep",
            "keep what is deep as the JSON text of it",
        )
    if any(not isinstance(key, str) for key in metadata):
        yield Problem("the metadata has a key that is not a text", "name every metadata entry with a text")
    if not _storable(text) or "\\u0000" in text:
        yield Problem("the metadata is not valid Unicode text", "remove NUL characters and lone surrogates")
    elif len(text.encode()) > MAX_METADATA_BYTES:
        yield Problem(
            f"the metadata is larger than {MAX_METADATA_BYTES:,} bytes", "put long texts into the content"
        )


def importance_problems(importance: float) -> Iterator[Problem]:
    """Everything wrong with an importance."""
    if not 0.0 <= importance <= 1.0:
        yield Problem(
            f"importance {importance} is not between 0 and 1",
            "use 0.5 for an ordinary memory, 1 for a vital one",
        )


def is_deep(value: object) -> bool:
    """Whether a JSON value has so many levels that it could be kept and never be written in an answer."""
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [each for outer in level for each in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list() | tuple():
            return value
        case _:
            return ()


def _storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
