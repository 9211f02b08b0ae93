"""Pages of a search: whatever their sizes, and whatever happens between them, they are one long answer."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.update import update_memory
from backstory.engine import Engine, Recent, Work
from backstory.mcp.budget import MOST_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.model.graph import RelationshipType
from backstory.model.memory import MAX_CONTENT_CHARS, Memory, MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.ranking.memories import passage_of

from .conftest import Opening

WORDS = ["retry", "jitter", "queue", "cache", "login", "invoice", "retry jitter", "retry retry queue"]
QUESTION = "retry jitter queue"

Answer = dict[str, object]


def pages(face: Face, limits: list[int], **arguments: object) -> Iterator[Answer]:
    """Every page, one after the other, each asked for when it is wanted."""
    for limit in cycle(limits):
        asked = {"query": QUESTION, **arguments, "limit": limit}
        answer = perform(face, "memory_search", asked, Caller(), Work()).structured
        assert answer is not None
        yield answer
        if "next_cursor" not in answer:
            return
        arguments["cursor"] = answer["next_cursor"]


def ids(answer: Answer) -> list[str]:
    hits = answer["hits"]
    assert isinstance(hits, list)
    return [hit["id"] for hit in hits]


class Shop:
    """A project of its own, with memories of which some are linked."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.project = Project(uuid.uuid4().hex)
        self.face = Face(engine, default_project=self.project.name)
        self.added = 0

    def fill(self, count: int) -> list[MemoryId]:
        return [self.add() for _ in range(count)]

    def add(self, *linked: MemoryId) -> MemoryId:
        self.added += 1
        text = f"{WORDS[self.added % len(WORDS)]} number {self.added}"
        links = [Relationship(RelationshipType.RELATES_TO, id) for id in linked]
        return add_memory(self.engine, self.project, NewMemory("design", text, relationships=links)).memory.id

    def update(self, id: MemoryId) -> None:
        update_memory(self.engine, self.project, id, MemoryChange(content="retry jitter queue, all of it"))

    def delete(self, id: MemoryId) -> None:
        delete_memory(self.engine, self.project, id)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limits=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_pages_together_are_one_long_answer(engine: Engine, limits: list[int]) -> None:
    shop = Shop(engine)
    shop.fill(15)
    (whole,) = pages(shop.face, [100])

    cut = [ids(page) for page in pages(shop.face, limits)]

    assert [id for page in cut for id in page] == ids(whole)
    assert all(len(page) == limit for page, limit in zip(cut[:-1], cycle(limits), strict=False))


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "link", "update", "delete"]), st.integers(0, 11)), max_size=4
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 5), between=st.lists(CHANGES, min_size=1, max_size=4))
def test_nothing_comes_twice_or_is_missed_whatever_is_written_between_pages(
    engine: Engine, limit: int, between: list[list[tuple[str, int]]]
) -> None:
    shop = Shop(engine)
    first = shop.fill(12)
    before = ids(next(pages(shop.face, [100])))
    changed: set[str] = set()
    changes = iter(between)
    found: list[str] = []

    for page in pages(shop.face, [limit]):
        found += ids(page)
        for kind, which in next(changes, ()):
            id = first[which]
            if kind == "add":
                shop.add()
            elif kind == "link" and id not in changed:
                shop.add(id)
            elif kind == "update" and id not in changed:
                shop.update(id)
                changed.add(id)
            elif kind == "delete" and id not in changed:
                shop.delete(id)
                changed.add(id)

    assert len(found) == len(set(found))
    assert [id for id in found if id not in changed] == [id for id in before if id not in changed]


def test_what_was_changed_so_that_a_filter_keeps_it_out_is_on_no_later_page(engine: Engine) -> None:
    shop = Shop(engine)
    kept = [
        add_memory(engine, shop.project, NewMemory("design", f"retry {n}", {"state": "open"})).memory.id
        for n in range(4)
    ]
    rest = pages(shop.face, [1], metadata={"state": "open"})
    shown = ids(next(rest))
    closed = next(id for id in kept if id not in shown)
    update_memory(engine, shop.project, closed, MemoryChange(metadata={"state": "closed"}))

    later = [id for page in rest for id in ids(page)]

    assert set(later) == set(kept) - {*shown, closed}


def test_an_answer_whose_ranking_is_not_held_any_more_says_so_and_goes_on(engine: Engine) -> None:
    forgetful = replace(engine, rankings=Recent(0))
    shop = Shop(forgetful)
    kept = shop.fill(6)

    first, second = pages(shop.face, [4])

    assert "degraded" not in first
    assert "not held any more" in str(second["degraded"])
    assert {*ids(first), *ids(second)} == set(kept)


def test_a_cursor_of_a_process_that_is_gone_goes_on_in_the_next(opening: Opening) -> None:
    with opening() as engine:
        shop = Shop(engine)
        kept = shop.fill(6)
        first = next(pages(shop.face, [4]))

    with opening() as engine:
        face = Face(engine, default_project=shop.project.name)
        (second,) = pages(face, [4], cursor=first["next_cursor"])

    assert "not held any more" in str(second["degraded"])
    assert {*ids(first), *ids(second)} == set(kept)


def test_the_longest_hits_stay_below_the_limit_of_an_answer(engine: Engine) -> None:
    shop = Shop(engine)
    text = ("retry jitter queue 重试 " * MAX_CONTENT_CHARS)[:MAX_CONTENT_CHARS]
    now = datetime.now(UTC)
    memories = [
        Memory(MemoryId(str(uuid.uuid4())), shop.project, "design", text, {}, 0.5, 1, now, now)
        for _ in range(100)
    ]
    with engine.records.writing() as records:
        records.memories.add_all([(memory, passage_of(memory), ()) for memory in memories])

    answer = perform(shop.face, "memory_search", {"query": QUESTION, "limit": 100}, Caller(), Work())

    assert answer.structured is not None
    assert len(ids(answer.structured)) + len(answer.structured.get("omitted", [])) == 100
    assert tokens(str(answer.structured)) <= MOST_TOKENS
    assert tokens(answer.text) <= MOST_TOKENS
