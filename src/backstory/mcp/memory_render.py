"""Answers about writes and histories as text; each says all that the structured answer says."""

from collections.abc import Sequence

from backstory.mcp.budget import written
from backstory.mcp.memory_answers import FieldChanged, MemoriesAdded, MemoryHistory, MemoryUpdated, StepTold
from backstory.mcp.render import conflicts
from backstory.mcp.wording import every, fact, indented, lines, number, time


def updated(answer: MemoryUpdated) -> str:
    """A memory as it is now, and what it conflicts with."""
    return lines(
        f"{answer.type} {answer.id} has version {answer.version} now.",
        f"project: {answer.project}",
        f"updated: {time(answer.updated_at)}",
        f"importance: {answer.importance}",
        *([f"metadata: {written(answer.metadata)}"] if answer.metadata else []),
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *conflicts(answer.conflicts),
        "",
        answer.content,
    )


def added_all(answer: MemoriesAdded) -> str:
    """That memories are kept, each with its place in the batch."""
    return lines(
        f"Kept {number(len(answer.memories), 'memory', 'memories')}.",
        f"project: {answer.project}",
        f"created: {time(answer.created_at)}",
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *(
            lines(
                f"{each.index}: {each.type} {each.id}", *(f"  {line}" for line in conflicts(each.conflicts))
            )
            for each in answer.memories
        ),
    )


def history(answer: MemoryHistory) -> str:
    """What was done to a memory, newest first."""
    gone = f", deleted {time(answer.deleted_at)}" if answer.deleted_at else ""
    return lines(
        f"{answer.type} {answer.id}, version {answer.version}{gone}: {number(len(answer.steps), 'step')}",
        f"project: {answer.project}",
        *fact("next cursor", answer.next_cursor),
        *every("note", answer.notes),
        *(line for step in answer.steps for line in _step(step)),
    )


def _step(step: StepTold) -> Sequence[str]:
    return [
        "",
        f"{time(step.at)} {step.operation}, version {step.version}",
        *([f"  details: {written(step.details)}"] if step.details else []),
        *(line for change in step.changes or () for line in _change(change)),
    ]


def _change(change: FieldChanged) -> Sequence[str]:
    cut = f" (shortened: {', '.join(change.shortened)})" if change.shortened else ""
    parts = [("old", change.old), ("new", change.new), ("words", change.words)]
    return [
        f"  {change.mark} {change.field}{cut}",
        *(f"    {name}: {indented(_shown(value))}" for name, value in parts if value is not None),
    ]


def _shown(value: object) -> str:
    return value if isinstance(value, str) else written(value)
