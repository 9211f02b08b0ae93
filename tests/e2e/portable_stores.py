"""Stores that have been lived in: memories added, changed, linked, used, deleted, restored and merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.merge import MergeMade
from backstory.model.project import ALL_PROJECTS, Project
from backstory.ranking.memories import passage_of
from backstory.records.records import Records, Transaction

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=2),
    max_leaves=4,
)
names = st.lists(st.sampled_from(["orders", "payments", "REQ-A-1"]), max_size=2)
kinds = st.one_of(
    st.tuples(
        st.just("component"),
        st.fixed_dictionaries(
            {"name": st.sampled_from(["orders", "payments"]), "dependencies": names, "dependents": names},
            optional={"notes": values},
        ),
    ),
    st.tuples(
        st.just("requirement"),
        st.fixed_dictionaries({"requirement_id": st.just("REQ-A-1"), "related_requirements": names}),
    ),
    st.tuples(st.just("design"), st.fixed_dictionaries({}, optional={"title": texts, "notes": values})),
)


@dataclass(frozen=True)
class Step:
    """Something that happens in a store, to one memory or to two."""

    verb: str
    one: int
    other: int
    id: UUID
    project: str
    kind: tuple[str, Mapping[str, Any]]
    content: str
    importance: float


VERBS = ["add", "add", "add", "change", "link", "use", "delete", "restore", "merge", "undo"]
lives = st.lists(
    st.builds(
        Step,
        st.sampled_from(VERBS),
        st.integers(0, 9),
        st.integers(0, 9),
        st.uuids(version=4),
        st.sampled_from(["shop", "bank"]),
        kinds,
        texts.filter(str.strip),
        st.floats(0, 1),
    ),
    min_size=1,
    max_size=16,
)


def live(records: Records, steps: Sequence[Step]) -> None:
    """Let all of it happen, one thing after the other; what cannot be done is left out."""
    now = BEGINNING
    ids: list[MemoryId] = []
    merges: list[tuple[Project, str]] = []
    for step in steps:
        now += timedelta(microseconds=1 + step.one)
        with records.writing() as store:
            memories = [each for id in ids if (each := store.memories.get(ALL_PROJECTS, id))]
            if step.verb == "add":
                ids.append(_add(store, step, now))
            elif step.verb == "undo" and merges:
                _undo(store, *merges.pop(), now)
            elif memories:
                one, other = memories[step.one % len(memories)], memories[step.other % len(memories)]
                if made := _happen(store, step, one, other, now):
                    merges.append((one.project, made))


def _add(store: Transaction, step: Step, now: datetime) -> MemoryId:
    type_, metadata = step.kind
    id, project = MemoryId(str(step.id)), Project(step.project)
    memory = Memory(id, project, type_, step.content, metadata, step.importance, 1, now, now)
    if store.memories.get(ALL_PROJECTS, id) is None:
        store.memories.add(memory, passage_of(memory))
    return id


def _happen(store: Transaction, step: Step, one: Memory, other: Memory, now: datetime) -> str | None:
    both = one.id != other.id and one.project == other.project and not (one.deleted_at or other.deleted_at)
    after = replace(one, content=step.content, version=one.version + 1, updated_at=now)
    match step.verb:
        case "change" if not one.deleted_at:
            metadata = {**one.metadata, **(step.kind[1] if step.kind[0] == one.type else {})}
            after = replace(after, metadata=metadata, importance=step.importance)
            store.memories.change(one, after, passage_of(after))
        case "link" if both:
            wish = Relationship(RelationshipType.DEPENDS_ON, other.id)
            store.memories.change(one, after, passage_of(after), [wish])
        case "use":
            store.memories.note_uses({one.id: 1 + step.other}, now)
        case "delete" if not one.deleted_at:
            store.memories.delete(one, now)
        case "restore" if one.deleted_at:
            back = replace(one, deleted_at=None)
            store.memories.restore(back, passage_of(back), now)
        case "merge" if both:
            versions: dict[str, int] = {one.id: one.version, other.id: other.version}
            made = MergeMade(
                str(step.id), one.project, one.id, after.version, [other.id], versions, "alike", now
            )
            store.merges.make(made, one, after, passage_of(after), [other])
            return made.id
    return None


def _undo(store: Transaction, project: Project, id: str, now: datetime) -> None:
    made = store.merges.get(project, id)
    assert made
    kept = store.memories.get(project, made.kept)
    folded = [each for id in made.folded if (each := store.memories.get(project, id)) and each.deleted_at]
    if kept is None or kept.version != made.version or kept.deleted_at:
        return
    then = next(each for each in store.memories.versions(kept.id) if each.version == made.versions[kept.id])
    back = replace(then, version=kept.version + 1, updated_at=now)
    again = [replace(each, deleted_at=None) for each in folded]
    store.merges.undo(made, kept, (back, passage_of(back)), [(each, passage_of(each)) for each in again])
