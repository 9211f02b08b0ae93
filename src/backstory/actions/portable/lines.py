"""A memory as a line of an export, and back.

Pure. The first line of an export says what it is. Every other one is a memory, with all that it was and is;
what is empty is not written. The same memory is always the same bytes. Where lines are read from and written
to is left to `files`.
"""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from backstory.actions.portable.json_parts import BadJson, Parts, Value, parsed
from backstory.errors import StoreTooNew
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory, MemoryId, content_problems
from backstory.model.merge import FOLDED, MergeMade
from backstory.model.portable import OwnLink, WholeMemory
from backstory.model.project import Project
from backstory.model.upkeep import Activity

FORMAT: Final = "backstory-memories"
VERSION: Final = 1

_HEADER: Final = ("format", "version", "memories")
_MEMORY: Final = (
    *("id", "project", "type", "content", "metadata", "importance", "version", "created_at", "updated_at"),
    *("deleted_at", "used", "last_used_at", "versions", "audit", "links", "merges"),
)
_VERSION: Final = ("version", "content", "metadata", "importance", "written_at")
_ACTIVITY: Final = ("operation", "version", "at", "details")
_LINK: Final = ("from", "type", "to", "created_at", "certainty", "metadata")
_MERGE: Final = ("id", "version", "folded", "before", "why", "at", "undone_at")

#: What a memory says. Ids in it stay as they are when memories get others.
_SAID: Final = frozenset({"content", "metadata", "versions"})

#: What is not written when it is empty, or when there is none.
_LEFT_OUT: Final = frozenset(
    {"deleted_at", "used", "last_used_at", "versions", "audit", "links", "merges", "details", "undone_at"}
)


def header_line(memories: int) -> bytes:
    """The first line of an export of so many memories."""
    return _line({"format": FORMAT, "version": VERSION, "memories": memories})


def memories_told(line: bytes) -> int | None:
    """How many memories an export has by its first line, if that says so; raises `BadJson` if it is none."""
    value = parsed(line)
    if value.get("format") != FORMAT:
        raise BadJson(f"it does not begin as an export does, with the format {FORMAT}")
    version = Parts(value, tuple(value)).integer("version")
    if version > VERSION:
        raise StoreTooNew(
            f"the export has version {version} of the format, and this Backstory knows {VERSION}",
            hint="upgrade Backstory",
        )
    parts = Parts(value, _HEADER)
    return parts.maybe("memories", parts.integer)


def line_of(whole: WholeMemory) -> bytes:
    """The line of a memory."""
    memory = whole.memory
    return _line(
        {
            "id": memory.id,
            "project": memory.project.name,
            "type": memory.type,
            "content": memory.content,
            "metadata": memory.metadata,
            "importance": memory.importance,
            "version": memory.version,
            "created_at": memory.created_at,
            "updated_at": memory.updated_at,
            "deleted_at": memory.deleted_at,
            "used": memory.access_count,
            "last_used_at": memory.last_used_at,
            "versions": [_version_value(each) for each in whole.versions],
            "audit": [_activity_value(each) for each in whole.activity],
            "links": [_link_value(each) for each in whole.links],
            "merges": [_merge_value(each) for each in whole.merges],
        }
    )


def whole_of(value: Value) -> WholeMemory:
    """The memory that a line is; raises `BadJson` if such a one could not be kept."""
    parts = Parts(value, _MEMORY)
    memory = _memory(parts)
    if memory.version < 1:
        raise BadJson("`version` must be 1 or more")
    versions = [_version(each, memory) for each in parts.several("versions", _VERSION)]
    numbers = [each.version for each in versions]
    if numbers != sorted({number for number in numbers if 0 < number < memory.version}):
        raise BadJson("`versions` must be older than the present one, and the oldest first")
    return WholeMemory(
        memory,
        versions,
        [_activity(each, memory) for each in parts.several("audit", _ACTIVITY)],
        [_link(each) for each in parts.several("links", _LINK)],
        [_merge(each, memory, {*numbers, memory.version}) for each in parts.several("merges", _MERGE)],
    )


def renamed(value: Value, names: Mapping[str, str]) -> Value:
    """A line in which memories and merges have other ids; what the memory says stays as it is."""
    return {key: each if key in _SAID else _renamed(each, names) for key, each in value.items()}


def _renamed(value: object, names: Mapping[str, str]) -> object:
    match value:
        case str():
            return names.get(value, value)
        case list():
            return [_renamed(each, names) for each in value]
        case dict():
            return {names.get(key, key): _renamed(each, names) for key, each in value.items()}
        case _:
            return value


def _line(value: Mapping[str, object]) -> bytes:
    text = json.dumps(_written(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _written(value: Mapping[str, object]) -> Value:
    """An object without what is empty, with times as texts."""
    return {
        key: each.isoformat().replace("+00:00", "Z") if isinstance(each, datetime) else each
        for key, each in value.items()
        if each or key not in _LEFT_OUT
    }


def _version_value(version: Memory) -> Value:
    return _written(
        {
            "version": version.version,
            "content": version.content,
            "metadata": version.metadata,
            "importance": version.importance,
            "written_at": version.updated_at,
        }
    )


def _activity_value(done: Activity) -> Value:
    return _written(
        {"operation": done.operation, "version": done.version, "at": done.at, "details": done.details}
    )


def _link_value(link: OwnLink) -> Value:
    return _written(
        {
            "from": link.start,
            "type": link.type.value,
            "to": link.end,
            "created_at": link.created_at,
            "certainty": link.certainty,
            "metadata": link.metadata,
        }
    )


def _merge_value(merge: MergeMade) -> Value:
    return _written(
        {
            "id": merge.id,
            "version": merge.version,
            "folded": merge.folded,
            "before": merge.versions,
            "why": merge.why,
            "at": merge.at,
            "undone_at": merge.undone_at,
        }
    )


def _memory(parts: Parts) -> Memory:
    type_ = parts.text("type")
    if type_ not in KINDS:
        raise BadJson(f"`type` must be one of: {', '.join(KINDS)}")
    return Memory(
        id=MemoryId(parts.id("id")),
        project=_project(parts.text("project")),
        type=type_,
        content=_content(parts),
        metadata=parts.mapping("metadata"),
        importance=parts.share("importance"),
        version=parts.integer("version"),
        created_at=parts.moment("created_at"),
        updated_at=parts.moment("updated_at"),
        deleted_at=parts.maybe("deleted_at", parts.moment),
        access_count=parts.maybe("used", parts.integer) or 0,
        last_used_at=parts.maybe("last_used_at", parts.moment),
    )


def _version(parts: Parts, now: Memory) -> Memory:
    return Memory(
        id=now.id,
        project=now.project,
        type=now.type,
        content=_content(parts),
        metadata=parts.mapping("metadata"),
        importance=parts.share("importance"),
        version=parts.integer("version"),
        created_at=now.created_at,
        updated_at=parts.moment("written_at"),
    )


def _activity(parts: Parts, memory: Memory) -> Activity:
    operation = parts.text("operation")
    if operation == FOLDED:  # whoever looks for the memory is led on by this
        parts.inside("details").id("into")
    return Activity(
        subject=memory.id,
        project=memory.project.name,
        operation=operation,
        version=parts.integer("version"),
        at=parts.moment("at"),
        details=parts.maybe("details", parts.mapping) or {},
    )


def _link(parts: Parts) -> OwnLink:
    type_ = parts.text("type")
    if type_ not in RelationshipType.__members__:
        raise BadJson(f"the `type` of a link must be one of: {', '.join(RelationshipType)}")
    return OwnLink(
        start=parts.id("from"),
        type=RelationshipType(type_),
        end=parts.id("to"),
        created_at=parts.moment("created_at"),
        certainty=parts.share("certainty"),
        metadata=parts.mapping("metadata"),
    )


def _merge(parts: Parts, kept: Memory, known: AbstractSet[int]) -> MergeMade:
    """A merge that can be undone: the versions of the kept memory that it speaks of are there."""
    folded, before = parts.ids("folded"), parts.integers("before")
    version = parts.integer("version")
    if before.keys() != {kept.id, *folded} or not {version, before[kept.id]} <= known:
        raise BadJson("a merge must have the versions that its memories had, and those of the kept one")
    return MergeMade(
        id=parts.id("id"),
        project=kept.project,
        kept=kept.id,
        version=version,
        folded=[MemoryId(id) for id in folded],
        versions=before,
        why=parts.text("why"),
        at=parts.moment("at"),
        undone_at=parts.maybe("undone_at", parts.moment),
    )


def _content(parts: Parts) -> str:
    content = parts.text("content")
    for problem in content_problems(content):
        raise BadJson(problem.what)
    return content


def _project(name: str) -> Project:
    try:
        return Project(name)
    except ValueError as error:
        raise BadJson("`project` must be a printable name, and not a long one") from error
