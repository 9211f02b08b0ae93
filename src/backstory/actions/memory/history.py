"""What was done to a memory, and what it was before each change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from backstory.analysis.differences import FieldDiff as FieldDiff
from backstory.analysis.differences import difference
from backstory.engine import Engine, Transaction
from backstory.errors import InputError, NotFound
from backstory.model.memory import Memory
from backstory.model.project import Scope
from backstory.model.upkeep import Activity

#: What the audit trail calls it when an engine refused a change and it was taken back.
_REVERTED: Final = "reverted"


@dataclass(frozen=True, slots=True)
class Step:
    """Something that was done to a memory: to which version it led, and what it changed."""

    operation: str
    at: datetime
    version: int
    changes: Sequence[FieldDiff]
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class History:
    """A memory as it is now, deleted or not, and a page of what was done to it, newest first.

    `earlier` is how many steps lie before the page.
    """

    memory: Memory
    steps: Sequence[Step]
    earlier: int


def memory_history(
    engine: Engine, scope: Scope, id: str, *, limit: int = 10, before: int | None = None
) -> History:
    """What was done to a memory, newest first, up to the step number `before`, counted from the oldest.

    Steps are only ever added, so a page is the same whenever it is asked for.
    """
    if limit < 1 or (before is not None and before < 0):
        raise InputError("a page of history has at least one step", hint="use limit=10")
    with engine.records.reading() as records:
        memory = records.memories.get(scope, id)
        if memory is None:
            raise NotFound(
                f"there is no memory {id} in this project",
                hint="search for it, and use the id of a hit; if it is in another project, name that",
            )
        done = records.audit.of(memory.id)
        states = _states(records, memory)
    end = len(done) if before is None else min(before, len(done))
    start = max(0, end - limit)
    steps = [_step(done, place, states) for place in reversed(range(start, end))]
    return History(memory, steps, start)


def _states(records: Transaction, memory: Memory) -> Mapping[int, Memory]:
    """What a memory was in each of its versions."""
    return {each.version: each for each in (*records.memories.versions(memory.id), memory)}


def _step(done: Sequence[Activity], place: int, states: Mapping[int, Memory]) -> Step:
    each = done[place]
    return Step(each.operation, each.at, each.version, _changes(done, place, states), each.details)


def _changes(done: Sequence[Activity], place: int, states: Mapping[int, Memory]) -> Sequence[FieldDiff]:
    """What a step changed. Of a change that was taken back nothing is kept, so nothing can be told."""
    taken_back = done[place + 1 : place + 2] and done[place + 1].operation == _REVERTED
    before, after = states.get(done[place].version - 1), states.get(done[place].version)
    led_on = place > 0 and done[place - 1].version < done[place].version
    if taken_back or not led_on or before is None or after is None:
        return ()
    return [each for each in difference(before, after) if each.field != "deleted_at"]
