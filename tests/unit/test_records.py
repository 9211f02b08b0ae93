"""The records file: what it promises to whoever reads and writes it."""

import errno
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from backstory.errors import StoreCorrupt, StoreReadOnly, StoreTooNew
from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory, MemoryId, Relationship
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Between, Where
from backstory.model.upkeep import Target
from backstory.ranking.memories import passage_of
from backstory.records import audit, generations, links, live, marks, memories, passages, schema, store
from backstory.records.migrations import SCHEMA_VERSION, migrate
from backstory.records.records import JOURNALED_WRITES, Begin, Records, Transaction

from .plans import check_way

SHOP, BANK = Project("shop"), Project("bank")

POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "backstory.db") as opened:
        yield opened


def memory(content: str, project: Project = SHOP, **changes: object) -> Memory:
    now = datetime.now(UTC)
    plain = Memory(MemoryId(str(uuid.uuid4())), project, "design", content, {}, 0.5, 1, now, now)
    return replace(plain, **changes)  # type: ignore[arg-type]  # the tests name real fields


def keep(records: Records, kept: Memory, *relationships: Relationship) -> Memory:
    with records.writing() as transaction:
        transaction.memories.add(kept, passage_of(kept), relationships)
    return kept


def found(records: Records, words: str, where: Where) -> list[str]:
    with records.reading() as transaction:
        return [each.id for each in transaction.keywords.search(Index.MEMORIES, words, where, 10)]


def test_a_memory_comes_back_as_it_was_kept(records: Records) -> None:
    kept = keep(records, memory("Carts round up.", metadata={"title": "Rounding", "tags": ["money"]}))

    with records.reading() as transaction:
        assert transaction.memories.get(SHOP, kept.id) == kept


def test_a_reopened_file_holds_what_was_written(tmp_path: Path) -> None:
    with Records.open(tmp_path / "backstory.db") as first:
        kept = keep(first, memory("Carts round up."))

    with Records.open(tmp_path / "backstory.db") as second, second.reading() as transaction:
        assert transaction.memories.get(SHOP, kept.id) == kept


def test_a_write_that_fails_half_way_leaves_nothing(records: Records) -> None:
    half = memory("never")

    def fail() -> None:
        with records.writing() as transaction:
            transaction.memories.add(half, passage_of(half))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    with records.reading() as transaction:
        assert transaction.memories.get(SHOP, half.id) is None
        assert transaction.marks.count() == {}
        assert transaction.audit.recent(ALL_PROJECTS, 5) == []
    assert found(records, "never", Where(SHOP)) == []


def test_a_write_brings_its_words_its_marks_and_its_audit_entry(records: Records) -> None:
    kept = keep(records, memory("Retries are jittered."))

    with records.reading() as transaction:
        assert transaction.marks.count() == {Target.VECTORS: 1, Target.GRAPH: 1}
        assert [entry.operation for entry in transaction.audit.recent(SHOP, 5)] == ["added"]
    assert found(records, passage_of(kept).terms, Where(SHOP)) == [kept.id]


def test_a_reader_sees_the_store_as_it_was_when_it_began(records: Records) -> None:
    with records.reading() as before:
        assert before.memories.count_by_type(SHOP) == {}
        keep(records, memory("written meanwhile"))
        assert before.memories.count_by_type(SHOP) == {}


def test_a_deleted_memory_is_not_found_but_kept(records: Records) -> None:
    kept = keep(records, memory("Carts round up."))

    with records.writing() as transaction:
        transaction.memories.delete(kept, datetime.now(UTC))

    with records.reading() as transaction:
        gone = transaction.memories.get(SHOP, kept.id)
        assert transaction.memories.find(SHOP, [kept.id]) == {}
    assert gone is not None
    assert gone.content == "Carts round up."
    assert gone.deleted_at is not None
    assert found(records, passage_of(kept).terms, Where(SHOP)) == []


def test_words_follow_a_change(records: Records) -> None:
    before = keep(records, memory("apples"))
    after = replace(before, content="pears", version=2)

    with records.writing() as transaction:
        transaction.memories.change(before, after, passage_of(after))

    assert found(records, passage_of(before).terms, Where(SHOP)) == []
    assert found(records, passage_of(after).terms, Where(SHOP)) == [before.id]


def test_words_are_found_only_inside_the_scope_and_its_conditions(records: Records) -> None:
    early = datetime(2020, 1, 1, tzinfo=UTC)
    ours = keep(records, memory("tax rules", type="design", metadata={"area": "money"}, created_at=early))
    theirs = keep(records, memory("tax rules", BANK, type="requirement"))
    words = passage_of(ours).terms

    assert set(found(records, words, Where(ALL_PROJECTS))) == {ours.id, theirs.id}
    assert found(records, words, Where(BANK)) == [theirs.id]
    assert found(records, words, Where(ALL_PROJECTS, [AnyOf("type", ["design"])])) == [ours.id]
    assert found(records, words, Where(ALL_PROJECTS, [AnyOf("metadata", ['"area": "money"'])])) == [ours.id]
    assert (
        found(records, words, Where(SHOP, [AnyOf("type", ["design"]), AnyOf("metadata", ['"area": "x"'])]))
        == []
    )
    until = Between(at_most=early.timestamp())
    assert found(records, words, Where(ALL_PROJECTS, numbers={"created_at": until})) == [ours.id]
    assert found(records, words, Where(ALL_PROJECTS, ids=[theirs.id])) == [theirs.id]


@pytest.mark.parametrize("words", ['"', "AND", "NEAR(", "a* OR", "terms:x", "''", "-"])
def test_words_are_never_taken_for_the_engine_s_query_language(records: Records, words: str) -> None:
    keep(records, memory("ordinary"))

    assert found(records, words, Where(SHOP)) == []


def test_an_edge_needs_both_of_its_ends_alive(records: Records) -> None:
    end = keep(records, memory("the base"))
    start = keep(records, memory("the follower"), Relationship(RelationshipType.FOLLOWS_DESIGN, end.id))
    with records.reading() as transaction:
        (edge,) = transaction.links.edges_at([end.id])
    assert (edge.start.id, edge.end.id) == (start.id, end.id)

    with records.writing() as transaction:
        transaction.memories.delete(end, datetime.now(UTC))

    with records.reading() as transaction:
        assert transaction.links.edges_at([start.id]) == []


def test_a_mark_set_anew_is_not_cleared_by_who_read_the_old_one(records: Records) -> None:
    kept = keep(records, memory("first"))
    with records.reading() as transaction:
        old = transaction.marks.pending(Target.VECTORS, 10)
    with records.writing() as transaction:
        transaction.marks.clear(transaction.marks.pending(Target.VECTORS, 10))
        transaction.marks.set(kept.id, {Target.VECTORS: "memories"}, SHOP.name)

    with records.writing() as transaction:
        transaction.marks.clear(old)

    with records.reading() as transaction:
        assert [mark.subject for mark in transaction.marks.pending(Target.VECTORS, 10)] == [kept.id]


def test_uses_are_counted_when_they_are_flushed(records: Records) -> None:
    kept = keep(records, memory("read often"))
    records.note_use([kept.id, kept.id, "unknown"])
    records.flush_uses()
    records.note_use([kept.id])
    records.flush_uses()

    with records.reading() as transaction:
        again = transaction.memories.get(SHOP, kept.id)
    assert again is not None
    assert again.access_count == 3


def test_many_threads_write_without_losing_anything(records: Records) -> None:
    def write(writer: int) -> None:
        for number in range(10):
            keep(records, memory(f"writer {writer} number {number}"))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with records.reading() as transaction:
        assert transaction.memories.count_by_type(SHOP) == {"design": 160}
        revisions = [mark.revision for mark in transaction.marks.pending(Target.VECTORS, 1000)]
    assert len(set(revisions)) == 160


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    Records.open(path).close()
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE store SET value = '999' WHERE key = 'schema_version'")
    plain.close()
    bytes_before = path.read_bytes()

    with pytest.raises(StoreTooNew) as refused:
        Records.open(path)

    assert "upgrade" in (refused.value.hint or "")
    assert path.read_bytes() == bytes_before


def test_an_older_file_takes_the_steps_it_lacks_in_order(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    taken: list[int] = []
    missing = [SCHEMA_VERSION + 1, SCHEMA_VERSION + 2]
    steps = {number: lambda _, number=number: taken.append(number) for number in missing}
    with Records.open(path) as records:
        with records._connected(Begin.DURABLE) as connection:
            migrate(connection, path, newest=missing[-1], steps=steps)
        with records.reading() as transaction:
            assert transaction.store.get("schema_version") == str(missing[-1])
    assert taken == missing


def test_a_store_that_kept_memories_alone_learns_to_keep_conversations(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    with Records.open(path) as records, records._connected(Begin.DURABLE) as connection:
        for name in ("touches", "messages", "turns", "conversations", "transcript_files", "elsewhere_titles"):
            connection.exec_driver_sql(f"DROP TABLE {name}")
        store.Store(connection).put("schema_version", "1")

    with Records.open(path) as records, records.reading() as transaction:
        assert transaction.conversations.counts(ALL_PROJECTS).conversations == 0
        assert transaction.transcript_files.counts().files == 0
        assert transaction.store.get("schema_version") == str(SCHEMA_VERSION)


def test_an_older_store_learns_of_names_and_of_labels_with_types(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    wanted = memory("Paid once.", type="requirement", metadata={"requirement_id": "REQ-SHOP-1", "n": 7})
    design = memory("Keys.", metadata={"related_requirements": ["REQ-SHOP-1"], "done": True})
    with Records.open(path) as records:
        keep(records, wanted)
        keep(records, design)
        with records._connected(Begin.DURABLE) as connection:
            connection.execute(schema.links.delete())
            connection.execute(schema.memory_names.delete())
            connection.execute(schema.memory_references.delete())
            old = {"metadata": ["requirement_id=REQ-SHOP-1", "n=7", "done=true"], "type": ["requirement"]}
            connection.execute(schema.passages.update().values(labels=old))
            store.Store(connection).put("schema_version", "3")

    with Records.open(path) as records, records.reading() as transaction:
        (edge,) = transaction.links.edges_at([wanted.id])
        passage = transaction.passages.find([wanted.id])[wanted.id]
    assert (edge.start.id, edge.end.id) == (design.id, wanted.id)
    assert passage.labels["metadata"] == ['"requirement_id": "REQ-SHOP-1"', '"n": 7', '"done": true']


def test_a_step_that_fails_leaves_the_old_version(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"

    def half(connection: object) -> None:
        raise RuntimeError

    with Records.open(path) as records:
        with pytest.raises(RuntimeError), records._connected(Begin.DURABLE) as connection:
            migrate(connection, path, newest=SCHEMA_VERSION + 1, steps={SCHEMA_VERSION + 1: half})
        with records.reading() as transaction:
            assert transaction.store.get("schema_version") == str(SCHEMA_VERSION)


def test_somebody_else_s_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    with sqlite3.connect(path) as plain:
        plain.execute("CREATE TABLE recipes (name)")
    plain.close()

    with pytest.raises(StoreCorrupt, match="not one of Backstory's"):
        Records.open(path)

    with sqlite3.connect(path) as plain:
        assert plain.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    plain.close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    path.write_bytes(b"notes of mine, not a database at all" * 200)
    bytes_before = path.read_bytes()

    with pytest.raises(StoreCorrupt) as refused:
        Records.open(path)

    assert "restore" in (refused.value.hint or "")
    assert path.read_bytes() == bytes_before


def test_damage_inside_the_file_is_found_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    with Records.open(path) as records:
        for number in range(300):
            keep(records, memory(f"number {number} " + "words " * 50))
    damaged = bytearray(path.read_bytes())
    middle = len(damaged) // 2 // 4096 * 4096
    damaged[middle : middle + 4096 * 4] = b"\xff" * 4096 * 4
    path.write_bytes(damaged)

    with pytest.raises(StoreCorrupt):
        Records.open(path)

    assert path.read_bytes() == bytes(damaged)


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreReadOnly) as refused:
        Records.open(tmp_path / "file" / "home" / "backstory.db")

    assert "BACKSTORY_HOME" in (refused.value.hint or "")


def test_a_whole_check_finds_words_that_went_missing(records: Records) -> None:
    kept = keep(records, memory("Carts round up."))
    assert records.problems() == []
    with records._connected(Begin.DURABLE) as connection:
        run = connection.exec_driver_sql
        run("DROP TRIGGER passage_words_update")
        run(f"UPDATE passages SET terms = 'other' WHERE id = '{kept.id}'")

    with pytest.raises(StoreCorrupt):
        records.problems()


STATEMENTS = {
    f"{module.__name__}.{name}": value
    for module in (audit, generations, links, live, marks, memories, passages, store)
    for name, value in vars(module).items()
    if isinstance(value, ClauseElement) and value.supports_execution
}


def test_what_a_thread_reads_in_one_snapshot_is_of_one_moment(records: Records) -> None:
    early = keep(records, memory("Carts round up."))
    late = memory("Carts round down.")

    with records.one_snapshot():
        with records.reading() as transaction, records.one_snapshot():
            known = [transaction.memories.get(SHOP, early.id)]
        other = threading.Thread(target=keep, args=(records, late))
        other.start()
        other.join()
        with records.reading() as transaction:
            known.append(transaction.memories.get(SHOP, late.id))

    assert known == [early, None]
    with records.reading() as transaction:
        assert transaction.memories.get(SHOP, late.id) == late


def test_a_fault_inside_a_snapshot_is_told_where_it_happens(records: Records) -> None:
    with records.one_snapshot():
        with pytest.raises(StoreReadOnly, match=r"cannot be written"), records.reading():
            raise PermissionError(errno.EACCES, "not yours")
        with records.reading() as transaction:
            assert transaction.memories.get(SHOP, "nobody") is None


def test_a_lazy_write_is_kept_and_the_next_one_waits_for_the_disk_again(tmp_path: Path) -> None:
    path = tmp_path / "backstory.db"
    kept = memory("Carts round up.")
    with Records.open(path) as records:
        with records.writing(lazily=True) as transaction:
            transaction.memories.add(kept, passage_of(kept))
            assert _waits_for_the_disk(transaction) == 1
        with records.writing() as transaction:
            assert _waits_for_the_disk(transaction) == 2

    with Records.open(path) as records, records.reading() as transaction:
        assert transaction.memories.get(SHOP, kept.id) == kept


def _waits_for_the_disk(transaction: Transaction) -> int:
    return int(transaction._connection.exec_driver_sql("PRAGMA synchronous").scalar_one())


def test_the_journal_is_brought_into_the_file_when_it_has_grown(records: Records) -> None:
    before = records.path.stat().st_size
    for number in range(JOURNALED_WRITES - 2):  # making the store was one
        keep(records, memory(f"Cart {number} rounds up."))
    records.checkpoint()
    assert records.path.stat().st_size == before

    keep(records, memory("The last cart rounds up."))
    keep(records, memory("The very last cart rounds up."))
    records.checkpoint()

    assert records.path.stat().st_size > before


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_can_be_said_in_postgresql(name: str) -> None:
    assert str(STATEMENTS[name].compile(dialect=POSTGRESQL))


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        (memories._FIND_INSIDE, "memories USING INDEX sqlite_autoindex_memories_1 (id=?)"),
        (memories._GET_INSIDE, "memories USING INDEX sqlite_autoindex_memories_1 (id=?)"),
        (passages._AFTER, "passages USING INDEX passages_by_index (index_name=? AND number>?)"),
        (passages._IDS_AFTER, "passages USING INDEX sqlite_autoindex_passages_1 (id>?)"),
        (links._EDGES_AT, "links USING INDEX links_by_end (to_id=?)"),
        (links._EDGES_IN, "links USING INDEX links_by_project (project=?)"),
        (marks._PENDING, "marks USING INDEX marks_in_order (target=? AND revision>?)"),
        (marks._PENDING_IN, "marks USING INDEX marks_by_project (target=? AND project=? AND revision>?)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
def test_what_is_asked_often_is_found_by_an_index(
    records: Records, statement: ClauseElement, way: str
) -> None:
    check_way(records, statement, way)


def test_every_table_can_be_made_in_postgresql() -> None:
    for table in schema.metadata.sorted_tables:
        assert str(CreateTable(table).compile(dialect=POSTGRESQL))
        for index in table.indexes:
            assert str(CreateIndex(index).compile(dialect=POSTGRESQL))
