"""Reading documents in: the requirements and decisions written in them become memories.

Done again it changes nothing but what the documents changed. All changes of a document are one write. Which
files are documents is left to `files`, what they say to `analysis.documents`, and what is to be
done about it to `plans`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backstory.actions.documents.files import (
    DocumentText,
    PassedOver,
    Place,
    find_documents,
    read_document,
)
from backstory.actions.documents.plans import Outcome, Plan, Plans, ProblemIn, Step
from backstory.actions.projection.now import BATCHES, project_now
from backstory.analysis.documents.reading import parsed
from backstory.analysis.documents.values import ParsedDocument
from backstory.engine import Engine, Transaction, Work
from backstory.errors import ContentRefused
from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.ranking.memories import passage_of

#: Memories that are projected at once: others who write wait no longer than for the worker.
_TOGETHER: Final = BATCHES[Index.MEMORIES]


@dataclass(frozen=True, slots=True)
class DocumentsIngested:
    """What reading in came to. `pending` says what search cannot see yet, and why."""

    documents: int
    counts: Mapping[Outcome, int]
    steps: Sequence[Step]  # but for what is unchanged
    problems: Sequence[ProblemIn]
    passed_over: Sequence[PassedOver]
    pending: Sequence[str]


def ingest_documents(
    engine: Engine,
    project: Project,
    path: Path,
    work: Work,
    *,
    base: Path | None = None,
    dry_run: bool = False,
) -> DocumentsIngested:
    """Keep what a document, or all documents below a folder, say; a dry run tells what it would do.

    `path` has no links in it. `base` is the folder of the caller: documents are called by where they lie in
    its repository.
    """
    library = _Library(Place.of(path, base))
    library.read(work)
    run = _Run(engine, Plans(project, library.holds), dry_run=dry_run)
    for done, document in enumerate(library.documents):
        work.step(done, len(library.documents), f"keeping {document.path}")
        run.take(document)
    run.let_go(library.place.beginning)
    pending = () if dry_run else run.project(work)
    counts = Counter(step.outcome for step in run.steps)
    return DocumentsIngested(
        documents=len(library.documents),
        counts={outcome: counts[outcome] for outcome in Outcome},
        steps=[step for step in run.steps if step.outcome is not Outcome.UNCHANGED],
        problems=[*library.problems, *run.problems],
        passed_over=library.passed_over,
        pending=pending,
    )


class _Library:
    """The documents at a place, all read before any is kept: what left one may have moved to another."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.documents: list[ParsedDocument] = []
        self.problems: list[ProblemIn] = []
        self.passed_over: list[PassedOver] = []
        self._keys: dict[str, set[str]] = {}

    def read(self, work: Work) -> None:
        """Read them all."""
        found = find_documents(self.place, work)
        self.passed_over += found.passed_over
        for done, file in enumerate(found.files):
            work.step(done, len(found.files), f"reading {file.name}")
            match read_document(file):
                case PassedOver() as passed_over:
                    self.passed_over.append(passed_over)
                case DocumentText(text, encoding):
                    self._take(parsed(file.name, text), encoding)

    def holds(self, document: str, key: str) -> bool:
        """Whether a document says what has this key. One that was not read is taken to, if it is there."""
        if document in self._keys:
            return key in self._keys[document]
        return not self.place.is_gone(document)

    def _take(self, document: ParsedDocument, encoding: str | None) -> None:
        self.documents.append(document)
        self._keys[document.path] = {item.key for item in (*document.requirements, *document.designs)}
        if encoding:
            self.problems.append(ProblemIn(document.path, 1, f"it is not UTF-8, and was read as {encoding}"))
        self.problems += [ProblemIn(document.path, each.line, each.what) for each in document.problems]


class _Run:
    """One carrying out of plans, and what it came to."""

    def __init__(self, engine: Engine, plans: Plans, *, dry_run: bool) -> None:
        self._engine = engine
        self._plans = plans
        self._dry_run = dry_run
        self.steps: list[Step] = []
        self.problems: list[ProblemIn] = []

    def take(self, document: ParsedDocument) -> None:
        """Keep what a document says."""
        self._do(lambda records: self._plans.for_document(records, document))

    def let_go(self, beginning: str) -> None:
        """Mark what no document says any more."""
        self._do(lambda records: self._plans.for_gone(records, beginning))

    def project(self, work: Work) -> Sequence[str]:
        """Let search find what was written; says what has to wait. What an engine refuses is taken back."""
        written = [step for step in self.steps if step.writes]
        for done in range(0, len(written), _TOGETHER):
            work.step(done, len(written), f"{done} of {len(written)} memories can be found")
            if pending := self._project(written[done : done + _TOGETHER]):
                return pending
        return ()

    def _project(self, steps: Sequence[Step]) -> Sequence[str]:
        try:
            return project_now(self._engine, *(step.memory.id for step in steps))
        except ContentRefused as refusal:
            if len(steps) == 1:
                self._take_back(steps[0], str(refusal))
                return ()
        # One bad text must not hold up the others.
        return next(filter(None, (self._project([step]) for step in steps)), ())

    def _do(self, planned: Callable[[Transaction], Plan]) -> None:
        with self._engine.records.reading() as records:
            plan = planned(records)
        if not self._dry_run and any(step.writes for step in plan.steps):
            with self._engine.records.writing() as records:
                plan = planned(records)  # somebody may have written meanwhile
                _keep(records, plan.steps)
        self.steps += plan.steps
        self.problems += plan.problems
        self._plans.note(plan)

    def _take_back(self, step: Step, why: str) -> None:
        with self._engine.records.writing() as records:
            if step.before:
                records.memories.undo_change(step.before, passage_of(step.before))
            else:
                records.memories.undo_add(step.memory)
        self.steps.remove(step)
        what = f"{step.memory.title!r} was refused: {why}"
        self.problems.append(ProblemIn(step.document, step.line or 1, what))


def _keep(records: Transaction, steps: Sequence[Step]) -> None:
    new = [step.memory for step in steps if step.outcome is Outcome.ADDED]
    if new:
        records.memories.add_all([(memory, passage_of(memory), ()) for memory in new])
    for step in steps:
        if step.before:
            details = {"document": step.document}
            records.memories.change(step.before, step.memory, passage_of(step.memory), details=details)
