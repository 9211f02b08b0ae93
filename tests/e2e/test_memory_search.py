"""How memories are ranked: what each hit's score is made of, and what links, use and age do to it."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.model.graph import RelationshipType
from backstory.model.memory import Memory, MemoryId, NewMemory, Relationship
from backstory.model.project import Project
from backstory.model.search import MemoryHit, MemoryQuery
from backstory.ranking.memories import LINKED, meets, passage_of
from backstory.records.cues import MOST_LINKS

SHOP = Project("shop")
NOW = datetime.now(UTC)


def remember(engine: Engine, content: str, *linked: str, **fields: object) -> MemoryId:
    links = [Relationship(RelationshipType.RELATES_TO, MemoryId(id)) for id in linked]
    new = replace(NewMemory("design", content, relationships=links), **fields)  # type: ignore[arg-type]  # real fields only
    return add_memory(engine, SHOP, new).memory.id


def remember_as_of(
    engine: Engine, day: datetime, content: str, *, changed: datetime | None = None
) -> MemoryId:
    """Keep a memory as if it had been kept then."""
    id = MemoryId(str(uuid.uuid4()))
    memory = Memory(id, SHOP, "design", content, {}, 0.5, 1, day, changed or day)
    with engine.records.writing() as records:
        records.memories.add(memory, passage_of(memory))
    catch_up(engine)
    return id


def catch_up(engine: Engine) -> None:
    while upkeep(engine, Work()):
        pass


def search(engine: Engine, text: str, **filters: object) -> Sequence[MemoryHit]:
    query = replace(MemoryQuery(text), **filters)  # type: ignore[arg-type]  # real fields only
    return search_memories(engine, SHOP, query).hits


def ids(engine: Engine, text: str, **filters: object) -> list[str]:
    return [hit.memory.id for hit in search(engine, text, **filters)]


def test_a_score_is_the_sum_of_parts_that_are_named(engine: Engine) -> None:
    rule = remember(engine, "Retries use jittered backoff.")
    remember(engine, "Sessions are kept in Redis.", rule)

    best, other = search(engine, "jittered backoff")

    assert set(best.parts) == {"words", "meaning", "importance", "recency"}
    assert set(other.parts) == {"meaning", f"linked to {rule}", "importance", "recency"}
    assert other.found_by == [f"linked to {rule}", "meaning"]
    for hit in (best, other):
        assert hit.score == pytest.approx(sum(hit.parts.values()))


def test_of_two_that_answer_alike_the_important_one_comes_first(engine: Engine) -> None:
    ordinary = remember(engine, "Deploys need two reviews.", importance=0.5)
    vital = remember(engine, "Deploys need two reviews.", importance=1.0)
    unimportant = remember(engine, "Deploys need two reviews.", importance=0.1)

    assert ids(engine, "deploys reviews") == [vital, ordinary, unimportant]


def test_what_is_vital_does_not_pass_what_answers(engine: Engine) -> None:
    remember(engine, "The invoice PDF uses the Helvetica typeface.", importance=1.0)
    answer = remember(engine, "Users sign in with a password and a one-time code.", importance=0.0)

    assert ids(engine, "how do users sign in?")[0] == answer


def test_what_is_used_rises_among_its_equals(engine: Engine) -> None:
    one, other = (remember(engine, "Deploys need two reviews.") for _ in range(2))
    last = ids(engine, "deploys reviews")[-1]
    assert last in (one, other)
    for _ in range(3):
        get_memory(engine, SHOP, last)
    engine.records.flush_uses()

    assert ids(engine, "deploys reviews")[0] == last


def test_counting_uses_gives_no_projection_anything_to_do(engine: Engine) -> None:
    id = remember(engine, "Deploys need two reviews.")
    catch_up(engine)
    search(engine, "deploys")
    engine.records.flush_uses()

    assert get_memory(engine, SHOP, id).memory.access_count == 1
    assert statistics(engine, SHOP).pending == {}


def test_what_was_written_lately_comes_before_what_is_as_good_and_old(engine: Engine) -> None:
    text = "Deploys need two reviews."
    old = remember_as_of(engine, NOW - timedelta(days=700), text)
    changed = remember_as_of(engine, NOW - timedelta(days=700), text, changed=NOW - timedelta(days=100))
    new = remember_as_of(engine, NOW - timedelta(days=1), text)

    assert ids(engine, "deploys reviews") == [new, changed, old]


def test_what_the_best_hit_is_linked_to_comes_before_its_equals(engine: Engine) -> None:
    plain = remember(engine, "Sessions are kept in Redis.")
    near = remember(engine, "Sessions are kept in Redis.")
    best = remember(engine, "Retries use jittered backoff.", near)

    hits = search(engine, "jittered backoff")

    assert [hit.memory.id for hit in hits] == [best, near, plain]
    given = hits[0].parts["words"] + hits[0].parts["meaning"]
    assert hits[1].parts[f"linked to {best}"] == pytest.approx(LINKED * given)


def test_a_link_is_followed_from_either_end(engine: Engine) -> None:
    best = remember(engine, "Retries use jittered backoff.")
    plain = remember(engine, "Sessions are kept in Redis.")
    near = remember(engine, "Sessions are kept in Redis.", best)

    assert ids(engine, "jittered backoff") == [best, near, plain]


def test_a_memory_that_no_retriever_finds_is_found_by_its_link(home: Path, engine: Engine) -> None:
    (home / "config.toml").write_text("[search]\nsemantic = false\n")
    near = remember(engine, "Sessions are kept in Redis.")
    best = remember(engine, "Retries use jittered backoff.", near)
    remember(engine, "Invoices are sent monthly.")

    hits = search(engine, "jittered")

    assert [(hit.memory.id, hit.found_by) for hit in hits] == [
        (best, ["words"]),
        (near, [f"linked to {best}"]),
    ]


def test_links_lead_to_nothing_that_the_filters_keep_out(engine: Engine) -> None:
    rule = {"type": "requirement", "metadata": {"requirement_id": "REQ-A-1", "area": "law"}}
    other = remember(engine, "Sessions are kept in Redis.", **rule)
    best = remember(engine, "Retries use jittered backoff.", other, metadata={"area": "net"})

    assert ids(engine, "jittered", types=["design"]) == [best]
    assert ids(engine, "jittered", metadata={"area": "net"}) == [best]
    assert ids(engine, "jittered", until=NOW - timedelta(days=1)) == []
    assert ids(engine, "jittered") == [best, other]


def test_links_lead_to_nothing_that_is_deleted(engine: Engine) -> None:
    other = remember(engine, "Sessions are kept in Redis.")
    best = remember(engine, "Retries use jittered backoff.", other)
    delete_memory(engine, SHOP, other)

    assert ids(engine, "jittered") == [best]


def test_of_many_links_only_the_newest_are_followed(engine: Engine) -> None:
    hub = remember(engine, "Retries use jittered backoff.")
    linked = [remember(engine, f"Note {number}.", hub) for number in range(MOST_LINKS + 5)]

    with engine.records.reading() as records:
        near = records.cues.near([hub])

    assert [other for _, other in near] == linked[: -MOST_LINKS - 1 : -1]


TYPES = ["design", "code_pattern", "session"]
KEYS = st.sampled_from(["area", "open", "size"])
VALUES = st.sampled_from(["law", "money", True, False, 1, 2.5, "x" * 250])
METADATA = st.dictionaries(KEYS, VALUES, max_size=2)
FILTERS = st.builds(
    MemoryQuery,
    text=st.just("tax"),
    types=st.lists(st.sampled_from(TYPES), max_size=2, unique=True),
    metadata=METADATA,
    since=st.none() | st.integers(0, 6).map(lambda days: NOW - timedelta(days=days)),
    limit=st.just(100),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kept=st.lists(st.tuples(st.sampled_from(TYPES), METADATA), min_size=1, max_size=6),
    filters=st.lists(FILTERS, min_size=1, max_size=8),
)
def test_filters_mean_the_same_to_the_engine_and_to_what_links_lead_to(
    engine: Engine, kept: list[tuple[str, dict[str, object]]], filters: list[MemoryQuery]
) -> None:
    project = Project(uuid.uuid4().hex)
    memories = [
        add_memory(engine, project, NewMemory(kind, "tax rules", metadata)).memory for kind, metadata in kept
    ]

    for query in filters:
        found = {hit.memory.id for hit in search_memories(engine, project, query).hits}
        assert found == {memory.id for memory in memories if meets(memory, query)}
