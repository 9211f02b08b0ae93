"""Merges in the records: whatever is merged and undone, in whatever order, nothing is lost."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.merge import MergeMade
from backstory.model.project import Project
from backstory.ranking.memories import passage_of
from backstory.records import folds, links, merges, schema
from backstory.records.records import Records, Transaction

from .plans import check_way

SHOP = Project("shop")
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

RELATES, FOLLOWS = RelationshipType.RELATES_TO, RelationshipType.FOLLOWS_DESIGN


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    with Records.open(tmp_path_factory.mktemp("records") / "backstory.db") as opened:
        yield opened


@pytest.fixture
def store(records: Records) -> Iterator[Transaction]:
    with forgotten(records) as store:
        yield store


@contextmanager
def forgotten(records: Records) -> Iterator[Transaction]:
    """A write of which nothing stays."""
    with suppress(_Forgotten), records.writing() as store:
        yield store
        raise _Forgotten


class _Forgotten(Exception):
    pass


def design(id: str, **fields: object) -> Memory:
    return Memory(MemoryId(id), SHOP, "design", f"About {id}.", fields, 0.5, 1, NOW, NOW)


def keep(store: Transaction, *memories: Memory) -> None:
    store.memories.add_all([(each, passage_of(each), ()) for each in memories])


def link(store: Transaction, from_: str, to: str, type_: RelationshipType = RELATES) -> None:
    store.links.add(store.memories.live(SHOP, from_), [Relationship(type_, MemoryId(to))], NOW)


def merge(store: Transaction, kept: str, *folded: str) -> MergeMade:
    """Make memories one that says what the first one said, and that they were merged."""
    parts = store.memories.find(SHOP, [kept, *folded])
    before = parts[kept]
    after = replace(before, content=f"{before.content} Merged.", version=before.version + 1)
    made = MergeMade(
        id=f"{kept}<{','.join(folded)}@{after.version}",
        project=SHOP,
        kept=before.id,
        version=after.version,
        folded=[parts[id].id for id in folded],
        versions={id: each.version for id, each in parts.items()},
        why="alike",
        at=NOW + timedelta(days=1),
    )
    store.merges.make(made, before, after, passage_of(after), [parts[id] for id in folded])
    return made


def undo(store: Transaction, made: MergeMade) -> None:
    now = store.memories.live(SHOP, made.kept)
    versions = store.memories.versions(made.kept)
    (then,) = (each for each in versions if each.version == made.versions[made.kept])
    back = replace(then, version=now.version + 1)
    folded = [replace(_gone(store, id), deleted_at=None) for id in made.folded]
    store.merges.undo(made, now, (back, passage_of(back)), [(each, passage_of(each)) for each in folded])


def _gone(store: Transaction, id: str) -> Memory:
    found = store.memories.get(SHOP, id)
    assert found is not None
    assert found.deleted_at is not None
    return found


def seen(store: Transaction) -> set[str]:
    """The edges that are seen, by their ends."""
    return {f"{each.start.id} {each.type} {each.end.id}" for each in store.links.edges_in(SHOP)}


def state(store: Transaction) -> object:
    """All that taking a merge back has to bring back: what is live and says what, and every link."""
    live = {each.id: (each.content, dict(each.metadata)) for each in store.memories.live_in(SHOP)}
    table = schema.links.c
    rows = store._connection.execute(
        select(table.from_id, table.type, table.to_id, table.owner, table.field, table.metadata)
    )
    return live, sorted(map(repr, rows))


def test_links_of_the_folded_are_seen_at_the_kept_one_each_once_and_none_to_itself(
    store: Transaction,
) -> None:
    keep(store, *map(design, "abxyz"))
    for ends in ("ax", "bx", "by", "zb", "ab", "ba"):
        link(store, *ends)

    merge(store, "a", "b")

    assert seen(store) == {"a RELATES_TO x", "a RELATES_TO y", "z RELATES_TO a"}


def test_who_names_a_folded_memory_is_linked_to_the_one_that_stands_for_it(store: Transaction) -> None:
    keep(store, design("a"), design("b", adr_id="ADR-7"), design("by name", related_requirements=["ADR-7"]))
    keep(store, design("by id", related_requirements=["b"]))

    made = merge(store, "a", "b")
    keep(store, design("later", related_requirements=["ADR-7", "b", "a"]))

    assert seen(store) == {f"{each} RELATES_TO a" for each in ("by name", "by id", "later")}

    undo(store, made)

    named = {f"{each} RELATES_TO b" for each in ("by name", "by id", "later")}
    assert seen(store) == named | {"later RELATES_TO a"}


def test_a_memory_that_names_one_folded_into_it_has_no_link_to_itself(store: Transaction) -> None:
    keep(store, design("a", related_requirements=["b"]), design("b", related_requirements=["a"]))

    merge(store, "a", "b")

    assert seen(store) == set()


def test_a_link_asked_for_while_it_stood_in_for_another_stays_when_the_merge_is_undone(
    store: Transaction,
) -> None:
    keep(store, *map(design, "abx"))
    link(store, "b", "x")
    made = merge(store, "a", "b")

    link(store, "a", "x")
    undo(store, made)

    assert seen(store) == {"a RELATES_TO x", "b RELATES_TO x"}


def test_a_link_that_is_both_asked_for_and_named_survives_the_field(store: Transaction) -> None:
    keep(store, design("a"), design("b"), design("y", related_requirements=["a"]))
    link(store, "y", "b")
    merge(store, "a", "b")

    before = store.memories.live(SHOP, "y")
    after = replace(before, metadata={}, version=2)
    store.memories.change(before, after, passage_of(after))

    assert seen(store) == {"y RELATES_TO a"}


def test_a_merge_is_undone_though_the_other_end_of_a_link_was_folded_meanwhile(store: Transaction) -> None:
    keep(store, *map(design, "abxy"))
    link(store, "x", "b")
    made = merge(store, "a", "b")
    merge(store, "y", "x")
    assert seen(store) == {"y RELATES_TO a"}

    undo(store, made)

    assert seen(store) == {"y RELATES_TO b"}


def test_a_chain_of_merges_leads_to_the_last_one(store: Transaction) -> None:
    keep(store, *map(design, "abcx"), design("y", related_requirements=["c"]))
    link(store, "x", "c")

    first, second = merge(store, "b", "c"), merge(store, "a", "b")

    assert seen(store) == {"x RELATES_TO a", "y RELATES_TO a"}
    standing = folds.Folds(store._connection)
    assert standing.into(["a", "b", "c", "x", "nobody"]) == {"b": "a", "c": "a"}
    assert standing.members(["a"]) == ["a", "b", "c"]
    undo(store, second)
    undo(store, first)
    assert seen(store) == {"x RELATES_TO c", "y RELATES_TO c"}


def test_a_folded_memory_that_is_brought_back_or_deleted_by_itself_is_not_stood_for(
    store: Transaction,
) -> None:
    keep(store, design("a"), design("b"))
    merge(store, "a", "b")
    standing = folds.Folds(store._connection)

    back = replace(_gone(store, "b"), deleted_at=None)
    store.memories.restore(back, passage_of(back), NOW)
    assert standing.into(["b"]) == {}
    store.memories.delete(back, NOW)
    assert standing.into(["b"]) == {}
    assert standing.members(["a"]) == ["a"]


def test_a_folded_memory_that_is_brought_back_takes_its_links_back(store: Transaction) -> None:
    keep(
        store, design("kept"), design("folded"), design("third"), design("other", related_designs=["folded"])
    )
    link(store, "folded", "third")
    before = seen(store)
    merge(store, "kept", "folded")
    assert seen(store) == {"kept RELATES_TO third", "other RELATES_TO kept"}

    back = replace(_gone(store, "folded"), deleted_at=None)
    store.merges.bring_back(back, passage_of(back), NOW + timedelta(days=2))

    assert seen(store) == before == {"folded RELATES_TO third", "other RELATES_TO folded"}


def test_a_link_that_a_field_asks_for_is_back_when_what_stood_in_its_place_is_gone(
    store: Transaction,
) -> None:
    keep(store, design("a"), design("b"), design("c", related_requirements=["a"]))
    link(store, "c", "b")
    before = state(store)

    undo(store, merge(store, "a", "b"))

    assert state(store) == before


def test_a_kept_memory_that_is_deleted_and_brought_back_has_the_links_of_the_folded(
    store: Transaction,
) -> None:
    keep(store, *map(design, "abc"))
    link(store, "c", "b")
    merge(store, "a", "b")
    kept = store.memories.live(SHOP, "a")

    store.memories.delete(kept, NOW + timedelta(days=2))
    store.merges.bring_back(kept, passage_of(kept), NOW + timedelta(days=3))

    assert seen(store) == {"c RELATES_TO a"}


def test_history_tells_of_a_merge_and_of_its_undoing(store: Transaction) -> None:
    keep(store, design("a"), design("b"))
    made = merge(store, "a", "b")
    undo(store, made)

    told = {id: [(each.operation, each.details) for each in store.audit.of(id)] for id in "ab"}
    assert [each.id for each in store.merges.newest(SHOP, 10) if each.undone_at] == [made.id]
    assert store.merges.newest(Project("bank"), 10) == []
    assert store.merges.get(Project("bank"), made.id) is None
    both = {"folded": ["b"], "merge": made.id}
    assert told["a"] == [("added", {}), ("merged", both), ("unmerged", both)]
    assert [operation for operation, _ in told["b"]] == ["added", "folded", "unmerged"]
    assert told["b"][1][1] == {"into": "a", "merge": made.id}


NAMES = "abcdef"
ids = st.sampled_from(NAMES)
linked = st.lists(st.tuples(ids, ids, st.sampled_from([RELATES, FOLLOWS])), max_size=10)
named = st.fixed_dictionaries({}, optional={id: st.lists(ids, max_size=3, unique=True) for id in NAMES})
wished = st.lists(st.lists(ids, min_size=2, max_size=3, unique=True), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(linked, named, wished, st.data())
def test_merges_that_are_undone_leave_the_store_as_it_was(
    records: Records,
    linked: list[tuple[str, str, RelationshipType]],
    named: dict[str, list[str]],
    wished: list[list[str]],
    data: st.DataObject,
) -> None:
    with forgotten(records) as store:
        keep(store, *(design(id, **_naming(id, named)) for id in NAMES))
        for from_, to, type_ in linked:
            if from_ != to:
                link(store, from_, to, type_)
        before = state(store)
        made = [merge(store, *parts) for parts in wished if _all_live(store, parts)]

        assert all(len(set(edge.split()[::2])) == 2 for edge in seen(store))
        while made:
            undo(store, made.pop(data.draw(st.sampled_from(_undoable(store, made)))))

        assert state(store) == before


def _naming(id: str, named: dict[str, list[str]]) -> dict[str, object]:
    others = [f"ADR-{other}" if other < id else other for other in named.get(id, ()) if other != id]
    field = "affected_components" if id in "ab" else "related_requirements"  # they run in opposite directions
    return {"adr_id": f"ADR-{id}", **({field: others} if others else {})}


def _all_live(store: Transaction, ids: Sequence[str]) -> bool:
    return len(store.memories.find(SHOP, ids)) == len(ids)


def _undoable(store: Transaction, made: Sequence[MergeMade]) -> list[int]:
    """The merges whose kept memory says what they let it say."""
    live = store.memories.find(SHOP, [each.kept for each in made])
    return [
        number
        for number, one in enumerate(made)
        if one.kept in live and live[one.kept].content == _left(store, one)
    ]


def _left(store: Transaction, made: MergeMade) -> str:
    every = [*store.memories.versions(made.kept), store.memories.get(SHOP, made.kept)]
    return next(each.content for each in every if each and each.version == made.version)


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        (folds._FOLDED, "memories USING INDEX sqlite_autoindex_memories_1 (id=?)"),
        (folds._FOLDED, "audit USING INTEGER PRIMARY KEY"),
        (folds._MERGED, "merges USING INDEX merges_by_kept (kept_id=?)"),
        (links._ASKED_FOR_AT, "links USING INDEX links_by_end (to_id=?)"),
        (merges._NEWEST, "merges USING INDEX merges_by_project (project=?)"),
    ],
)
def test_reading_merges_goes_by_an_index(records: Records, statement: object, way: str) -> None:
    check_way(records, statement, way)  # type: ignore[arg-type]  # all are statements
