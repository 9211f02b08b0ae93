"""What is told of documents that were read in: the answer, and the same as text."""

from collections.abc import Sequence
from typing import Final

from backstory.actions.documents.files import PassedOver
from backstory.actions.documents.ingest import DocumentsIngested
from backstory.actions.documents.plans import Outcome, ProblemIn, Step
from backstory.mcp.answers import Answer
from backstory.mcp.budget import fitting
from backstory.mcp.wording import every, lines, number
from backstory.model.memory import Memory

#: Tokens for each list. Together they stay below what an agent sees whole.
_CHANGES: Final = 5_000
_PROBLEMS: Final = 3_000
_SKIPPED: Final = 1_500


class DocumentMemory(Answer):
    """A memory that a document made, changed or let go. One that is only planned has no id yet."""

    outcome: str
    id: str | None = None
    type: str
    title: str
    version: int
    document: str
    line: int | None = None

    @classmethod
    def of(cls, step: Step, *, dry_run: bool) -> "DocumentMemory":
        """What is told of a memory."""
        planned = dry_run and step.outcome is Outcome.ADDED
        return cls(
            outcome=step.outcome,
            id=None if planned else step.memory.id,
            type=step.memory.type,
            title=_titled(step.memory),
            version=step.memory.version,
            document=step.document,
            line=step.line,
        )


class DocumentTrouble(Answer):
    """Something in a document that was not understood, or not taken as it stands."""

    document: str
    line: int
    what: str

    @classmethod
    def of(cls, problem: ProblemIn) -> "DocumentTrouble":
        """What is told of a problem."""
        return cls(document=problem.document, line=problem.line, what=problem.what)


class DocumentSkipped(Answer):
    """A file or folder that was not read."""

    name: str
    why: str

    @classmethod
    def of(cls, passed_over: PassedOver) -> "DocumentSkipped":
        """What is told of it."""
        return cls(name=passed_over.name, why=passed_over.why)


class DocumentsRead(Answer):
    """What reading documents in came to, or would."""

    project: str
    dry_run: bool
    documents: int
    added: int
    updated: int
    unchanged: int
    gone: int
    left: int
    changes: Sequence[DocumentMemory] | None = None
    problems: Sequence[DocumentTrouble] | None = None
    skipped: Sequence[DocumentSkipped] | None = None
    pending: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: DocumentsIngested, project: str, *, dry_run: bool) -> "DocumentsRead":
        """What is told of a run: of long lists, as much as fits."""
        changes = [DocumentMemory.of(step, dry_run=dry_run) for step in done.steps]
        problems = [DocumentTrouble.of(each) for each in done.problems]
        skipped = [DocumentSkipped.of(each) for each in done.passed_over]
        notes = [*_cut("changes", changes, _CHANGES), *_cut("problems", problems, _PROBLEMS)]
        return cls(
            project=project,
            dry_run=dry_run,
            documents=done.documents,
            added=done.counts[Outcome.ADDED],
            updated=done.counts[Outcome.UPDATED],
            unchanged=done.counts[Outcome.UNCHANGED],
            gone=done.counts[Outcome.GONE],
            left=done.counts[Outcome.LEFT],
            changes=fitting(changes, _CHANGES) or None,
            problems=fitting(problems, _PROBLEMS) or None,
            skipped=fitting(skipped, _SKIPPED) or None,
            pending=done.pending or None,
            notes=[*notes, *_cut("skipped", skipped, _SKIPPED)] or None,
        )


def read(answer: DocumentsRead) -> str:
    """What was done, then what was not understood, then what was not read."""
    would = "Dry run, nothing is written: " if answer.dry_run else ""
    return lines(
        f"{would}{number(answer.documents, 'document')}: {answer.added} added, {answer.updated} updated,"
        f" {answer.unchanged} unchanged, {answer.gone} gone, {answer.left} left alone.",
        f"project: {answer.project}",
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *(
            f"{each.outcome}: {_named(each)}, version {each.version}, {_place(each)}: {each.title}"
            for each in answer.changes or ()
        ),
        *(f"problem: {each.document}, line {each.line}: {each.what}" for each in answer.problems or ()),
        *(f"skipped: {each.name}: {each.why}" for each in answer.skipped or ()),
    )


def _titled(memory: Memory) -> str:
    """What a memory is called in its document, and its title."""
    named = memory.metadata.get("requirement_id") or memory.metadata.get("adr_id")
    return f"{named}: {memory.title}" if named else memory.title


def _named(told: DocumentMemory) -> str:
    return f"{told.type} {told.id}" if told.id else told.type


def _place(told: DocumentMemory) -> str:
    return told.document if told.line is None else f"{told.document}, line {told.line}"


def _cut(what: str, items: Sequence[Answer], most: int) -> Sequence[str]:
    shown = len(fitting(items, most))
    return [f"{shown} of {len(items)} {what} are shown"] if shown < len(items) else []
