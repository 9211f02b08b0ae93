"""Memories that are written to a file and read in again, by the actions, on embedded engines."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.adding import first_version
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.unmerge import unmerge
from backstory.actions.memory.update import update_memory
from backstory.actions.portable.export_memories import export_memories
from backstory.actions.portable.import_memories import Imported, Outcome, import_memories
from backstory.actions.portable.import_plan import Wish
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, InputError, StoreTooNew
from backstory.model.graph import RelationshipType
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.passage import Index
from backstory.model.portable import OnConflict, Selection
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.search import MemoryQuery
from backstory.ranking.memories import passage_of
from backstory.records.records import Records
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .portable_stores import Step, live, lives

EXPORT = "export.jsonl"
SHOP, BANK = Project("shop"), Project("bank")
DEPENDS_ON = RelationshipType.DEPENDS_ON
SETTLING = [OnConflict.SKIP, OnConflict.OVERWRITE, OnConflict.KEEP_BOTH]


@contextmanager
def empty(engine: Engine) -> Iterator[Engine]:
    """The engine with records that hold nothing, in a folder of their own."""
    with TemporaryDirectory(dir=engine.home) as folder, Records.open(Path(folder) / "records.db") as records:
        yield replace(engine, records=records, home=Path(folder))


def exported(engine: Engine) -> bytes:
    """The export of a whole store."""
    path = engine.home / EXPORT
    export_memories(engine, Selection(ALL_PROJECTS), path, Work(), overwrite=True)
    return path.read_bytes()


def links(engine: Engine) -> set[tuple[str, str, str]]:
    """The links that are seen in a store, whoever asked for them."""
    with engine.records.reading() as records:
        edges = [edge for project in records.memories.projects() for edge in records.links.edges_in(project)]
    return {(edge.start.id, edge.type, edge.end.id) for edge in edges}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engines that all stores of these tests share; they come to no projection."""
    home = tmp_path_factory.mktemp("files")
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})) as engine:
        yield engine


@pytest.fixture
def source(opened: Engine) -> Iterator[Engine]:
    with empty(opened) as store:
        yield store


@pytest.fixture
def target(opened: Engine) -> Iterator[Engine]:
    with empty(opened) as store:
        yield store


def remember(engine: Engine, content: str, project: Project = SHOP, **fields: object) -> MemoryId:
    new = replace(NewMemory("design", content), **fields)  # type: ignore[arg-type]  # real fields only
    return add_memory(engine, project, new).memory.id


def moved(source: Engine, target: Engine, **wish: Any) -> Imported:
    """Read in what the other store exports."""
    exported(source)
    return import_memories(target, source.home / EXPORT, Wish(**wish), Work())


def content(engine: Engine, id: str) -> str:
    return get_memory(engine, ALL_PROJECTS, id).memory.content


def versions(engine: Engine, id: str) -> list[str]:
    with engine.records.reading() as records:
        return [each.content for each in records.memories.versions(id)]


def written(engine: Engine, *lines: object, memories: int | None = None) -> Path:
    """A file that looks like an export and has these lines."""
    path = engine.home / "made.jsonl"
    header = {
        "format": "backstory-memories",
        "version": 1,
        "memories": len(lines) if memories is None else memories,
    }
    path.write_text("\n".join(json.dumps(each) for each in (header, *lines)), "utf-8")
    return path


VERSION = {"content": "Orders.", "metadata": {}, "importance": 1, "written_at": "2026-01-01T00:00:00Z"}
FOLDED = {"operation": "folded", "version": 1, "at": "2026-01-01T00:00:00Z"}
MERGE = {
    "id": "9e3d7c1a-0b52-4f0e-8d61-2a4c6e8f0b13",
    "version": 2,
    "folded": ["121c33c0-38e8-463b-896a-9a9530dc801d"],
    "before": {"3b3bbfc5-c6ee-47ed-a79e-8f7c2d55b968": 1, "121c33c0-38e8-463b-896a-9a9530dc801d": 1},
    "why": "alike",
    "at": "2026-01-01T00:00:00Z",
}


def line(**parts: object) -> dict[str, object]:
    """A line that could be read in, with other parts."""
    return {
        "id": "3b3bbfc5-c6ee-47ed-a79e-8f7c2d55b968",
        "project": "shop",
        "type": "design",
        "content": "Orders go through the outbox.",
        "metadata": {},
        "importance": 0.5,
        "version": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        **parts,
    }


@given(steps=lives)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_export_read_in_elsewhere_is_exported_there_with_the_same_bytes(
    opened: Engine, steps: list[Step]
) -> None:
    with empty(opened) as source, empty(opened) as target:
        live(source.records, steps)
        before = exported(source)

        done = import_memories(target, source.home / EXPORT, Wish(), Work())

        assert done.links_left_out == 0
        assert exported(target) == before
        assert links(target) == links(source)


@given(shared=lives, here=lives, there=lives, policy=st.sampled_from(SETTLING))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_two_stores_went_through_the_second_import_changes_nothing(
    opened: Engine, shared: list[Step], here: list[Step], there: list[Step], policy: OnConflict
) -> None:
    with empty(opened) as source, empty(opened) as target:
        live(source.records, shared + here)
        live(target.records, shared + there)

        first = moved(source, target, on_conflict=policy)
        after = exported(target)
        second = moved(source, target, on_conflict=policy)

        assert exported(target) == after
        assert second.outcomes.total() == first.memories
        assert set(second.outcomes) <= {Outcome.PRESENT, Outcome.SKIPPED}
        assert target.records.problems() == []


def test_what_was_read_in_is_found_by_words_at_once_and_by_meaning_after_upkeep(
    source: Engine, engine: Engine
) -> None:
    live_id = remember(source, "Users sign in with a one-time code.")
    delete_memory(source, SHOP, remember(source, "Users sign in with a card."))

    done = moved(source, engine)

    assert done.outcomes == Counter({Outcome.ADDED: 2})
    assert [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery("sign")).hits] == [live_id]
    while upkeep(engine, Work()):
        pass
    (hit,) = search_memories(engine, SHOP, MemoryQuery("authentication login")).hits
    assert (hit.memory.id, "meaning" in hit.parts) == (live_id, True)
    with engine.records.reading() as records:
        assert records.marks.count() == {}
        assert records.passages.count(Index.MEMORIES) == 1


def test_reading_in_twice_changes_nothing(source: Engine, target: Engine) -> None:
    remember(source, "Prices are in cents.")
    moved(source, target)
    before = exported(target)

    for policy in OnConflict:
        assert moved(source, target, on_conflict=policy).outcomes == Counter({Outcome.PRESENT: 1})
        assert exported(target) == before


def test_skip_leaves_what_is_there(source: Engine, target: Engine) -> None:
    id = remember(source, "Prices are in cents.")
    moved(source, target)
    update_memory(target, SHOP, id, MemoryChange(content="Prices are in euros."))
    before = exported(target)

    assert moved(source, target).outcomes == Counter({Outcome.SKIPPED: 1})
    assert exported(target) == before


def test_overwrite_keeps_what_was_there_as_an_older_version(source: Engine, target: Engine) -> None:
    id = remember(source, "Prices are in cents.")
    moved(source, target)
    update_memory(target, SHOP, id, MemoryChange(content="Prices are in euros."))

    done = moved(source, target, on_conflict=OnConflict.OVERWRITE)

    assert done.outcomes == Counter({Outcome.OVERWRITTEN: 1})
    assert content(target, id) == "Prices are in cents."
    assert versions(target, id) == ["Prices are in cents.", "Prices are in euros."]
    with target.records.reading() as records:
        last = records.audit.of(id)[-1]
    assert (last.operation, last.version, last.details) == ("imported", 3, {"version": 1})


def test_overwrite_deletes_and_brings_back(source: Engine, target: Engine) -> None:
    gone, back = remember(source, "Prices are in cents."), remember(source, "Mail is sent at night.")
    moved(source, target)
    delete_memory(source, SHOP, gone)
    delete_memory(target, SHOP, back)

    moved(source, target, on_conflict=OnConflict.OVERWRITE)

    assert content(target, back) == "Mail is sent at night."
    with pytest.raises(InputError, match="deleted"):
        content(target, gone)
    assert search_memories(target, SHOP, MemoryQuery("cents")).hits == []


def test_keep_both_adds_copies_that_are_linked_to_each_other(source: Engine, target: Engine) -> None:
    orders = remember(source, "Orders go through the outbox.")
    mail = remember(source, "Mail waits for orders.", relationships=[Relationship(DEPENDS_ON, orders)])
    moved(source, target)
    for id in (orders, mail):
        update_memory(target, SHOP, id, MemoryChange(content="Something else."))

    done = moved(source, target, on_conflict=OnConflict.KEEP_BOTH)

    assert done.outcomes == Counter({Outcome.COPIED: 2})
    ((start, _, end),) = links(target) - links(source)
    assert (content(target, start), content(target, end)) == (
        "Mail waits for orders.",
        "Orders go through the outbox.",
    )
    assert {start, end}.isdisjoint({orders, mail})
    again = moved(source, target, on_conflict=OnConflict.KEEP_BOTH)
    assert again.outcomes == Counter({Outcome.PRESENT: 2})


def test_a_copy_that_was_changed_stays_so_when_the_file_is_read_in_again(
    source: Engine, target: Engine
) -> None:
    id = remember(source, "Orders go through the outbox.")
    moved(source, target)
    update_memory(target, SHOP, id, MemoryChange(content="Orders go through a queue."))
    moved(source, target, on_conflict=OnConflict.KEEP_BOTH)
    (copy,) = set(chosen(target, SHOP)) - {id}
    update_memory(target, SHOP, copy, MemoryChange(content="Orders went through the outbox."))

    again = moved(source, target, on_conflict=OnConflict.KEEP_BOTH)

    assert again.outcomes == Counter({Outcome.SKIPPED: 1})
    assert content(target, copy) == "Orders went through the outbox."


def test_fail_stores_nothing_and_names_what_differs(source: Engine, target: Engine) -> None:
    id = remember(source, "Prices are in cents.")
    moved(source, target)
    remember(source, "Mail is sent at night.")
    update_memory(target, SHOP, id, MemoryChange(content="Prices are in euros."))
    before = exported(target)

    with pytest.raises(InputError, match=f"line 2: memory {id} is kept already"):
        moved(source, target, on_conflict=OnConflict.FAIL)

    assert exported(target) == before


def test_a_merge_can_be_undone_where_it_was_read_in(source: Engine, target: Engine) -> None:
    kept, folded, merge = (uuid4() for _ in range(3))
    design: tuple[str, dict[str, object]] = ("design", {})
    steps = [
        Step("add", 0, 0, kept, "shop", design, "Prices are in cents.", 0.5),
        Step("add", 0, 0, folded, "shop", design, "All prices are in cents.", 0.5),
        Step("merge", 0, 1, merge, "shop", design, "Prices are in cents, all of them.", 0.5),
    ]
    live(source.records, steps)
    moved(source, target)
    assert content(target, str(kept)) == "Prices are in cents, all of them."

    unmerge(target, SHOP, str(merge))

    assert content(target, str(kept)) == "Prices are in cents."
    assert content(target, str(folded)) == "All prices are in cents."


def test_overwriting_what_was_folded_brings_its_links_back(source: Engine, target: Engine) -> None:
    orders, payments = ("component", {"name": "orders"}), ("component", {"name": "payments"})
    kept, folded = uuid4(), uuid4()
    both = [
        Step("add", 0, 0, kept, "shop", orders, "Orders take money.", 0.5),
        Step("add", 0, 0, folded, "shop", payments, "Payments.", 0.5),
    ]
    live(source.records, both)
    remember(source, "The shop.", type="component", metadata={"name": "shop", "dependencies": ["payments"]})
    remember(source, "Money is asked for.", relationships=[Relationship(DEPENDS_ON, MemoryId(str(folded)))])
    moved(source, target)
    live(target.records, [*both, Step("merge", 0, 1, uuid4(), "shop", orders, "Orders and payments.", 0.5)])
    assert links(target) != links(source)

    moved(source, target, on_conflict=OnConflict.OVERWRITE)

    assert links(target) == links(source)


def test_who_names_a_memory_is_linked_to_it_wherever_they_meet(source: Engine, target: Engine) -> None:
    asks = {"requirement_id": "REQ-A-2", "related_requirements": ["REQ-A-1"]}
    there = remember(target, "Refunds follow payments.", type="requirement", metadata=asks)
    here = remember(source, "Pay once.", type="requirement", metadata={"requirement_id": "REQ-A-1"})
    too = remember(source, "Pay soon.", type="requirement", metadata={**asks, "requirement_id": "REQ-A-3"})

    moved(source, target)

    assert links(target) == {(there, "RELATES_TO", here), (too, "RELATES_TO", here)}


class Stopping(Work):
    """Is cancelled at a message, the second time it comes."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self._left = 2
        self._message = message

    def step(self, done: int, total: int | None, message: str) -> None:
        self._left -= message == self._message
        if not self._left:
            self.cancel()
        super().step(done, total, message)


def test_an_import_that_was_stopped_goes_on_where_it_was(source: Engine, target: Engine) -> None:
    new = [NewMemory("design", f"Decision {number}.") for number in range(250)]
    with source.records.writing() as records:
        memories = [first_version(SHOP, each, None) for each in new]
        records.memories.add_all([(each, passage_of(each), ()) for each in memories])
    before = exported(source)

    with pytest.raises(Cancelled):
        import_memories(target, source.home / EXPORT, Wish(), Stopping("importing memories"))
    assert 0 < len(exported(target)) < len(before)
    done = moved(source, target, on_conflict=OnConflict.FAIL)

    assert done.outcomes == Counter({Outcome.PRESENT: 200, Outcome.ADDED: 50})
    assert exported(target) == before


def test_progress_is_reported_to_the_end(source: Engine, target: Engine) -> None:
    remember(source, "Prices are in cents.")
    told: list[tuple[int, int | None, str]] = []

    def report(*step: Any) -> None:
        told.append(step)

    path = source.home / EXPORT
    export_memories(source, Selection(SHOP), path, Work(report))
    import_memories(target, path, Wish(), Work(report))

    assert told == [
        (0, 1, "exporting memories"),
        (1, 1, "exported"),
        (1, 2, "checking memories"),
        (2, 2, "importing memories"),
    ]


def test_a_link_waits_for_its_other_end(source: Engine, target: Engine) -> None:
    orders = remember(source, "Orders go through the outbox.", type="code_pattern")
    mail = remember(source, "Mail waits for orders.", relationships=[Relationship(DEPENDS_ON, orders)])
    parts = {name: source.home / f"{name}.jsonl" for name in ("design", "code_pattern")}
    for type_, path in parts.items():
        export_memories(source, Selection(SHOP, [type_]), path, Work())

    assert import_memories(target, parts["design"], Wish(), Work()).links_left_out == 1
    import_memories(target, parts["code_pattern"], Wish(), Work())
    assert links(target) == set()
    assert import_memories(target, parts["design"], Wish(), Work()).links_left_out == 0

    assert links(target) == {(mail, "DEPENDS_ON", orders)}


def test_all_go_into_another_project_and_none_is_taken_from_its_own(source: Engine, target: Engine) -> None:
    orders = remember(source, "Orders go through the outbox.")
    remember(source, "Mail waits for orders.", BANK)

    assert moved(source, target, project=SHOP).outcomes == Counter({Outcome.ADDED: 2})
    assert len(search_memories(target, SHOP, MemoryQuery("orders")).hits) == 2
    with pytest.raises(InputError, match=f"memory {orders} is in the project shop"):
        moved(source, target, project=BANK, on_conflict=OnConflict.OVERWRITE)
    assert moved(source, target, project=BANK).outcomes == Counter({Outcome.SKIPPED: 2})
    done = moved(source, target, project=BANK, on_conflict=OnConflict.KEEP_BOTH)
    assert done.outcomes == Counter({Outcome.COPIED: 2})
    assert len(search_memories(target, BANK, MemoryQuery("orders")).hits) == 2


def test_only_what_was_chosen_is_exported(source: Engine) -> None:
    first = remember(source, "Prices are in cents.", metadata={"area": "money", "size": 3})
    second = remember(
        source, "Mail is sent at night.", type="code_pattern", metadata={"area": ["mail", "money"]}
    )
    other = remember(source, "Accounts have numbers.", BANK)
    moment = get_memory(source, SHOP, second).memory.created_at

    assert chosen(source, SHOP) == [first, second]
    assert chosen(source, ALL_PROJECTS) == [first, second, other]
    assert chosen(source, SHOP, types=["design"]) == [first]
    assert chosen(source, SHOP, metadata={"area": "money"}) == [first, second]
    assert chosen(source, SHOP, metadata={"area": "money", "size": 3}) == [first]
    assert chosen(source, SHOP, since=moment) == [second]
    assert chosen(source, ALL_PROJECTS, until=moment) == [first, second]


def chosen(engine: Engine, scope: Scope, **conditions: Any) -> list[str]:
    """The ids of what is exported, in the order of the file."""
    path = engine.home / EXPORT
    done = export_memories(engine, Selection(scope, **conditions), path, Work(), overwrite=True)
    _, *lines = path.read_text("utf-8").splitlines()
    assert done.memories == len(lines)
    assert done.size_bytes == path.stat().st_size
    return [json.loads(each)["id"] for each in lines]


def test_a_file_that_is_no_export_is_never_overwritten(source: Engine) -> None:
    path = source.home / "notes.md"
    path.write_text("# Notes\n")

    for overwrite in (False, True):
        with pytest.raises(InputError):
            export_memories(source, Selection(SHOP), path, Work(), overwrite=overwrite)

    assert path.read_text() == "# Notes\n"


def test_an_export_is_overwritten_only_on_request(source: Engine) -> None:
    path = source.home / EXPORT
    export_memories(source, Selection(SHOP), path, Work())

    with pytest.raises(InputError, match="exists already"):
        export_memories(source, Selection(SHOP), path, Work())
    export_memories(source, Selection(SHOP), path, Work(), overwrite=True)


def test_an_export_that_fails_leaves_the_folder_as_it_was(source: Engine) -> None:
    remember(source, "Prices are in cents.")
    before = exported(source)
    work = Work()
    work.cancel()

    with pytest.raises(Cancelled):
        export_memories(source, Selection(SHOP), source.home / EXPORT, work, overwrite=True)
    with pytest.raises(InputError, match="cannot be written"):
        export_memories(source, Selection(SHOP), source.home / "nowhere" / EXPORT, Work())

    assert (source.home / EXPORT).read_bytes() == before
    assert list(source.home.glob(".export-*")) == []


def test_without_a_path_the_file_is_among_the_exports_and_for_its_owner_alone(source: Engine) -> None:
    done = export_memories(source, Selection(SHOP), None, Work())

    assert done.path.parent == source.home / "exports"
    assert done.path.stat().st_mode & 0o077 == 0


MISTAKES: dict[str, tuple[object, str]] = {
    "no object": ([], "it is not a JSON object"),
    "something left out": ({"id": line()["id"]}, "`type` is missing"),
    "something unknown": (line(importence=1), "`importence` is not known here"),
    "no type": (line(type="idea"), "`type` must be one of: "),
    "no id": (line(id="7"), "`id` must be a UUID"),
    "no content": (line(content=" "), "the memory has no content"),
    "NUL": (line(content="a\0"), "`content` must be a text without NUL"),
    "half a character": (line(content="\ud800"), "it is not valid JSON"),
    "no time": (line(created_at="yesterday"), "`created_at` must be a time"),
    "no zone": (line(created_at="2026-01-01T00:00:00"), "`created_at` must be a time with its zone"),
    "too important": (line(importance=2), "`importance` must be a number from 0 to 1"),
    "no project": (line(project="*"), "`project` must be a printable name"),
    "no number": (line(version=True), "`version` must be a whole number"),
    "no version": (line(version=0), "`version` must be 1 or more"),
    "not finite": (line(metadata={"size": float("inf")}), "`metadata`: the metadata is not JSON"),
    "a link of no type": (line(links=[{"type": "LIKES"}]), "the `type` of a link must be one of"),
    "a link to nothing": (line(links=[{"type": "CALLS", "from": line()["id"]}]), "`links[0].to` is missing"),
    "a version to come": (
        line(versions=[{**VERSION, "version": 1}]),
        "`versions` must be older than the present one",
    ),
    "too many uses": (line(used=2**63), "`used` must be a whole number from 0 to"),
    "before all time": (line(created_at="0001-01-01T00:00:00+14:00"), "`created_at` must be a time between"),
    "after all time": (line(deleted_at="9999-12-31T00:00:00Z"), "`deleted_at` must be a time between"),
    "folded into nothing": (line(audit=[{**FOLDED, "details": {}}]), "`audit[0].details.into` is missing"),
    "folded into nobody": (
        line(audit=[{**FOLDED, "details": {"into": "it"}}]),
        "`audit[0].details.into` must be a UUID",
    ),
    "a merge of nobody": (line(merges=[{**MERGE, "folded": ["it"]}]), "`merges[0].folded` must be a list of"),
    "a merge without versions": (line(merges=[{**MERGE, "before": {}}]), "a merge must have the versions"),
    "a merge of a version that is not there": (line(merges=[MERGE]), "a merge must have the versions"),
}


@pytest.mark.parametrize(("wrong", "why"), MISTAKES.values(), ids=MISTAKES)
def test_a_line_that_cannot_be_kept_is_named_and_nothing_is_read_in(
    source: Engine, wrong: object, why: str
) -> None:
    path = written(source, line(id="121c33c0-38e8-463b-896a-9a9530dc801d"), wrong)

    with pytest.raises(InputError) as raised:
        import_memories(source, path, Wish(), Work())

    assert f"line 3: {why}" in str(raised.value)
    assert chosen(source, ALL_PROJECTS) == []


def test_many_mistakes_are_counted(source: Engine) -> None:
    with pytest.raises(InputError, match=r"line 11: .*; and 5 more"):
        import_memories(source, written(source, *[{}] * 15), Wish(), Work())


def test_a_memory_that_is_in_the_file_twice_is_a_mistake(source: Engine) -> None:
    with pytest.raises(InputError, match=r"line 3: memory .* is in the file twice"):
        import_memories(source, written(source, line(), line()), Wish(), Work())


def test_a_file_that_was_cut_off_is_not_read_in(source: Engine) -> None:
    with pytest.raises(InputError, match="has 1 memories, and says that it has 2"):
        import_memories(source, written(source, line(), memories=2), Wish(), Work())


@pytest.mark.parametrize("text", ["", "# Notes", "{}", "[1]", '{"format": "other", "version": 1}'])
def test_a_file_that_is_no_export_is_not_read_in(source: Engine, text: str) -> None:
    path = source.home / "notes.md"
    path.write_text(text)

    with pytest.raises(InputError, match="is no export of memories"):
        import_memories(source, path, Wish(), Work())


@pytest.mark.parametrize("name", [".", "nowhere.jsonl", "pipe"])
def test_what_is_no_file_is_not_read_in(source: Engine, name: str) -> None:
    os.mkfifo(source.home / "pipe")

    with pytest.raises(InputError, match="there is no file"):
        import_memories(source, source.home / name, Wish(), Work())


def test_an_export_of_a_newer_version_is_not_read_in(source: Engine) -> None:
    path = source.home / EXPORT
    path.write_text('{"format": "backstory-memories", "version": 2, "more": true}')

    with pytest.raises(StoreTooNew, match="version 2"):
        import_memories(source, path, Wish(), Work())


def test_a_memory_without_history_begins_one(source: Engine) -> None:
    import_memories(source, written(source, line()), Wish(), Work())

    with source.records.reading() as records:
        (added,) = records.audit.of(str(line()["id"]))
    assert (added.operation, added.version) == ("added", 1)


def test_what_breaks_a_younger_rule_is_read_in_with_a_warning(source: Engine) -> None:
    lines = [line(id=str(uuid4()), type="requirement") for _ in range(12)]

    done = import_memories(source, written(source, *lines), Wish(), Work())

    assert done.outcomes == Counter({Outcome.ADDED: 12})
    assert (len(done.warnings), done.warning_count) == (10, 12)
    assert done.warnings[0].startswith(f"line 2: requirement {lines[0]['id']}: requirement_id")
