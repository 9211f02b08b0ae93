"""What is to be done with memories, so that they say what documents say.

Nothing is written here. A plan is made of what the records say at one moment, and made anew by whoever
writes, in the same transaction.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from backstory.actions.documents.items import GONE, KEY, first_version, gone_version, next_version
from backstory.actions.documents.matching import Contested, Holds, Kept
from backstory.analysis.documents.values import ParsedDocument, ParsedItem
from backstory.engine import Transaction
from backstory.model.memory import Memory, content_problems, metadata_problems
from backstory.model.project import Project


class Outcome(StrEnum):
    """What becomes of something that is or was in a document."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    GONE = "gone"  # the document does not say it any more; the memory is kept, and marked
    LEFT = "left"  # somebody deleted the memory, or merged it into another


@dataclass(frozen=True, slots=True)
class Step:
    """One memory as it is to be, and where in which document it stands.

    `before` is what it was, if it is to change.
    """

    outcome: Outcome
    document: str
    line: int | None
    memory: Memory
    before: Memory | None = None

    @property
    def writes(self) -> bool:
        """Whether something has to be written."""
        return self.outcome is Outcome.ADDED or self.before is not None


@dataclass(frozen=True, slots=True)
class ProblemIn:
    """Something in a document that was not understood, or not taken as it stands."""

    document: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what cannot be."""

    steps: list[Step] = field(default_factory=list)
    problems: list[ProblemIn] = field(default_factory=list)


class Plans:
    """Plans for the documents of one run, each of which knows those before it."""

    def __init__(self, project: Project, holds: Holds) -> None:
        self._project = project
        self._holds = holds
        #: The memories and the ids of requirements that were met, each with its document.
        self._met: dict[str, str] = {}

    def for_document(self, records: Transaction, document: ParsedDocument) -> Plan:
        """What to do about all that a document says."""
        items, plan = [*document.requirements, *document.designs], Plan()
        kept = Kept(records, self._project, items)
        for item in items:
            step = self._step(kept, item, document.path)
            if isinstance(step, Step):
                plan.steps.append(step)
            else:
                plan.problems.append(step)
        return plan

    def for_gone(self, records: Transaction, beginning: str) -> Plan:
        """What to do about memories whose keys begin so, and which no document says any more."""
        plan = Plan()
        for key, id in records.names.beginning(self._project, beginning):
            document, mark, _ = key.rpartition("#")
            if not mark or id in self._met or self._holds(document, key):
                continue
            memory = records.memories.get(self._project, id)
            if memory and _is_missed(memory, key):
                after = gone_version(memory, datetime.now(UTC))
                plan.steps.append(Step(Outcome.GONE, document, None, after, memory))
        return plan

    def note(self, plan: Plan) -> None:
        """Know what was met in a plan."""
        self._met |= {name: step.document for step in plan.steps for name in _names(step.memory)}

    def _step(self, kept: Kept, item: ParsedItem, document: str) -> Step | ProblemIn:
        line, now = item.lines.first, datetime.now(UTC)
        known = self._known(kept, item)
        if isinstance(known, Contested):
            what = f"{item.id} is kept as {known.document} says it; one id is for one requirement"
            return ProblemIn(document, line, what)
        if known is None:
            new = first_version(self._project, item, now)
            return _checked(Step(Outcome.ADDED, document, line, new), item)
        if known.deleted_at:
            return Step(Outcome.LEFT, document, line, known)
        after = next_version(known, item, now)
        if after is None:
            return Step(Outcome.UNCHANGED, document, line, known)
        return _checked(Step(Outcome.UPDATED, document, line, after, known), item)

    def _known(self, kept: Kept, item: ParsedItem) -> Memory | Contested | None:
        """What an item is, unless another document of this run was before it."""
        if item.type == "requirement" and item.id in self._met:
            return Contested(self._met[item.id])
        known = kept.match(item, self._holds)
        return None if isinstance(known, Memory) and known.id in self._met else known


def _checked(step: Step, item: ParsedItem) -> Step | ProblemIn:
    memory = step.memory
    for problem in (*content_problems(memory.content), *metadata_problems(memory.type, memory.metadata)):
        return ProblemIn(step.document, item.lines.first, f"{item.id} cannot be kept: {problem.what}")
    return step


def _is_missed(memory: Memory, key: str) -> bool:
    known = memory.metadata
    return memory.deleted_at is None and known.get(KEY) == key and not known.get(GONE)


def _names(memory: Memory) -> Iterator[str]:
    yield memory.id
    if memory.type == "requirement":
        yield str(memory.metadata["requirement_id"])
