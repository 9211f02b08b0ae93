"""Changing, adding together, deleting and bringing back memories: by the actions, on embedded engines."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.adding import Added
from backstory.actions.memory.bulk_add import MOST_AT_ONCE, Item, add_memories
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.deleted import deleted_memories
from backstory.actions.memory.get import Related, get_memory
from backstory.actions.memory.history import memory_history
from backstory.actions.memory.restore import restore_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.actions.projection.now import graph_of
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import ContentRefused, InputError, NotFound, StaleVersion
from backstory.model.graph import Direction, RelationshipType
from backstory.model.live import Switches
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import MemoryQuery

from .doubles import Choosy, Unreliable
from .samples import least

SHOP, BANK = Project("shop"), Project("bank")


def keep(engine: Engine, content: str, type_: str = "design", **metadata: object) -> MemoryId:
    return add(engine, content, type_, **metadata).memory.id


def add(engine: Engine, content: str, type_: str = "design", **metadata: object) -> Added:
    return add_memory(engine, SHOP, NewMemory(type_, content, {**least(type_), **metadata}))


def related_to(id: str) -> Sequence[Relationship]:
    return [Relationship(RelationshipType.RELATES_TO, MemoryId(id))]


def links(engine: Engine, id: str) -> list[tuple[str, Direction, str, str]]:
    def plain(each: Related) -> tuple[str, Direction, str, str]:
        return each.type, each.direction, each.memory.id, each.field

    return [plain(each) for each in get_memory(engine, SHOP, id).relationships]


def found(engine: Engine, text: str) -> list[str]:
    return [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery(text)).hits]


def edges(engine: Engine) -> int:
    return sum(engine.graph.describe(graph_of(engine, SHOP)).edges.values())


def settled(engine: Engine) -> None:
    """Everything was projected, and the records agree with vectors and graph."""
    while upkeep(engine, Work()):
        pass
    assert reconcile(engine, Work()) == Reconciled(0, 0)


class TestUpdate:
    def test_metadata_entries_are_set_and_removed_and_the_rest_stays(self, engine: Engine) -> None:
        id = keep(engine, "Retries use jitter.", title="Retries", area="net", nothing=None)

        change = MemoryChange(metadata={"area": None, "title": "Retry", "open": True, "never": None})
        updated = update_memory(engine, SHOP, id, change).memory

        assert updated.metadata == {"title": "Retry", "open": True, "nothing": None}
        assert updated.content == "Retries use jitter."
        assert get_memory(engine, SHOP, id).memory == updated
        hits = search_memories(engine, SHOP, MemoryQuery("retries", metadata={"open": True})).hits
        assert [hit.memory.id for hit in hits] == [id]

    def test_the_fields_of_the_type_are_checked_in_what_comes_of_it(self, engine: Engine) -> None:
        id = keep(engine, "Payments are booked once.", "requirement", requirement_id="REQ-PAY-1")

        with pytest.raises(InputError, match="requirement_id is required") as refused:
            update_memory(engine, SHOP, id, MemoryChange(metadata={"requirement_id": None}))
        with pytest.raises(InputError, match="status must be one of Draft, Approved"):
            update_memory(engine, SHOP, id, MemoryChange(metadata={"status": "Done"}))

        assert refused.value.hint is not None
        assert '{"requirement_id": "REQ-SHOP-012"}' in refused.value.hint
        assert get_memory(engine, SHOP, id).memory.version == 1

    def test_metadata_that_breaks_a_younger_rule_can_stay_while_the_text_is_corrected(
        self, engine: Engine
    ) -> None:
        kept = add(engine, "Payments are booked once.", "requirement").memory
        before = replace(kept, metadata={"status": "Someday"}, version=2)
        with engine.records.writing() as records:
            passages = records.passages.find([kept.id])
            records.memories.change(kept, before, passages[kept.id])

        updated = update_memory(engine, SHOP, kept.id, MemoryChange(content="Paid is paid.")).memory

        assert (updated.content, updated.metadata) == ("Paid is paid.", {"status": "Someday"})

    def test_links_are_added_and_must_lead_somewhere(self, engine: Engine) -> None:
        one, other = keep(engine, "Carts are cookies."), keep(engine, "Sessions live in Redis.")

        update_memory(engine, SHOP, one, MemoryChange(relationships=related_to(other)))

        assert links(engine, one) == [("RELATES_TO", Direction.OUT, other, "")]
        assert links(engine, other) == [("RELATES_TO", Direction.IN, one, "")]
        assert edges(engine) == 1
        with pytest.raises(InputError, match="is not in project shop"):
            update_memory(engine, SHOP, one, MemoryChange(relationships=related_to("nobody")))

    def test_asked_again_it_answers_alike_and_makes_no_new_version(self, engine: Engine) -> None:
        one, other = keep(engine, "Carts are cookies."), keep(engine, "Sessions live in Redis.")
        change = MemoryChange("Carts are rows.", {"area": "cart"}, 0.9, related_to(other))

        first = update_memory(engine, SHOP, one, change, expected_version=1)
        again = update_memory(engine, SHOP, one, change, expected_version=1)
        once_more = update_memory(engine, SHOP, one, change)

        assert first.memory == again.memory == once_more.memory
        assert first.memory.version == 2
        assert len(memory_history(engine, SHOP, one).steps) == 2

    def test_a_change_of_nothing_is_refused(self, engine: Engine) -> None:
        with pytest.raises(InputError, match="changes nothing"):
            update_memory(engine, SHOP, keep(engine, "Carts are cookies."), MemoryChange())

    def test_a_stale_version_is_refused_with_both_versions_and_what_differs(self, engine: Engine) -> None:
        id = keep(engine, "Deploys happen on Fridays.", title="Deploys")
        update_memory(engine, SHOP, id, MemoryChange("Deploys happen on Mondays.", {"by": "CI"}))

        with pytest.raises(StaleVersion) as refused:
            update_memory(engine, SHOP, id, MemoryChange("Deploys happen daily."), expected_version=1)

        told = str(refused.value)
        assert "has version 2 now, not 1; nothing was changed" in told
        assert "expected, version 1: Deploys happen on Fridays." in told
        assert "present, version 2: Deploys happen on Mondays." in told
        assert 'present metadata: {"title": "Deploys", "by": "CI"}' in told
        assert "changed content: Deploys happen on [-Fridays-]{+Mondays+}." in told
        assert 'added metadata.by: null -> "CI"' in told
        assert refused.value.hint is not None
        assert "expected_version=2" in refused.value.hint
        assert get_memory(engine, SHOP, id).memory.version == 2

    @pytest.mark.parametrize("expected", [7, 3])
    def test_a_version_that_never_was_is_refused_too(self, engine: Engine, expected: int) -> None:
        id = keep(engine, "Deploys happen on Fridays.")

        with pytest.raises(StaleVersion, match=f"there is no version {expected}"):
            update_memory(engine, SHOP, id, MemoryChange("x"), expected_version=expected)

    def test_a_refusal_for_long_texts_stays_short(self, engine: Engine) -> None:
        words = " ".join(f"word{number}" for number in range(5_000))
        id = keep(engine, words)
        changed = {f"key{number}": "v" * 1_000 for number in range(50)}
        update_memory(engine, SHOP, id, MemoryChange(words[::-1], changed))

        with pytest.raises(StaleVersion) as refused:
            update_memory(engine, SHOP, id, MemoryChange("x"), expected_version=1)

        assert len(str(refused.value)) < 12_000
        assert "and 41 more fields" in str(refused.value)

    def test_a_change_that_an_engine_refuses_leaves_no_link(self, engine: Engine) -> None:
        rule = keep(engine, "Paid is paid.", "requirement", requirement_id="REQ-PAY-1")
        id = keep(engine, "Payments carry a key.", related_requirements=["REQ-PAY-1"])
        other = keep(engine, "Sessions live in Redis.")
        choosy = replace(engine, vectors=Choosy(engine.vectors, "poison"))
        change = MemoryChange("poison", relationships=[*related_to(rule), *related_to(other)])

        with pytest.raises(ContentRefused):
            update_memory(choosy, SHOP, id, change)

        assert links(engine, id) == [("RELATES_TO", Direction.OUT, rule, "related_requirements")]
        settled(engine)

    def test_a_refused_change_does_not_undo_what_came_after_it(self, engine: Engine) -> None:
        id = keep(engine, "a healthy text")

        class Interrupted(Choosy):
            def upsert(self, index: str, entries: object) -> None:
                if "poison" in str(entries):
                    with engine.records.writing() as records:
                        now = records.memories.live(SHOP, id)
                        later = replace(now, content="a later text", version=3)
                        passage = replace(records.passages.find([id])[id], text="a later text", terms="later")
                        records.memories.change(now, later, passage)
                super().upsert(index, entries)  # type: ignore[arg-type]  # as it came

        interrupted = replace(engine, vectors=Interrupted(engine.vectors, "poison"))
        with pytest.raises(ContentRefused):
            update_memory(interrupted, SHOP, id, MemoryChange("poison"))

        assert get_memory(engine, SHOP, id).memory.content == "a later text"
        assert found(engine, "later") == [id]

    def test_a_hundred_changes_of_the_same_memories_at_once_lose_none(self, engine: Engine) -> None:
        ids = [keep(engine, f"Counter {number} is at nothing.", counted=[]) for number in range(5)]

        def count(number: int) -> None:
            id = ids[number % len(ids)]
            while True:
                memory = get_memory(engine, SHOP, id).memory
                so_far = memory.metadata["counted"]
                assert isinstance(so_far, list)
                change = MemoryChange(f"At {number}.", {"counted": [*so_far, number]})
                try:
                    update_memory(engine, SHOP, id, change, expected_version=memory.version)
                except StaleVersion:
                    continue
                return

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(count, range(100)))

        for place, id in enumerate(ids):
            memory = get_memory(engine, SHOP, id).memory
            assert sorted(memory.metadata["counted"]) == list(range(place, 100, len(ids)))  # type: ignore[call-overload]
            assert memory.version == 21
            assert len(memory_history(engine, SHOP, id, limit=100).steps) == 21
        settled(engine)

    def test_patches_of_different_entries_at_once_all_hold(self, engine: Engine) -> None:
        id = keep(engine, "Sessions live in Redis.")

        with ThreadPoolExecutor(16) as pool:
            list(
                pool.map(
                    lambda n: update_memory(engine, SHOP, id, MemoryChange(metadata={f"k{n}": n})), range(100)
                )
            )

        memory = get_memory(engine, SHOP, id).memory
        assert memory.metadata == {f"k{n}": n for n in range(100)}
        assert memory.version == 101


@pytest.mark.parametrize(("was", "is_"), [(1, True), ([0, 1], [False, True]), (1, 1.5), ("1", 1)])
def test_a_value_of_another_type_is_another_value(engine: Engine, was: object, is_: object) -> None:
    id = keep(engine, "Retries are on.", on=was)

    updated = update_memory(engine, SHOP, id, MemoryChange(metadata={"on": is_}))

    assert updated.memory.version == 2
    assert json.dumps(updated.memory.metadata["on"]) == json.dumps(is_)


def test_everything_that_is_wrong_with_a_memory_is_told_at_once(engine: Engine) -> None:
    wrong = NewMemory("requirement", " ", {"status": "draft", "priority": "Urgent"})

    with pytest.raises(InputError) as raised:
        add_memory(engine, SHOP, wrong)

    for part in ("no content", "requirement_id is required", "use Draft", "priority must be one of"):
        assert part in str(raised.value)


keys = st.sampled_from(["a", "b", "c"])
patches = st.none() | st.dictionaries(keys, st.none() | st.integers() | st.lists(st.text("xy", max_size=2)))
changes = st.builds(
    MemoryChange,
    content=st.none() | st.sampled_from(["Carts.", "Carts are rows.", "Rows, carts."]),
    metadata=patches,
    importance=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
).filter(lambda change: change != MemoryChange())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(changes, max_size=6))
def test_any_changes_give_what_they_say_and_the_history_leads_back(
    engine: Engine, wishes: list[MemoryChange]
) -> None:
    id = keep(engine, "Carts.", kept="as it is")
    content, importance = "Carts.", 0.5
    metadata: dict[str, object] = {"kept": "as it is"}
    states = [(content, metadata, importance)]
    for wish in wishes:
        content = content if wish.content is None else wish.content
        metadata = {**metadata, **(wish.metadata or {})}
        metadata = {key: value for key, value in metadata.items() if value is not None}
        importance = importance if wish.importance is None else wish.importance
        states += [new] if (new := (content, metadata, importance)) != states[-1] else []

        updated = update_memory(engine, SHOP, id, wish).memory

        assert (updated.content, updated.metadata, updated.importance) == states[-1]
        assert updated.version == len(states)
    with engine.records.reading() as records:
        kept = [*records.memories.versions(id), records.memories.live(SHOP, id)]
    assert [(each.content, each.metadata, each.importance) for each in kept] == states
    steps = memory_history(engine, SHOP, id, limit=100).steps
    assert [each.version for each in reversed(steps)] == list(range(1, len(states) + 1))
    assert all(each.changes for each in steps[:-1])


class TestConflicts:
    def test_a_new_memory_comes_with_what_it_contradicts(self, engine: Engine) -> None:
        old = keep(engine, "The search endpoint shall answer within 500 ms.")
        keep(engine, "Invoices are sent on the first of each month.")

        (conflict,) = add(engine, "The search endpoint shall answer within 200 ms.").conflicts

        assert (conflict.kind, conflict.memory.id) == ("contradiction", old)
        assert conflict.why
        assert 0 < conflict.certainty <= 1

    def test_the_same_thing_again_is_a_duplicate(self, engine: Engine) -> None:
        old = keep(engine, "Retries use jittered backoff.")

        (conflict,) = add(engine, "Retries use jittered backoff!").conflicts

        assert (conflict.kind, conflict.memory.id) == ("duplicate", old)

    def test_one_preference_with_two_values_is_found_among_many_near_ones(self, engine: Engine) -> None:
        for number in range(20):
            keep(engine, f"Wrap lines of text {number}.", "preference", key=f"wrap {number}", value=number)
        old = keep(engine, "Everything else is up to you.", "preference", key="line_length", value=100)

        conflicts = add(engine, "Wrap lines.", "preference", key="line_length", value=88).conflicts

        assert ("contradiction", old) in [(each.kind, each.memory.id) for each in conflicts]

    def test_one_requirement_id_with_two_texts_is_found_whatever_they_say(self, engine: Engine) -> None:
        old = keep(engine, "Invoices are numbered.", "requirement", requirement_id="REQ-A-1")

        conflicts = add(engine, "Colours are free.", "requirement", requirement_id="REQ-A-1").conflicts

        assert [(each.kind, each.memory.id) for each in conflicts] == [("contradiction", old)]

    def test_an_update_comes_with_what_it_contradicts_and_never_with_itself(self, engine: Engine) -> None:
        old = keep(engine, "The search endpoint shall answer within 500 ms.")
        id = keep(engine, "Colours are free.")

        change = MemoryChange("The search endpoint shall answer within 200 ms.")
        updated = update_memory(engine, SHOP, id, change)

        assert [each.memory.id for each in updated.conflicts] == [old]

    def test_conflicts_stay_in_the_project_and_among_what_is_there(self, engine: Engine) -> None:
        add_memory(engine, BANK, NewMemory("design", "Retries use jittered backoff."))
        delete_memory(engine, SHOP, keep(engine, "Retries use jittered backoff."))

        assert add(engine, "Retries use jittered backoff.").conflicts == []

    def test_without_the_index_conflicts_are_found_by_words_and_names_and_that_is_said(
        self, engine: Engine
    ) -> None:
        old = keep(engine, "Retries use jittered backoff.")
        named = keep(engine, "Invoices are numbered.", "requirement", requirement_id="REQ-A-1")
        vectors = Unreliable(engine.vectors)
        vectors.down = True
        down = replace(engine, vectors=vectors)

        again = add(down, "Retries use jittered backoff.")
        other = add(down, "Colours are free.", "requirement", requirement_id="REQ-A-1")

        assert [each.memory.id for each in again.conflicts] == [old]
        assert [each.memory.id for each in other.conflicts] == [named]
        assert again.notes == ["conflicts are found by words alone: the engine is down"]

    def test_with_meaning_switched_off_that_is_said_too(self, engine: Engine) -> None:
        old = keep(engine, "Retries use jittered backoff.")

        off = replace(engine, switches=lambda: Switches(semantic_search=False))
        again = add(off, "Retries use jittered backoff.")

        assert [each.memory.id for each in again.conflicts] == [old]
        assert "switched off" in again.notes[0]

    def test_a_long_memory_is_compared_by_its_beginning(self, engine: Engine) -> None:
        old = keep(engine, "The search endpoint shall answer within 500 ms.")
        rest = " ".join(f"The search endpoint was measured in week {number}." for number in range(500))

        conflicts = add(engine, f"The search endpoint shall answer within 200 ms. {rest}").conflicts

        assert old in [each.memory.id for each in conflicts]


class TestBulk:
    def test_memories_are_kept_together_with_links_among_them(self, engine: Engine) -> None:
        old = keep(engine, "All services are stateless.")
        wish = Relationship(RelationshipType.FOLLOWS_DESIGN, MemoryId("#base"))
        items = [
            Item(NewMemory("design", "The cart is a cookie.", relationships=[wish, *related_to(old)])),
            Item(NewMemory("design", "State is kept by clients."), ref="base"),
        ]

        cart, base = add_memories(engine, SHOP, items)

        assert links(engine, cart.memory.id) == [
            ("FOLLOWS_DESIGN", Direction.OUT, base.memory.id, ""),
            ("RELATES_TO", Direction.OUT, old, ""),
        ]
        assert found(engine, "cookie")[0] == cart.memory.id
        assert statistics(engine, SHOP).memories == {"design": 3}
        settled(engine)

    def test_one_bad_memory_keeps_all_out_and_every_mistake_is_told_with_its_place(
        self, engine: Engine
    ) -> None:
        items = [
            Item(NewMemory("design", "fine"), ref="one"),
            Item(NewMemory("requirement", "no id"), ref="one"),
            Item(NewMemory("poem", " "), ref="two"),
            Item(NewMemory("design", "x", relationships=related_to("#three"))),
        ]

        with pytest.raises(InputError) as refused:
            add_memories(engine, SHOP, items)

        told = str(refused.value)
        assert told.startswith("nothing was stored: memories[0]: the ref 'one' is given twice")
        assert "memories[1]: the metadata of a requirement is not acceptable: requirement_id" in told
        assert "memories[2]: there is no memory type 'poem'; memories[2]: the memory has no content" in told
        assert "memories[3]: no memory of the batch has the ref 'three'" in told
        assert "REQ-SHOP-012" in str(refused.value.hint)
        assert statistics(engine, SHOP).memories == {}

    def test_a_link_to_nobody_keeps_all_out(self, engine: Engine) -> None:
        items = [
            Item(NewMemory("design", "fine")),
            Item(NewMemory("design", "x", relationships=related_to("nobody"))),
        ]

        with pytest.raises(InputError, match="nobody"):
            add_memories(engine, SHOP, items)

        assert statistics(engine, SHOP).memories == {}

    @pytest.mark.parametrize("count", [0, MOST_AT_ONCE + 1])
    def test_a_batch_is_not_empty_and_not_too_large(self, engine: Engine, count: int) -> None:
        with pytest.raises(InputError, match=f"{count} memories"):
            add_memories(engine, SHOP, [Item(NewMemory("design", "x"))] * count)

    def test_content_that_an_engine_refuses_takes_all_of_them_back(self, engine: Engine) -> None:
        rule = keep(engine, "Paid is paid.", related_requirements=["REQ-PAY-1"])
        choosy = replace(engine, vectors=Choosy(engine.vectors, "poison"))
        items = [
            Item(NewMemory("requirement", "Booked once.", {"requirement_id": "REQ-PAY-1"}), ref="first"),
            Item(NewMemory("design", "a poison text", relationships=related_to("#first"))),
            Item(NewMemory("design", "another fine text")),
        ]

        with pytest.raises(ContentRefused):
            add_memories(choosy, SHOP, items)

        assert statistics(engine, SHOP).memories == {"design": 1}
        assert statistics(engine, SHOP).refused == 0
        assert found(engine, "booked fine") == [rule]
        assert links(engine, rule) == []
        settled(engine)

    def test_asked_again_with_the_same_key_a_batch_is_kept_once(self, engine: Engine) -> None:
        items = [Item(NewMemory("design", "Use uv.")), Item(NewMemory("design", "Use uv."))]

        first = add_memories(engine, SHOP, items, key="call-1")
        again = add_memories(engine, SHOP, items, key="call-1")

        assert [each.memory for each in first] == [each.memory for each in again]
        assert len({each.memory.id for each in first}) == 2
        assert statistics(engine, SHOP).memories == {"design": 2}

    def test_those_of_a_batch_are_compared_with_each_other_too(self, engine: Engine) -> None:
        one, other = add_memories(
            engine,
            SHOP,
            [Item(NewMemory("design", "Use tabs.")), Item(NewMemory("design", "Use tabs!"))],
        )

        assert [each.memory.id for each in one.conflicts] == [other.memory.id]
        assert [each.memory.id for each in other.conflicts] == [one.memory.id]


class TestReferences:
    def test_fields_that_name_others_are_links_seen_from_both_ends(self, engine: Engine) -> None:
        rule = keep(engine, "Paid is paid.", "requirement", requirement_id="REQ-PAY-1")
        design = keep(engine, "Payments carry a key.", related_requirements=["REQ-PAY-1", "REQ-PAY-2"])

        gotten = get_memory(engine, SHOP, design)

        assert links(engine, design) == [("RELATES_TO", Direction.OUT, rule, "related_requirements")]
        assert links(engine, rule) == [("RELATES_TO", Direction.IN, design, "related_requirements")]
        assert [(each.name, each.memory) for each in gotten.references] == [
            ("REQ-PAY-1", rule),
            ("REQ-PAY-2", None),
        ]

    def test_a_name_that_nobody_had_leads_somewhere_when_one_comes(self, engine: Engine) -> None:
        design = keep(engine, "Payments carry a key.", related_requirements=["REQ-PAY-2"])

        rule = keep(engine, "Paid is paid.", "requirement", requirement_id="REQ-PAY-2")

        (reference,) = get_memory(engine, SHOP, design).references
        assert (reference.field, reference.memory) == ("related_requirements", rule)
        delete_memory(engine, SHOP, rule)
        assert get_memory(engine, SHOP, design).references[0].memory is None


class TestDeleting:
    def test_links_go_with_a_deleted_memory_and_come_back_with_it(self, engine: Engine) -> None:
        base = keep(engine, "All services are stateless.")
        wishes = related_to(base)
        follower = add_memory(engine, SHOP, NewMemory("design", "Carts.", relationships=wishes)).memory.id
        assert edges(engine) == 1

        delete_memory(engine, SHOP, base)

        assert links(engine, follower) == []
        assert edges(engine) == 0
        restore_memory(engine, SHOP, base)
        assert links(engine, follower) == [("RELATES_TO", Direction.OUT, base, "")]
        assert edges(engine) == 1
        assert base in found(engine, "stateless")
        settled(engine)

    def test_who_asks_for_a_deleted_memory_is_told_how_to_have_it_back(self, engine: Engine) -> None:
        id = keep(engine, "All services are stateless.")
        gone = delete_memory(engine, SHOP, id).memory.deleted_at
        assert gone is not None

        with pytest.raises(NotFound, match=f"memory {id} was deleted at {gone:%Y-%m-%d}") as told:
            get_memory(engine, SHOP, id)

        assert told.value.hint is not None
        assert f"backstory memory restore {id}" in told.value.hint
        assert f"{gone + timedelta(days=30):%Y-%m-%d}" in told.value.hint

    def test_deleted_ones_are_listed_until_they_are_restored(self, engine: Engine) -> None:
        first, second = keep(engine, "first"), keep(engine, "second")
        delete_memory(engine, SHOP, first)
        delete_memory(engine, SHOP, second)

        listed = deleted_memories(engine, SHOP, 10)

        assert [each.memory.id for each in listed] == [second, first]
        assert listed[0].until - datetime.now(UTC) > timedelta(days=29)
        assert [each.memory.id for each in deleted_memories(engine, SHOP, 1)] == [second]
        assert deleted_memories(engine, BANK, 10) == []
        restore_memory(engine, ALL_PROJECTS, first)
        assert [each.memory.id for each in deleted_memories(engine, ALL_PROJECTS, 10)] == [second]

    def test_restoring_what_is_there_changes_nothing(self, engine: Engine) -> None:
        id = keep(engine, "All services are stateless.")

        restored = restore_memory(engine, SHOP, id)

        assert restored.memory == get_memory(engine, SHOP, id).memory
        assert len(memory_history(engine, SHOP, id).steps) == 1
        with pytest.raises(NotFound):
            restore_memory(engine, BANK, id)


class TestHistory:
    def test_it_tells_every_step_newest_first_with_what_changed(self, engine: Engine) -> None:
        other = keep(engine, "Sessions live in Redis.")
        id = keep(engine, "Deploys happen on Fridays.", title="Deploys", area="ops")
        update_memory(engine, SHOP, id, MemoryChange("Deploys happen on Mondays.", {"area": None}, 0.9))
        update_memory(engine, SHOP, id, MemoryChange(relationships=related_to(other)))
        delete_memory(engine, SHOP, id)

        history = memory_history(engine, SHOP, id)

        assert history.memory.deleted_at is not None
        assert [(each.operation, each.version) for each in history.steps] == [
            ("deleted", 3),
            ("updated", 3),
            ("updated", 2),
            ("added", 1),
        ]
        assert history.steps[1].details == {"linked": [f"RELATES_TO {other}"]}
        changed = {each.field: (each.mark, each.old, each.new) for each in history.steps[2].changes}
        assert changed == {
            "content": ("changed", "Deploys happen on Fridays.", "Deploys happen on Mondays."),
            "importance": ("changed", 0.5, 0.9),
            "metadata.area": ("removed", "ops", None),
        }
        assert [each.changes for each in history.steps[::3]] == [(), ()]

    def test_pages_are_the_same_while_steps_are_added(self, engine: Engine) -> None:
        id = keep(engine, "version 1")
        for number in range(2, 8):
            update_memory(engine, SHOP, id, MemoryChange(f"version {number}"))
        first = memory_history(engine, SHOP, id, limit=3)
        update_memory(engine, SHOP, id, MemoryChange("version 8"))

        second = memory_history(engine, SHOP, id, limit=3, before=first.earlier)
        last = memory_history(engine, SHOP, id, limit=3, before=second.earlier)

        seen = [each.version for page in (first, second, last) for each in page.steps]
        assert seen == [7, 6, 5, 4, 3, 2, 1]
        assert last.earlier == 0

    def test_a_change_that_was_taken_back_tells_nothing_of_a_later_one(self, engine: Engine) -> None:
        id = keep(engine, "a healthy text")
        with pytest.raises(ContentRefused):
            update_memory(
                replace(engine, vectors=Choosy(engine.vectors, "poison")), SHOP, id, MemoryChange("poison")
            )
        update_memory(engine, SHOP, id, MemoryChange("a healthier text"))

        steps = memory_history(engine, SHOP, id).steps

        assert [(each.operation, len(each.changes)) for each in steps] == [
            ("updated", 1),
            ("reverted", 0),
            ("updated", 0),
            ("added", 0),
        ]

    def test_there_is_none_of_what_is_elsewhere(self, engine: Engine) -> None:
        id = keep(engine, "ours")

        with pytest.raises(NotFound):
            memory_history(engine, BANK, id)
        assert memory_history(engine, ALL_PROJECTS, id).steps
