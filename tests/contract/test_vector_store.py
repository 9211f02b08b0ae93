"""What every VectorStore promises, asked of every implementation."""

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from backstory.adapters.qdrant_edge import QdrantEdgeVectorStore
from backstory.errors import ContentRefused, StoreError
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.search import AnyOf, Between, Scored, Where
from backstory.ports import (
    Entry,
    Every,
    IndexSpec,
    IndexState,
    Leg,
    Matrix,
    Meaning,
    Vector,
    VectorStore,
    WordField,
    Words,
)
from backstory.testing import InMemoryVectorStore

DIMENSION = 8
SHOP, BANK = Project("shop"), Project("bank")
SPEC = IndexSpec(
    name="notes-1",
    dimension=DIMENSION,
    spaces=("text", "title", "summary"),
    fields=(
        WordField("text", k1=1.2, b=0.75, average_words=6),
        WordField("title", k1=0.9, b=0.4, average_words=2),
    ),
    labels=("kind", "tag"),
    numbers=("at", "importance"),
    single=("summary",),
)
NOTES = SPEC.name

STORES: dict[str, Callable[[Path], AbstractContextManager[VectorStore]]] = {
    "in-memory": lambda folder: nullcontext(InMemoryVectorStore()),
    "qdrant-edge": QdrantEdgeVectorStore.open,
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    with STORES[request.param](tmp_path) as opened:
        opened.ensure(SPEC)
        yield opened


def id_of(number: int) -> str:
    return str(UUID(int=number))


def direction(*components: float) -> Vector:
    """A unit vector that begins with these components."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(components)] = components
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def rows(*vectors: Vector) -> Matrix:
    return np.array(vectors, np.float32)


EAST, NORTH, UP = direction(1), direction(0, 1), direction(0, 0, 1)


def note(number: int, text: str = "", *chunks: Vector, project: Project = SHOP) -> Entry:
    """An entry with these words and these vectors under "text"; without either, it has neither."""
    vectors = {"text": rows(*chunks)} if chunks else {}
    return Entry(id_of(number), project, vectors, {"text": text} if text else {})


def answer(store: VectorStore, leg: Leg, scope: Scope = SHOP, where: Where | None = None) -> list[Scored]:
    (found,) = store.query(NOTES, [leg], where or Where(scope))
    return found


def numbers(found: Sequence[Scored]) -> list[int]:
    return [UUID(each.id).int for each in found]


def near(vector: Vector, limit: int = 10) -> Meaning:
    return Meaning("text", vector, limit)


def words(terms: str, limit: int = 10) -> Words:
    return Words("text", terms, limit)


EVERY = Every(None, 100)

#: A leg of each kind; what holds for one must hold for all.
LEGS: tuple[Leg, ...] = (near(EAST), words("cart"), EVERY)


def found_by_all(store: VectorStore, where: Where) -> list[int]:
    """What every leg finds, in the order of ids."""
    by_meaning, by_words, listed = (sorted(numbers(each)) for each in store.query(NOTES, LEGS, where))
    assert by_meaning == by_words == listed
    return listed


def test_the_nearest_entry_comes_first(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "", EAST), note(2, "", direction(1, 1)), note(3, "", NORTH)])

    found = answer(store, near(direction(0.1, 1)))

    assert numbers(found) == [3, 2, 1]
    assert found[0].score == pytest.approx(0.995, abs=2e-3)


def test_an_entry_is_as_near_as_its_best_chunk(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "", EAST, NORTH, UP), note(2, "", direction(1, 1))])

    assert numbers(answer(store, near(NORTH))) == [1, 2]


def test_the_length_of_a_vector_does_not_matter(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "", 7 * NORTH)])

    assert answer(store, near(3 * NORTH))[0].score == pytest.approx(1, abs=1e-3)


def test_each_space_is_searched_by_itself(store: VectorStore) -> None:
    store.upsert(
        NOTES,
        [
            Entry(id_of(1), SHOP, {"title": rows(EAST)}, {}),
            Entry(id_of(2), SHOP, {"text": rows(EAST)}, {}),
        ],
    )

    assert numbers(answer(store, Meaning("title", EAST, 10))) == [1]


def test_a_space_for_one_vector_is_searched_as_any_other(store: VectorStore) -> None:
    summaries = {1: EAST, 2: 5 * direction(1, 1), 3: np.zeros(DIMENSION, np.float32), 4: -NORTH}
    store.upsert(NOTES, [Entry(id_of(n), SHOP, {"summary": rows(each)}, {}) for n, each in summaries.items()])

    found = answer(store, Meaning("summary", 2 * NORTH, 10))

    assert numbers(found) == [2, 1, 4]
    assert [each.score for each in found] == pytest.approx([0.7071, 0, -1], abs=2e-3)


def test_an_entry_without_vectors_is_found_by_its_words_alone(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth login"), note(2, "", EAST)])

    assert numbers(answer(store, near(EAST))) == [2]
    assert numbers(answer(store, words("oauth"))) == [1]


def test_a_chunk_without_meaning_counts_for_nothing(store: VectorStore) -> None:
    nothing = np.zeros(DIMENSION, np.float32)
    store.upsert(NOTES, [note(1, "", nothing, -EAST), note(2, "oauth", nothing)])

    found = answer(store, near(EAST))

    assert numbers(found) == [1]
    assert found[0].score == pytest.approx(-1, abs=1e-3)
    assert numbers(answer(store, words("oauth"))) == [2]


def test_a_query_without_meaning_finds_nothing(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "", EAST)])

    assert answer(store, near(np.zeros(DIMENSION, np.float32))) == []


def test_only_entries_with_one_of_the_words_are_found(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth login"), note(2, "cart total"), note(3, "login page")])

    assert set(numbers(answer(store, words("login oauth")))) == {1, 3}


def test_a_rare_word_weighs_more_than_a_common_one(store: VectorStore) -> None:
    store.upsert(NOTES, [note(n, "cart total") for n in range(1, 9)] + [note(9, "oauth total")])

    assert numbers(answer(store, words("oauth cart")))[0] == 9


def test_a_word_said_often_weighs_more_in_a_text_of_equal_length(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "cart total cart"), note(2, "cart total sum"), note(3, "oauth")])

    assert numbers(answer(store, words("cart"))) == [1, 2]


def test_a_word_weighs_more_in_a_short_text(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "cart of many other things"), note(2, "cart"), note(3, "oauth")])

    assert numbers(answer(store, words("cart"))) == [2, 1]


def test_each_field_is_scored_by_itself(store: VectorStore) -> None:
    store.upsert(
        NOTES,
        [
            Entry(id_of(1), SHOP, {}, {"title": "cart", "text": "oauth"}),
            Entry(id_of(2), SHOP, {}, {"title": "login", "text": "cart"}),
        ],
    )

    in_title, in_text = store.query(
        NOTES, [Words("title", "cart", 10), Words("text", "cart", 10)], Where(SHOP)
    )

    assert (numbers(in_title), numbers(in_text)) == ([1], [2])
    assert in_title[0].score != in_text[0].score  # k1, b and the average length are the field's own


def test_an_entry_without_words_is_found_by_its_meaning_alone(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "", EAST), note(2, "oauth")])

    assert numbers(answer(store, words("oauth"))) == [2]
    assert numbers(answer(store, near(EAST))) == [1]


def test_terms_are_taken_as_they_are(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "the Running größe.x"), note(2, "a loadConfig GRÖSSE")])

    for terms, expected in {
        "the": [1],
        "a": [2],
        "running": [],
        "Running": [1],
        "größe.x": [1],
        "größe": [],
        "loadConfig": [2],
        "load": [],
    }.items():
        assert numbers(answer(store, words(terms))) == expected, terms


def test_a_query_without_known_words_finds_nothing(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth", EAST)])

    assert store.query(NOTES, [words(""), words("  \n"), words("unheard")], Where(SHOP)) == [[], [], []]


def test_words_are_as_rare_as_they_are_in_the_project(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth"), note(2, "cart"), note(3, "cart")])
    before = answer(store, words("oauth cart"))

    store.upsert(NOTES, [note(n, "oauth", project=BANK) for n in range(10, 30)])

    assert answer(store, words("oauth cart")) == before
    assert answer(store, words("oauth cart"), ALL_PROJECTS) != before


def test_a_filter_does_not_change_how_rare_a_word_is(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth"), note(2, "cart")])

    found = answer(store, words("oauth"), where=Where(SHOP, ids=[id_of(1)]))

    assert found == answer(store, words("oauth"))


@pytest.mark.parametrize("scope", [SHOP, ALL_PROJECTS], ids=str)
def test_removed_and_replaced_entries_do_not_count(store: VectorStore, scope: Scope) -> None:
    store.upsert(NOTES, [note(1, "oauth"), note(2, "cart")])
    before = answer(store, words("oauth cart"), scope)

    store.upsert(NOTES, [note(n, "oauth") for n in range(3, 20)])
    store.upsert(NOTES, [note(2, "oauth")])
    store.upsert(NOTES, [note(2, "cart")])
    store.remove(NOTES, Where(SHOP, ids=[id_of(n) for n in range(3, 20)]))

    assert answer(store, words("oauth cart"), scope) == before


def test_pages_go_through_all_ids_in_order(store: VectorStore) -> None:
    numbers_kept = [2**127 + 5, 3, 2**64, 70, 2**100, 71, 2**128 - 1]
    store.upsert(NOTES, [note(n) for n in numbers_kept])

    read = list(pages(store, limit=2))

    assert [len(page) for page in read] == [2, 2, 2, 1, 0]
    assert [each for page in read for each in page] == [
        Scored(id, 0) for id in sorted(map(id_of, numbers_kept))
    ]


def test_a_page_may_begin_after_an_id_that_is_not_there(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1), note(2), note(9)])

    assert numbers(answer(store, Every(id_of(5), 10))) == [9]


def test_what_has_neither_words_nor_meaning_is_listed(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1), note(2, " \n"), note(3, "cart", EAST)])

    assert numbers(answer(store, EVERY)) == [1, 2, 3]


def pages(store: VectorStore, limit: int) -> Iterator[list[Scored]]:
    after = None
    while True:
        page = answer(store, Every(after, limit), ALL_PROJECTS)
        yield page
        if not page:
            return
        after = page[-1].id


@pytest.fixture
def shelf(store: VectorStore) -> VectorStore:
    """A store in which entries differ in nothing but what can be filtered."""

    def entry(number: int, project: Project, at: float | None = None, **labels: Sequence[str]) -> Entry:
        plain = note(number, "cart", EAST, project=project)
        return replace(plain, labels=labels, numbers={} if at is None else {"at": at})

    store.upsert(
        NOTES,
        [
            entry(1, SHOP, 10, kind=["bug"], tag=["ui", "slow"]),
            entry(2, SHOP, 20.5, kind=["bug"], tag=["slow"]),
            entry(3, SHOP, 30, kind=["design"]),
            entry(4, SHOP),
            entry(5, BANK, 10, kind=["bug"], tag=["ui"]),
        ],
    )
    return store


def test_a_project_never_sees_another(shelf: VectorStore) -> None:
    assert found_by_all(shelf, Where(BANK)) == [5]
    assert found_by_all(shelf, Where(SHOP)) == [1, 2, 3, 4]
    assert found_by_all(shelf, Where(Project("unheard"))) == []


def test_all_projects_are_seen_on_purpose(shelf: VectorStore) -> None:
    assert found_by_all(shelf, Where(ALL_PROJECTS)) == [1, 2, 3, 4, 5]


def test_a_label_has_one_of_the_values(shelf: VectorStore) -> None:
    assert found_by_all(shelf, Where(SHOP, [AnyOf("kind", ["design", "bug"])])) == [1, 2, 3]
    assert found_by_all(shelf, Where(SHOP, [AnyOf("tag", ["ui"])])) == [1]
    assert found_by_all(shelf, Where(SHOP, [AnyOf("kind", [])])) == []


def test_conditions_hold_together(shelf: VectorStore) -> None:
    slow_bug = [AnyOf("kind", ["bug"]), AnyOf("tag", ["slow"])]

    assert found_by_all(shelf, Where(SHOP, slow_bug)) == [1, 2]
    assert found_by_all(shelf, Where(SHOP, [*slow_bug, AnyOf("tag", ["ui"])])) == [1]
    assert found_by_all(shelf, Where(SHOP, slow_bug, {"at": Between(15, 30)}, [id_of(2), id_of(3)])) == [2]


def test_both_bounds_of_a_number_are_included(shelf: VectorStore) -> None:
    for bounds, expected in {
        Between(10, 20.5): [1, 2],
        Between(10.001, 29.999): [2],
        Between(at_least=20.5): [2, 3],
        Between(at_most=20.5): [1, 2],
        Between(): [1, 2, 3],
    }.items():
        assert found_by_all(shelf, Where(SHOP, numbers={"at": bounds})) == expected, bounds


def test_numbers_are_told_apart_to_the_microsecond(store: VectorStore) -> None:
    moment = 1_763_180_000.123456
    store.upsert(NOTES, [replace(note(1, "cart", EAST), numbers={"at": moment})])

    assert found_by_all(store, Where(SHOP, numbers={"at": Between(moment, moment)})) == [1]
    assert found_by_all(store, Where(SHOP, numbers={"at": Between(moment + 1e-6)})) == []


def test_only_the_ids_named_are_seen(shelf: VectorStore) -> None:
    assert found_by_all(shelf, Where(SHOP, ids=[id_of(1), id_of(5), id_of(99), "unheard"])) == [1]
    assert found_by_all(shelf, Where(SHOP, ids=[])) == []


def test_each_leg_is_answered_in_its_place(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth", EAST), note(2, "cart", NORTH)])

    found = store.query(
        NOTES, [words(""), near(NORTH, 1), Every(None, 1), words("oauth"), words("cart")], Where(SHOP)
    )

    assert [numbers(each) for each in found] == [[], [2], [1], [1], [2]]
    assert store.query(NOTES, [], Where(SHOP)) == []


def test_a_leg_keeps_to_its_limit(store: VectorStore) -> None:
    store.upsert(NOTES, [note(n, "cart", EAST) for n in range(1, 8)])

    for limit, expected in {0: 0, 1: 1, 5: 5, 50: 7}.items():
        found = store.query(NOTES, [replace(leg, limit=limit) for leg in LEGS], Where(SHOP))
        assert [len(each) for each in found] == [expected] * 3


def test_equals_are_in_the_order_of_their_ids(store: VectorStore) -> None:
    shuffled = random.Random(5).sample(range(1, 40), 39)
    store.upsert(NOTES, [note(n, "cart", EAST) for n in shuffled])

    found = store.query(NOTES, [replace(leg, limit=50) for leg in LEGS], Where(SHOP))

    assert [numbers(each) for each in found] == [sorted(shuffled)] * 3


def test_an_empty_index_has_no_answers(store: VectorStore) -> None:
    assert found_by_all(store, Where(ALL_PROJECTS)) == []


def test_upserting_again_replaces_the_whole_entry(store: VectorStore) -> None:
    first = replace(note(1, "oauth", EAST), labels={"kind": ["bug"]}, numbers={"at": 1})
    store.upsert(NOTES, [first])

    store.upsert(NOTES, [note(1, "cart", project=BANK)])

    assert answer(store, EVERY, where=Where(ALL_PROJECTS, [AnyOf("kind", ["bug"])])) == []
    assert answer(store, words("oauth"), ALL_PROJECTS) == answer(store, near(EAST), ALL_PROJECTS) == []
    assert answer(store, EVERY) == []
    assert numbers(answer(store, words("cart"), BANK)) == [1]
    assert store.describe()[NOTES].entries == 1


def test_of_two_entries_with_one_id_the_last_is_kept(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1, "oauth"), note(1, "cart")])

    assert answer(store, words("oauth")) == []
    assert numbers(answer(store, words("cart"))) == [1]


def test_any_number_of_entries_may_be_stored_at_once(store: VectorStore) -> None:
    store.upsert(NOTES, [])
    store.upsert(NOTES, [note(n, "cart", EAST) for n in range(1, 1001)])

    assert len(answer(store, Every(None, 2000))) == 1000


BAD_ENTRIES = (
    note(2, "", np.full(DIMENSION, np.nan, np.float32)),
    note(2, "", EAST, np.full(DIMENSION, np.inf, np.float32)),
    note(2, "", np.ones(DIMENSION - 1, np.float32)),
    Entry(id_of(2), SHOP, {"text": EAST}, {}),
    Entry(id_of(2), SHOP, {"summary": rows(EAST, NORTH)}, {}),
    Entry(id_of(2), SHOP, {"unheard": rows(EAST)}, {}),
    note(2, "broken \ud800 text"),
    Entry(id_of(2), SHOP, {}, {"unheard": "cart"}),
    replace(note(2), labels={"kind": ["broken \udfff label"]}),
    replace(note(2), labels={"unheard": ["bug"]}),
    replace(note(2), numbers={"at": float("nan")}),
    replace(note(2), numbers={"at": float("-inf")}),
    replace(note(2), numbers={"unheard": 1.0}),
    replace(note(2), id="two"),
    replace(note(2), id="0000000000000000000000000000000A"),
)


def test_of_a_batch_with_a_bad_entry_nothing_is_stored(store: VectorStore) -> None:
    good = [note(n, "cart", EAST) for n in range(10, 600)]
    for bad in BAD_ENTRIES:
        with pytest.raises(ContentRefused):
            store.upsert(NOTES, [*good, bad])

        assert answer(store, EVERY, ALL_PROJECTS) == [], bad


def test_a_bad_query_is_refused(store: VectorStore) -> None:
    for leg in (
        near(np.full(DIMENSION, np.nan, np.float32)),
        near(np.ones(DIMENSION + 1, np.float32)),
        Meaning("unheard", EAST, 10),
        Words("unheard", "cart", 10),
        words("broken \ud800 text"),
    ):
        with pytest.raises(ContentRefused):
            answer(store, leg)


def test_exactly_what_the_conditions_let_through_is_removed(shelf: VectorStore) -> None:
    for where, left in (
        (Where(SHOP, ids=[id_of(5)]), [1, 2, 3, 4, 5]),
        (Where(SHOP, ids=[]), [1, 2, 3, 4, 5]),
        (Where(Project("unheard")), [1, 2, 3, 4, 5]),
        (Where(SHOP, [AnyOf("kind", ["unheard"])]), [1, 2, 3, 4, 5]),
        (Where(SHOP, ids=[id_of(4), id_of(99), "unheard"]), [1, 2, 3, 5]),
        (Where(SHOP, [AnyOf("kind", ["bug"])], {"at": Between(15)}), [1, 3, 5]),
        (Where(BANK), [1, 3]),
        (Where(ALL_PROJECTS), []),
    ):
        shelf.remove(NOTES, where)

        assert found_by_all(shelf, Where(ALL_PROJECTS)) == left, where
        assert shelf.describe()[NOTES].entries == len(left)


def test_a_removed_entry_may_come_back(shelf: VectorStore) -> None:
    shelf.remove(NOTES, Where(ALL_PROJECTS))

    shelf.upsert(NOTES, [note(1, "oauth", NORTH)])

    assert numbers(answer(shelf, near(NORTH))) == numbers(answer(shelf, words("oauth"))) == [1]


def test_ensuring_twice_keeps_what_is_there(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1)])

    store.ensure(replace(SPEC, spaces=list(SPEC.spaces), labels=list(SPEC.labels)))

    assert store.describe()[NOTES].entries == 1


def test_ensuring_other_fields_under_the_same_name_is_an_error(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1)])
    for other in (
        replace(SPEC, dimension=DIMENSION + 1),
        replace(SPEC, spaces=("text", "title"), single=()),
        replace(SPEC, single=("title", "summary")),
        replace(SPEC, fields=SPEC.fields[:1]),
        replace(SPEC, fields=[replace(field, k1=0.5) for field in SPEC.fields]),
        replace(SPEC, labels=("kind", "tag", "file")),
        replace(SPEC, numbers=()),
    ):
        with pytest.raises(StoreError):
            store.ensure(other)

    assert numbers(answer(store, EVERY)) == [1]


def test_indexes_know_nothing_of_each_other(store: VectorStore) -> None:
    store.ensure(replace(SPEC, name="notes-2", dimension=3))
    store.upsert(NOTES, [note(1, "cart")])
    store.upsert("notes-2", [note(2, "cart"), note(3, "cart")])

    assert store.describe() == {NOTES: IndexState(1), "notes-2": IndexState(2)}
    assert numbers(answer(store, words("cart"))) == [1]


def test_a_dropped_index_is_gone_and_one_made_again_is_empty(store: VectorStore) -> None:
    store.upsert(NOTES, [note(1)])

    store.drop(NOTES)

    assert store.describe() == {}
    with pytest.raises(StoreError):
        answer(store, EVERY)
    store.ensure(replace(SPEC, dimension=2))
    assert store.describe() == {NOTES: IndexState(0)}


def test_dropping_an_unknown_index_is_no_error(store: VectorStore) -> None:
    store.drop("unheard-1")

    assert list(store.describe()) == [NOTES]


def test_using_an_unknown_index_is_an_error_with_a_hint(store: VectorStore) -> None:
    uses: tuple[Callable[[], object], ...] = (
        lambda: store.upsert("unheard-1", [note(1)]),
        lambda: store.remove("unheard-1", Where(SHOP)),
        lambda: store.query("unheard-1", [EVERY], Where(SHOP)),
        lambda: store.settle("unheard-1"),
    )
    for use in uses:
        with pytest.raises(StoreError) as refused:
            use()

        assert refused.value.hint


def test_settling_comes_to_an_end(store: VectorStore) -> None:
    store.upsert(NOTES, [note(n, "cart", EAST) for n in range(1, 200)])

    steps = sum(1 for _ in iter(lambda: store.settle(NOTES), False))

    assert steps <= 1
    assert store.describe() == {NOTES: IndexState(199)}


def test_many_threads_may_write_ask_settle_and_make_indexes_at_once(store: VectorStore) -> None:
    threads, rounds, batch = 16, 5, 40
    together = threading.Barrier(threads)

    def work(thread: int) -> None:
        project = Project(f"project-{thread}")
        together.wait()
        store.ensure(replace(SPEC, name=f"notes-{2 + thread % 2}"))
        for turn in range(rounds):
            first = (thread * rounds + turn) * batch
            store.upsert(NOTES, [note(first + n, "cart", EAST, project=project) for n in range(batch)])
            store.settle(NOTES)
            found = store.query(
                NOTES, [near(EAST, 1000), words("cart", 1000), Every(None, 1000)], Where(project)
            )
            assert [len(each) for each in found] == [(turn + 1) * batch] * 3
            store.describe()
        store.remove(NOTES, Where(project, ids=[id_of(thread * rounds * batch)]))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))

    assert store.describe()[NOTES].entries == threads * (rounds * batch - 1)


def test_an_index_may_be_dropped_while_others_use_it(store: VectorStore) -> None:
    threads = 8
    together = threading.Barrier(threads + 1)

    def use(thread: int) -> None:
        together.wait()
        for turn in range(30):
            with suppress(StoreError):
                store.upsert(NOTES, [note(thread * 100 + turn, "cart", EAST)])
                found_by_all(store, Where(SHOP, ids=[id_of(thread * 100 + turn)]))

    with ThreadPoolExecutor(threads) as pool:
        users = [pool.submit(use, thread) for thread in range(threads)]
        together.wait()
        for _ in range(3):
            store.drop(NOTES)
            store.ensure(SPEC)
        for user in users:
            user.result()

    store.drop(NOTES)
    store.ensure(SPEC)
    assert store.describe() == {NOTES: IndexState(0)}


class Dice:
    """Random entries, conditions and legs, the same in every run."""

    VOCABULARY = tuple(f"word{n}" for n in range(40))
    PROJECTS = (SHOP, BANK, Project("mill"))

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._vectors = np.random.default_rng(seed)

    def vector(self) -> Vector:
        return self._vectors.standard_normal(DIMENSION, np.float32)

    def terms(self, most: int) -> str:
        return " ".join(
            self._random.choices(self.VOCABULARY, range(40, 0, -1), k=self._random.randint(1, most))
        )

    def entry(self) -> Entry:
        roll = self._random
        most = {space: 1 if space in SPEC.single else 4 for space in SPEC.spaces}
        return Entry(
            id=id_of(roll.randint(1, 900)),
            project=roll.choice(self.PROJECTS),
            vectors={
                space: rows(*(self.vector() for _ in range(roll.randint(1, most[space]))))
                for space in SPEC.spaces
                if roll.random() < 0.8
            },
            words={field.name: self.terms(12) for field in SPEC.fields if roll.random() < 0.8},
            labels={"kind": roll.choices("abc", k=roll.randint(0, 2))},
            numbers={"at": roll.randint(1, 20)} if roll.random() < 0.8 else {},
        )

    def where(self) -> Where:
        roll = self._random
        return Where(
            scope=roll.choice([*self.PROJECTS, ALL_PROJECTS]),
            labels=[AnyOf("kind", roll.choices("abc", k=2))] if roll.random() < 0.3 else [],
            numbers={"at": Between(roll.randint(1, 10), roll.randint(10, 20))} if roll.random() < 0.3 else {},
            ids=[id_of(roll.randint(1, 900)) for _ in range(400)] if roll.random() < 0.2 else None,
        )

    def legs(self) -> list[Leg]:
        space, field = self._random.choice(SPEC.spaces), self._random.choice(SPEC.fields).name
        return [Meaning(space, self.vector(), 1000), Words(field, self.terms(4), 1000), Every(None, 1000)]


def test_the_embedded_engine_scores_as_the_definition_says(tmp_path: Path) -> None:
    dice, reference = Dice(seed=7), InMemoryVectorStore()
    with QdrantEdgeVectorStore.open(tmp_path) as store:
        for each in (store, reference):
            each.ensure(SPEC)
        for turn in range(40):
            entries, gone = [dice.entry() for _ in range(50)], dice.where()
            legs, where = dice.legs(), dice.where()
            for each in (store, reference):
                each.upsert(NOTES, entries)
                if turn % 8 == 7:
                    each.remove(NOTES, gone)

            assert_alike(store.query(NOTES, legs, where), reference.query(NOTES, legs, where))


def assert_alike(found: list[list[Scored]], expected: list[list[Scored]]) -> None:
    """The same ids with the same scores; the order may differ where scores do not."""
    for ours, theirs in zip(found, expected, strict=True):
        scores = {each.id: each.score for each in theirs}
        assert {each.id: each.score for each in ours} == pytest.approx(scores, abs=1e-3)
        assert [scores[each.id] for each in ours] == pytest.approx([each.score for each in theirs], abs=1e-3)
