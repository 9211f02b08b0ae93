"""Whom the fields of memories name, and the links that come of it."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.project import Project
from backstory.ranking.memories import passage_of
from backstory.records.records import Records

SHOP, BANK = Project("shop"), Project("bank")

Links = set[tuple[str, str, str]]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "backstory.db") as opened:
        yield opened


def memory(type_: str, project: Project = SHOP, **metadata: object) -> Memory:
    now = datetime.now(UTC)
    return Memory(MemoryId(str(uuid.uuid4())), project, type_, "Something.", metadata, 0.5, 1, now, now)


def requirement(number: int, project: Project = SHOP, **metadata: object) -> Memory:
    return memory("requirement", project, requirement_id=f"REQ-SHOP-{number}", **metadata)


def keep(records: Records, *new: Memory) -> None:
    with records.writing() as transaction:
        transaction.memories.add_all([(each, passage_of(each), ()) for each in new])


def change(records: Records, before: Memory, metadata: Mapping[str, object]) -> Memory:
    after = replace(
        before,
        metadata=metadata,
        version=before.version + 1,
        updated_at=before.updated_at + timedelta(seconds=1),
    )
    with records.writing() as transaction:
        transaction.memories.change(before, after, passage_of(after))
    return after


def links_at(records: Records, *memories: Memory) -> Links:
    with records.reading() as transaction:
        edges = transaction.links.edges_at([each.id for each in memories])
    return {(edge.start.id, edge.type.value, edge.end.id) for edge in edges}


def test_a_field_links_a_memory_to_whom_it_names(records: Records) -> None:
    wanted, other = requirement(1), requirement(2)
    design = memory("design", related_requirements=["REQ-SHOP-1", other.id])

    keep(records, wanted, other, design)

    assert links_at(records, design) == {
        (design.id, "RELATES_TO", wanted.id),
        (design.id, "RELATES_TO", other.id),
    }


def test_a_field_may_be_read_the_other_way_round(records: Records) -> None:
    payments = memory("component", name="payments")
    wanted = requirement(1, implementing_components=["payments"])

    keep(records, wanted, payments)

    assert links_at(records, wanted) == {(payments.id, "IMPLEMENTS_REQ", wanted.id)}


def test_a_name_that_nobody_has_becomes_a_link_when_somebody_does(records: Records) -> None:
    design = memory("design", related_requirements=["REQ-SHOP-1"])
    keep(records, design)
    assert links_at(records, design) == set()
    with records.reading() as transaction:
        assert transaction.references.named_in(design.id) == {"related_requirements": ["REQ-SHOP-1"]}

    wanted = requirement(1)
    keep(records, wanted)

    assert links_at(records, design) == {(design.id, "RELATES_TO", wanted.id)}


def test_names_are_those_of_one_project(records: Records) -> None:
    design = memory("design", related_requirements=["REQ-SHOP-1"])

    keep(records, design, requirement(1, BANK))

    assert links_at(records, design) == set()


def test_links_follow_when_a_memory_takes_another_name(records: Records) -> None:
    wanted, design = requirement(1), memory("design", related_requirements=["REQ-SHOP-1"])
    other = memory("design", related_requirements=["REQ-SHOP-2"])
    keep(records, wanted, design, other)

    change(records, wanted, {"requirement_id": "REQ-SHOP-2"})

    assert links_at(records, wanted) == {(other.id, "RELATES_TO", wanted.id)}


def test_links_go_with_the_field_that_asked_for_them(records: Records) -> None:
    wanted, design = requirement(1), memory("design", related_requirements=["REQ-SHOP-1"])
    keep(records, wanted, design)

    change(records, design, {"title": "Rounding"})

    assert links_at(records, design) == set()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_link_that_was_asked_for_by_itself_stays(records: Records, is_first: bool) -> None:
    wanted, design = requirement(1), memory("design", related_requirements=["REQ-SHOP-1"])
    keep(records, wanted)
    asked = Relationship(RelationshipType.RELATES_TO, wanted.id)
    with records.writing() as transaction:
        relationships = [asked] if is_first else []
        transaction.memories.add(design, passage_of(design), relationships)
    if not is_first:
        with records.writing() as transaction:
            transaction.links.add(design, [asked], design.created_at)

    change(records, design, {})

    assert links_at(records, design) == {(design.id, "RELATES_TO", wanted.id)}


def test_a_memory_that_names_itself_is_not_linked_to_itself(records: Records) -> None:
    payments = memory("component", name="payments", dependencies=["payments"])

    keep(records, payments)

    assert links_at(records, payments) == set()


def test_what_is_taken_back_leaves_no_name_and_no_link(records: Records) -> None:
    wanted, design = requirement(1), memory("design", related_requirements=["REQ-SHOP-1"])
    keep(records, design, wanted)

    with records.writing() as transaction:
        transaction.memories.undo_add(wanted)

    assert links_at(records, design) == set()
    again = requirement(1)
    keep(records, again)
    assert links_at(records, design) == {(design.id, "RELATES_TO", again.id)}


numbers = st.integers(1, 3)


def named_by(design: Memory) -> list[object]:
    named = design.metadata.get("related_requirements", [])
    return named if isinstance(named, list) else []


@settings(deadline=None)  # each opens a store
@given(st.lists(st.tuples(st.integers(0, 3), numbers, st.lists(numbers, max_size=3)), max_size=12))
def test_links_are_those_of_the_fields_whatever_came_before(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, list[int]]]
) -> None:
    """Four requirements and designs take names and name others, in any order."""
    with Records.open(tmp_path_factory.mktemp("store") / "backstory.db") as records:
        kept: dict[tuple[str, int], Memory] = {}
        for place, number, named in steps:
            for type_, metadata in (
                ("requirement", {"requirement_id": f"REQ-SHOP-{number}"}),
                ("design", {"related_requirements": [f"REQ-SHOP-{each}" for each in named]}),
            ):
                if before := kept.get((type_, place)):
                    kept[type_, place] = change(records, before, metadata)
                else:
                    kept[type_, place] = memory(type_, **metadata)
                    keep(records, kept[type_, place])

        expected = {
            (design.id, "RELATES_TO", wanted.id)
            for design in kept.values()
            for wanted in kept.values()
            if wanted.metadata.get("requirement_id") in named_by(design)
        }
        assert links_at(records, *kept.values()) == expected
