"""Reading memories in from a file that an export wrote.

Nothing is written before the whole file was looked at. Then each part of it is one write: who stops in
between and begins again goes on from there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from backstory.actions.portable.files import Line, in_parts, lines, opened, told_memories
from backstory.actions.portable.import_plan import Plan, Wish, planned, says_the_same
from backstory.actions.portable.json_parts import BadJson
from backstory.engine import Engine, Transaction, Work
from backstory.errors import InputError
from backstory.model.memory import Memory
from backstory.model.portable import OnConflict, OwnLink, WholeMemory
from backstory.ranking.memories import passage_of

#: What the audit trail calls it when a memory was overwritten.
IMPORTED: Final = "imported"


class Outcome(StrEnum):
    """What became of a memory of the file."""

    ADDED = "added"
    PRESENT = "present"
    SKIPPED = "skipped"
    OVERWRITTEN = "overwritten"
    COPIED = "copied"


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file. `links_left_out` lead to memories that are neither in it nor in the store."""

    path: Path
    memories: int
    outcomes: Counter[Outcome]
    links_left_out: int
    warnings: Sequence[str]
    warning_count: int


def import_memories(engine: Engine, path: Path, wish: Wish, work: Work) -> Imported:
    """Keep the memories of a file with their versions, links and history; raises if it is not in order.

    They are found by words at once, and by meaning as soon as the worker has come to them.
    """
    outcomes: Counter[Outcome] = Counter()
    left_out = 0
    with opened(path) as file:
        plan = planned(engine, file, wish, work)
        file.seek(0)
        told_memories(file)
        for part in in_parts(lines(file)):
            wholes = [_whole(plan, line) for line in part]
            with engine.records.writing() as records:
                left_out += _put(records, plan, wholes, outcomes)
            work.step(plan.memories + outcomes.total(), 2 * plan.memories, "importing memories")
    engine.bell.ring()
    return Imported(path, plan.memories, outcomes, left_out, plan.warnings.told, plan.warnings.count)


def _put(records: Transaction, plan: Plan, wholes: Sequence[WholeMemory], outcomes: Counter[Outcome]) -> int:
    """Write some memories; how many of their links lead nowhere."""
    kept = records.portable.kept(whole.memory.id for whole in wholes)
    became = {whole.memory.id: _outcome(plan, whole.memory, kept.get(whole.memory.id)) for whole in wholes}
    outcomes.update(became.values())
    new = [whole for whole in wholes if became[whole.memory.id] in (Outcome.ADDED, Outcome.COPIED)]
    records.portable.add_all([(whole, passage_of(whole.memory)) for whole in new])
    for whole in wholes:
        if became[whole.memory.id] is Outcome.OVERWRITTEN:
            _overwrite(records, kept[whole.memory.id], whole.memory)
    told = [whole for whole in wholes if became[whole.memory.id] is not Outcome.SKIPPED]
    links = [(whole.memory, link) for whole in told for link in whole.links]
    leading = list(_leading_somewhere(records, plan, links))
    records.portable.link_all(leading)
    return len(links) - len(leading)


def _whole(plan: Plan, line: Line) -> WholeMemory:
    try:
        return plan.whole(line)
    except BadJson as problem:
        raise InputError(
            f"line {line.number}: {problem}; the file was changed while it was read in",
            hint="what was imported is kept; run it again when nobody writes to the file",
        ) from problem


def _outcome(plan: Plan, new: Memory, kept: Memory | None) -> Outcome:
    if kept is None:
        return Outcome.COPIED if new.id in plan.copies else Outcome.ADDED
    if says_the_same(kept, new):
        return Outcome.PRESENT
    match plan.wish.on_conflict:
        case OnConflict.SKIP:
            return Outcome.SKIPPED
        case OnConflict.OVERWRITE if (kept.project, kept.type) == (new.project, new.type):
            return Outcome.OVERWRITTEN
        case OnConflict.KEEP_BOTH if new.id in plan.copies:  # it was read in before, and changed since
            return Outcome.SKIPPED
        case _:
            raise InputError(
                f"memory {new.id} was changed while the file was read in",
                hint="what was imported is kept; run it again to go on",
            )


def _overwrite(records: Transaction, kept: Memory, new: Memory) -> None:
    """Put what a memory of the file says in place of what is there, as its next version."""
    now = datetime.now(UTC)
    if kept.deleted_at:  # it may be folded: whoever names it is to be led to it again
        kept = replace(kept, deleted_at=None)
        records.merges.bring_back(kept, passage_of(kept), now)
    after = replace(
        kept,
        content=new.content,
        metadata=new.metadata,
        importance=new.importance,
        version=kept.version + 1,
        updated_at=now,
    )
    records.memories.change(
        kept, after, passage_of(after), operation=IMPORTED, details={"version": new.version}
    )
    if new.deleted_at:
        records.memories.delete(after, now)


def _leading_somewhere(
    records: Transaction, plan: Plan, links: Sequence[tuple[Memory, OwnLink]]
) -> Iterator[tuple[Memory, OwnLink]]:
    """Those of the links that have both ends in the project of their owner."""
    elsewhere = {end for _, link in links for end in (link.start, link.end) if end not in plan.places}
    places = {id: memory.project.name for id, memory in records.portable.kept(elsewhere).items()}
    for owner, link in links:
        ends = (plan.places.get(end) or places.get(end) for end in (link.start, link.end))
        if all(end == owner.project.name for end in ends):
            yield owner, link
