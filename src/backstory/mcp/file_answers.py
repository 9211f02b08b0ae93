"""What is answered about files of memories, in both forms."""

from collections.abc import Mapping, Sequence

from backstory.actions.portable.export_memories import Exported
from backstory.actions.portable.import_memories import Imported, Outcome
from backstory.mcp.answers import Answer
from backstory.mcp.wording import counts, every, lines, number


class MemoriesExported(Answer):
    """Where an export is, and what it holds."""

    path: str
    memories: int
    deleted: int
    versions: int
    links: int
    size_bytes: int

    @classmethod
    def of(cls, done: Exported) -> "MemoriesExported":
        """What is told of an export."""
        return cls(
            path=str(done.path),
            memories=done.memories,
            deleted=done.deleted,
            versions=done.versions,
            links=done.links,
            size_bytes=done.size_bytes,
        )


class MemoriesImported(Answer):
    """What became of the memories of a file."""

    path: str
    memories: int
    outcomes: Mapping[str, int]
    links_left_out: int | None = None
    warnings: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Imported) -> "MemoriesImported":
        """What is told of an import."""
        more = done.warning_count - len(done.warnings)
        return cls(
            path=str(done.path),
            memories=done.memories,
            outcomes={each.value: done.outcomes[each] for each in Outcome},
            links_left_out=done.links_left_out or None,
            warnings=list(done.warnings) or None,
            notes=[f"{number(more, 'more warning')} of this kind"] if more else None,
        )


def exported(answer: MemoriesExported) -> str:
    """Where the file is, and what is in it."""
    return lines(
        f"Exported to {answer.path} ({answer.size_bytes} bytes).",
        f"memories: {answer.memories}, {answer.deleted} of them deleted; older versions: {answer.versions};"
        f" links: {answer.links}",
    )


def imported(answer: MemoriesImported) -> str:
    """What became of the memories, and what could not be taken along."""
    nowhere = answer.links_left_out
    return lines(
        f"Imported from {answer.path}.",
        f"memories: {answer.memories} ({counts(answer.outcomes)})",
        *([f"links left out, because their other end is not here: {nowhere}"] if nowhere else []),
        *every("warning", answer.warnings),
        *every("note", answer.notes),
    )
