"""What is told of memories that were changed or added together, and of what was done to one.

As in `answers`, what is None is left out. Making them fit is left to `memory_fitting`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backstory.actions.memory.adding import Added
from backstory.actions.memory.history import FieldDiff, History, Step
from backstory.actions.memory.marking import marked
from backstory.actions.memory.update import Updated
from backstory.mcp.answers import Answer, ConflictTold, Moment, conflicts_told, named


class MemoryUpdated(Answer):
    """A memory as it is now, and what it conflicts with."""

    id: str
    type: str
    project: str
    version: int
    content: str
    metadata: Mapping[str, Any] | None = None
    importance: float
    updated_at: Moment
    conflicts: Sequence[ConflictTold] | None = None
    pending: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Updated) -> "MemoryUpdated":
        """What is told of a memory that was changed."""
        memory = done.memory
        return cls(
            **named(memory),
            content=memory.content,
            metadata=memory.metadata or None,
            importance=memory.importance,
            updated_at=memory.updated_at,
            conflicts=conflicts_told(done.conflicts),
            pending=done.pending or None,
            notes=done.notes or None,
        )


class OneOfMany(Answer):
    """A memory that was added with others, and what it conflicts with."""

    index: int
    id: str
    type: str
    conflicts: Sequence[ConflictTold] | None = None


class MemoriesAdded(Answer):
    """Memories that were added together, in the order in which they were given."""

    project: str
    created_at: Moment
    memories: Sequence[OneOfMany]
    pending: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Sequence[Added]) -> "MemoriesAdded":
        """What is told of memories that were added; there is at least one."""
        memories = [each.memory for each in done]
        return cls(
            project=memories[0].project.name,
            created_at=memories[0].created_at,
            memories=[
                OneOfMany(
                    index=place,
                    id=each.memory.id,
                    type=each.memory.type,
                    conflicts=conflicts_told(each.conflicts),
                )
                for place, each in enumerate(done)
            ],
            pending=_once(each.pending for each in done),
            notes=_once(each.notes for each in done),
        )


class FieldChanged(Answer):
    """A field that a step changed. `words` shows the change of a text: [-what went-] and {+what came+}."""

    field: str
    mark: str
    old: Any | None = None
    new: Any | None = None
    words: str | None = None
    shortened: Sequence[str] | None = None

    @classmethod
    def of(cls, diff: FieldDiff) -> "FieldChanged":
        """What is told of a change. The new text follows from the old one and the words."""
        words = marked(diff.words) if diff.words else None
        return cls(
            field=diff.field, mark=diff.mark, old=diff.old, new=None if words else diff.new, words=words
        )


class StepTold(Answer):
    """Something that was done to a memory, and the version it led to."""

    operation: str
    at: Moment
    version: int
    changes: Sequence[FieldChanged] | None = None
    details: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, step: Step) -> "StepTold":
        """What is told of a step."""
        return cls(
            operation=step.operation,
            at=step.at,
            version=step.version,
            changes=[FieldChanged.of(each) for each in step.changes] or None,
            details=step.details or None,
        )


class MemoryHistory(Answer):
    """What was done to a memory, newest first."""

    id: str
    type: str
    project: str
    version: int
    deleted_at: Moment | None = None
    steps: Sequence[StepTold]
    next_cursor: str | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, history: History) -> "MemoryHistory":
        """A page of the history, whole."""
        memory = history.memory
        steps = [StepTold.of(each) for each in history.steps]
        return cls(**named(memory), deleted_at=memory.deleted_at, steps=steps)


def _once(told: Iterable[Sequence[str]]) -> Sequence[str] | None:
    return list(dict.fromkeys(each for some in told for each in some)) or None
