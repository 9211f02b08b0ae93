"""Changing what a memory says; what it said before is kept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backstory.actions.projection.now import project_now
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, InputError, StaleVersion
from backstory.model.memory import (
    Memory,
    MemoryChange,
    Problem,
    content_problems,
    importance_problems,
    json_problems,
)
from backstory.model.project import Project
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Updated:
    """The memory as it is kept now. `pending` says what search cannot see of it yet, and why."""

    memory: Memory
    pending: Sequence[str]


def update_memory(
    engine: Engine, project: Project, id: str, change: MemoryChange, *, expected_version: int | None = None
) -> Updated:
    """Put a new version in place of the present one, unless somebody else did so first."""
    for problem in _problems_of(change):
        raise InputError(problem.what, hint=problem.remedy)
    with engine.records.writing() as records:
        before = _present(records, project, id, expected_version)
        after = _next_version(before, change)
        records.memories.change(before, after, passage_of(after))
    try:
        pending = project_now(engine, id)
    except ContentRefused:
        with engine.records.writing() as records:
            records.memories.undo_change(before, passage_of(before))
        project_now(engine, id)
        raise
    return Updated(after, pending)


def _problems_of(change: MemoryChange) -> Iterator[Problem]:
    if change == MemoryChange():
        yield Problem("the update changes nothing", "give new content, metadata or importance")
    if change.content is not None:
        yield from content_problems(change.content)
    if change.metadata is not None:
        yield from json_problems(change.metadata)
    if change.importance is not None:
        yield from importance_problems(change.importance)


def _present(records: Transaction, project: Project, id: str, expected_version: int | None) -> Memory:
    memory = records.memories.live(project, id)
    if expected_version not in (None, memory.version):
        raise StaleVersion(
            f"memory {id} has version {memory.version} now, not {expected_version}",
            hint="read it again and decide whether your change still holds",
        )
    return memory


def _next_version(before: Memory, change: MemoryChange) -> Memory:
    return replace(
        before,
        content=before.content if change.content is None else change.content,
        metadata=before.metadata if change.metadata is None else change.metadata,
        importance=before.importance if change.importance is None else change.importance,
        version=before.version + 1,
        updated_at=datetime.now(UTC),
    )
