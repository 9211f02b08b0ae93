"""Memories, their versions, merges and history as rows, and rows as values. Reads and writes nothing."""

from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Row, func, select

from backstory.model.memory import Memory, MemoryId
from backstory.model.merge import MergeMade
from backstory.model.project import Project
from backstory.model.upkeep import Activity
from backstory.records import schema

_MEMORIES: Final = schema.memories
_USE: Final = schema.memory_use

#: Memories with their texts and how they were used, as `memory_of` takes them.
MEMORY_ROWS: Final = (
    select(
        _MEMORIES,
        schema.passages.c.text,
        func.coalesce(_USE.c.access_count, 0).label("uses"),
        _USE.c.last_used_at,
    )
    .join(schema.passages, schema.passages.c.id == _MEMORIES.c.id)
    .join(_USE, _USE.c.memory_id == _MEMORIES.c.id, isouter=True)
)


def memory_of(row: Row[Any]) -> Memory:
    """The memory in a row of `MEMORY_ROWS`."""
    return Memory(
        id=MemoryId(row.id),
        project=Project(row.project),
        type=row.type,
        content=row.text,
        metadata=row.metadata,
        importance=row.importance,
        version=row.version,
        created_at=row.created_at,
        updated_at=row.updated_at,
        deleted_at=row.deleted_at,
        access_count=row.uses,
        last_used_at=row.last_used_at,
    )


def version_of(now: Memory, row: Row[Any]) -> Memory:
    """What a memory was in the version of a row."""
    return replace(
        now,
        content=row.content,
        metadata=row.metadata,
        importance=row.importance,
        version=row.version,
        updated_at=row.written_at,
        deleted_at=None,
    )


def version_columns(version: Memory) -> dict[str, Any]:
    """The row of a version that is not the present one any more."""
    return {
        "memory_id": version.id,
        "version": version.version,
        "content": version.content,
        "metadata": dict(version.metadata),
        "importance": version.importance,
        "written_at": version.updated_at,
    }


def activity_of(row: Row[Any]) -> Activity:
    """The entry of the audit trail in a row."""
    return Activity(row.subject, row.project, row.operation, row.version, row.at, row.details or {})


def merge_of(row: Row[Any]) -> MergeMade:
    """The merge in a row."""
    return MergeMade(
        id=row.id,
        project=Project(row.project),
        kept=MemoryId(row.kept_id),
        version=row.version,
        folded=[MemoryId(id) for id in row.folded],
        versions=row.before,
        why=row.why,
        at=row.at,
        undone_at=row.undone_at,
    )


def merge_columns(merge: MergeMade) -> dict[str, Any]:
    """The row of a merge."""
    return {
        "id": merge.id,
        "project": merge.project.name,
        "kept_id": merge.kept,
        "version": merge.version,
        "folded": list(merge.folded),
        "before": dict(merge.versions),
        "why": merge.why,
        "at": merge.at,
        "undone_at": merge.undone_at,
    }
