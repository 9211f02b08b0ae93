"""One merge, carried out and taken back: checked, written all or none, and brought to where search sees it.

Which memories are to be one is left to `consolidate`, what becomes of their links to the records.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backstory.actions.projection.now import project_now
from backstory.analysis.consolidation import Merge
from backstory.engine import Engine, Transaction
from backstory.errors import ContentRefused, InputError, NotFound, StaleVersion
from backstory.model.memory import Memory, MemoryId
from backstory.model.merge import MergeMade
from backstory.model.project import Project
from backstory.ranking.memories import passage_of


@dataclass(frozen=True, slots=True)
class Planned:
    """A merge that could be made, and the versions of the memories that it was planned for."""

    project: Project
    merge: Merge
    versions: Mapping[MemoryId, int]


@dataclass(frozen=True, slots=True)
class Done:
    """A merge that was made. `pending` says what search cannot see of it yet, and why."""

    planned: Planned
    made: MergeMade
    pending: Sequence[str]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A merge that was not made, and why."""

    planned: Planned
    why: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A merge that was undone: the memory that was kept, and those that are found again."""

    made: MergeMade
    kept: Memory
    restored: Sequence[MemoryId]


def carry_out(engine: Engine, planned: Planned) -> Done | LeftOut:
    """Make memories one, unless one of them is not what it was when this was planned."""
    merge = planned.merge
    with engine.records.writing() as records:
        parts = records.memories.find(planned.project, planned.versions)
        if why := _why_not(planned, parts):
            return LeftOut(planned, why)
        before = parts[merge.keep]
        after = _as_merged(before, merge)
        made = _made(after, planned)
        folded = [parts[id] for id in merge.fold]
        records.merges.make(made, before, after, passage_of(after), folded)
    try:
        return Done(planned, made, project_now(engine, merge.keep, *merge.fold))
    except ContentRefused as refusal:
        with engine.records.writing() as records:
            taken_back = take_back(records, planned.project, made.id)
        project_all(engine, [merge.keep, *taken_back.restored])
        return LeftOut(planned, f"search cannot take the text in: {refusal}")


def take_back(records: Transaction, project: Project, id: str) -> TakenBack:
    """Let all be as it was before a merge; raises `StaleVersion` if the kept memory was changed since."""
    made = records.merges.get(project, id)
    if made is None:
        raise NotFound(
            f"there is no merge {id} in this project",
            hint="list the merges: memory_consolidate with list_merges=true",
        )
    if made.undone_at:
        raise InputError(f"the merge {id} was undone already", hint="nothing is left to do")
    now, versions = _kept(records, made)
    then = versions[made.versions[made.kept]]
    folded = [each for each in _folded(records, made) if each.deleted_at]
    back = replace(then, version=now.version + 1, updated_at=datetime.now(UTC))
    again = [replace(each, deleted_at=None) for each in folded]
    records.merges.undo(made, now, (back, passage_of(back)), [(each, passage_of(each)) for each in again])
    return TakenBack(replace(made, undone_at=back.updated_at), back, [each.id for each in folded])


def project_all(engine: Engine, ids: Sequence[MemoryId]) -> Sequence[str]:
    """Let memories be found as they are now, which were found before; what has to wait, and why."""
    try:
        return project_now(engine, *ids)
    except ContentRefused as refusal:  # it was taken once, perhaps with another embedder
        return [f"found by its words alone: {refusal}"]


def _why_not(planned: Planned, parts: Mapping[str, Memory]) -> str:
    gone = [id for id in planned.versions if id not in parts]
    changed = [id for id, version in planned.versions.items() if id in parts and parts[id].version != version]
    told = [*(f"{id} was deleted" for id in gone), *(f"{id} was changed" for id in changed)]
    return f"{', '.join(told)} since this was planned" if told else ""


def _as_merged(before: Memory, merge: Merge) -> Memory:
    return replace(
        before,
        content=merge.content,
        metadata=merge.metadata,
        importance=merge.importance,
        version=before.version + 1,
        updated_at=datetime.now(UTC),
    )


def _made(after: Memory, planned: Planned) -> MergeMade:
    merge = planned.merge
    return MergeMade(
        id=str(uuid.uuid4()),
        project=after.project,
        kept=after.id,
        version=after.version,
        folded=list(merge.fold),
        versions={str(id): version for id, version in planned.versions.items()},
        why=merge.why,
        at=after.updated_at,
    )


def _kept(records: Transaction, made: MergeMade) -> tuple[Memory, Mapping[int, Memory]]:
    """The memory that a merge left, if it says what it said then, and all its versions."""
    kept = records.memories.get(made.project, made.kept)
    if kept is None or kept.deleted_at:
        raise StaleVersion(
            f"memory {made.kept}, into which the others were folded, was deleted or folded since",
            hint="restore it, or undo the merge that folded it, then undo this one",
        )
    if later := records.merges.after(made):
        raise StaleVersion(
            f"more was folded into memory {kept.id} since", hint=f"first undo {', then '.join(later)}"
        )
    versions = {each.version: each for each in (*records.memories.versions(kept.id), kept)}
    if _said(kept) != _said(versions[made.version]):
        raise StaleVersion(
            f"memory {kept.id} was changed since it was merged: version {made.version} is now {kept.version}",
            hint=(
                f"by hand: 'backstory memory restore' brings {', '.join(made.folded)} back, and"
                f" memory_history of {kept.id} shows what it said before"
            ),
        )
    return kept, versions


def _said(memory: Memory) -> tuple[object, ...]:
    return memory.content, dict(memory.metadata), memory.importance


def _folded(records: Transaction, made: MergeMade) -> list[Memory]:
    found = {id: records.memories.get(made.project, id) for id in made.folded}
    if gone := [id for id, memory in found.items() if memory is None]:
        raise NotFound(
            f"of the merge {made.id} some memories are gone for good: {', '.join(gone)}",
            hint="memory_history of the kept one shows what it was before",
        )
    return [memory for memory in found.values() if memory]
