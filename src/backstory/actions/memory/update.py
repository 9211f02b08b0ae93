"""Changing what a memory says; what it said before is kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from backstory.actions.memory.conflicting import ConflictFound, conflicts_of
from backstory.actions.memory.ends import check_ends
from backstory.actions.memory.stale import stale
from backstory.actions.projection.now import project_now
from backstory.analysis.differences import difference
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, InputError
from backstory.model.memory import (
    Memory,
    MemoryChange,
    Problem,
    Relationship,
    content_problems,
    importance_problems,
    metadata_problems,
)
from backstory.model.project import Project
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Updated:
    """The memory as it is kept now, and what it conflicts with.

    `pending` says what search cannot see of it yet, `notes` how conflicts could not be looked for, and why.
    """

    memory: Memory
    pending: Sequence[str] = ()
    conflicts: Sequence[ConflictFound] = ()
    notes: Sequence[str] = ()


def update_memory(
    engine: Engine, project: Project, id: str, change: MemoryChange, *, expected_version: int | None = None
) -> Updated:
    """Put a new version in place of the present one, unless somebody else did so first.

    Where nothing would be different there is no new version, so asking again answers as the first time.
    """
    with engine.records.writing() as records:
        before = records.memories.live(project, id)
        after = _changed(records, before, change, expected_version)
        if after is not before:
            check_ends(records, project, change.relationships)
            details = {"linked": [_told(wish) for wish in change.relationships]}
            records.memories.change(
                before,
                after,
                passage_of(after),
                change.relationships,
                details=details if change.relationships else None,
            )
    try:
        pending = project_now(engine, id)
    except ContentRefused:
        _take_back(engine, before, after)
        raise
    seen = conflicts_of(engine, after)
    return Updated(after, pending, seen.found, seen.degraded)


def _changed(
    records: Transaction, before: Memory, change: MemoryChange, expected_version: int | None
) -> Memory:
    """The next version; the present one if there is nothing to change."""
    if expected_version not in (None, before.version):
        if _was_made_by(change, records, before, expected_version):
            return before
        raise stale(records, before, expected_version)
    after = _next_version(before, change)
    for problem in _problems_of(change, after):
        raise InputError(problem.what, hint=problem.remedy)
    return before if _says_the_same(before, after) and _is_linked(records, before, change) else after


def _was_made_by(change: MemoryChange, records: Transaction, now: Memory, expected_version: int) -> bool:
    """Whether the present version is what the change made of the expected one: it was asked for before."""
    if now.version != expected_version + 1 or not _is_linked(records, now, change):
        return False
    return any(
        _says_the_same(now, _next_version(each, change))
        for each in records.memories.versions(now.id)
        if each.version == expected_version
    )


def _problems_of(change: MemoryChange, after: Memory) -> Iterator[Problem]:
    """What is wrong with a change. Metadata that it leaves alone may be older than a rule that it breaks."""
    if replace(change, relationships=tuple(change.relationships)) == MemoryChange():
        yield Problem("the update changes nothing", "give new content, metadata, importance or relationships")
    if change.content is not None:
        yield from content_problems(change.content)
    if change.metadata is not None:
        yield from metadata_problems(after.type, after.metadata)
    if change.importance is not None:
        yield from importance_problems(change.importance)


def _next_version(before: Memory, change: MemoryChange) -> Memory:
    # A clock that was set back must not turn the order of versions around.
    now = max(datetime.now(UTC), before.updated_at + timedelta(microseconds=1))
    return replace(
        before,
        content=before.content if change.content is None else change.content,
        metadata=_patched(before.metadata, change.metadata or {}),
        importance=before.importance if change.importance is None else change.importance,
        version=before.version + 1,
        updated_at=now,
    )


def _patched(metadata: Mapping[str, object], patch: Mapping[str, object]) -> Mapping[str, object]:
    gone = {key for key, value in patch.items() if value is None}
    return {key: value for key, value in {**metadata, **patch}.items() if key not in gone}


def _says_the_same(one: Memory, other: Memory) -> bool:
    return not difference(one, replace(other, type=one.type, deleted_at=one.deleted_at))


def _is_linked(records: Transaction, memory: Memory, change: MemoryChange) -> bool:
    """Whether every link that a change asks for is there, not for the sake of a field or a merge alone."""
    if not change.relationships:
        return True
    asked_for = {(link.type, link.to_id) for link in records.links.asked_for_at([memory.id])}
    edges = records.links.edges_at([memory.id])
    there = {(edge.type, edge.end.id) for edge in edges if edge.start.id == memory.id}
    return all((wish.type, wish.to) in there & asked_for for wish in change.relationships)


def _told(wish: Relationship) -> str:
    return f"{wish.type} {wish.to}"


def _take_back(engine: Engine, before: Memory, after: Memory) -> None:
    """Undo a change, unless somebody else changed or deleted the memory since."""
    with engine.records.writing() as records:
        now = records.memories.get(before.project, before.id)
        if now and now.version == after.version and not now.deleted_at:
            records.memories.undo_change(before, passage_of(before))
    project_now(engine, before.id)
