"""Memories as an agent keeps them: through the public actions, on embedded engines."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.actions.projection.generations import prepare
from backstory.actions.projection.now import graph_of
from backstory.engine import Engine
from backstory.errors import ContentRefused, InputError, NotFound, StaleVersion
from backstory.model.graph import Direction, Limits, ReadOnlyCypher, RelationshipType, Walk
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import MemoryChange, MemoryId, NewMemory, Relationship
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.search import FoundMemories, MemoryQuery
from backstory.testing import WordEmbedder

from .conftest import Opening
from .doubles import Choosy, Unreliable
from .samples import least

SHOP, BANK = Project("shop"), Project("bank")


def remember(engine: Engine, content: str, project: Project = SHOP, **fields: object) -> MemoryId:
    new = replace(NewMemory("design", content), **fields)  # type: ignore[arg-type]  # real fields only
    new = replace(new, metadata={**least(new.type), **new.metadata})
    added = add_memory(engine, project, new)
    assert added.pending == ()
    return added.memory.id


def ids(engine: Engine, text: str, scope: Scope = SHOP, **filters: object) -> list[str]:
    query = replace(MemoryQuery(text), **filters)  # type: ignore[arg-type]  # real fields only
    return [hit.memory.id for hit in search_memories(engine, scope, query).hits]


def test_an_added_memory_is_found_by_its_words_at_once(engine: Engine) -> None:
    remember(engine, "Sessions are kept in Redis.")
    wanted = remember(engine, "Retries use jittered backoff.")

    assert ids(engine, "jittered")[0] == wanted


def test_an_added_memory_is_found_by_its_meaning(engine: Engine) -> None:
    remember(engine, "The invoice PDF uses the Helvetica typeface.")
    wanted = remember(engine, "Users sign in with a password and a one-time code.")

    assert ids(engine, "authentication login")[0] == wanted


def test_a_hit_says_what_each_retriever_added_to_its_score(engine: Engine) -> None:
    remember(engine, "Retries use jittered backoff.")
    remember(engine, "Sessions are kept in Redis.")

    best = search_memories(engine, SHOP, MemoryQuery("jittered backoff")).hits[0]

    assert best.found_by == ["meaning", "words"]
    assert best.score == pytest.approx(sum(best.parts.values()))


def test_an_identifier_is_found_by_its_parts_and_as_a_whole(engine: Engine) -> None:
    remember(engine, "Unrelated text about colours.")
    wanted = remember(engine, "Call getUserName before render_invoice.")

    assert ids(engine, "getUserName")[0] == wanted
    assert ids(engine, "user name")[0] == wanted
    assert ids(engine, "invoice")[0] == wanted


def test_a_long_memory_is_found_by_a_detail_deep_inside(engine: Engine) -> None:
    filler = "\n\n".join(f"Paragraph {n} speaks about ordinary billing matters." for n in range(60))
    wanted = remember(engine, f"{filler}\n\nThe kubernetes ingress terminates TLS.\n\n{filler}")
    for n in range(5):
        remember(engine, f"Billing matter {n} is ordinary.")

    assert ids(engine, "kubernetes ingress TLS")[0] == wanted


@pytest.mark.parametrize("type_", KINDS)
def test_every_type_can_be_kept_and_found(engine: Engine, type_: str) -> None:
    wanted = remember(engine, f"About {type_} things.", type=type_)

    assert ids(engine, "things", types=[type_]) == [wanted]


def test_filters_leave_only_what_they_name(engine: Engine) -> None:
    money = remember(engine, "tax rules", type="requirement", metadata={"area": "money", "open": True})
    remember(engine, "tax rules", type="design", metadata={"area": "law"})

    assert ids(engine, "tax", types=["requirement"]) == [money]
    assert ids(engine, "tax", metadata={"area": "money"}) == [money]
    assert ids(engine, "tax", metadata={"area": "money", "open": True}) == [money]
    assert ids(engine, "tax", metadata={"area": "law", "open": True}) == []
    assert ids(engine, "tax", until=datetime.now(UTC) - timedelta(hours=1)) == []
    assert len(ids(engine, "tax", since=datetime.now(UTC) - timedelta(hours=1))) == 2


def test_a_reopened_store_finds_what_was_kept(opening: Opening) -> None:
    with opening() as engine:
        wanted = remember(engine, "Retries use jittered backoff.")

    with opening() as engine:
        assert ids(engine, "jittered backoff") == [wanted]
        assert get_memory(engine, SHOP, wanted).memory.content == "Retries use jittered backoff."


def test_an_update_is_found_and_what_it_replaced_is_not(engine: Engine) -> None:
    id = remember(engine, "Deploys happen on Fridays.")
    other = remember(engine, "Invoices are sent monthly.")

    updated = update_memory(engine, SHOP, id, MemoryChange(content="Deploys happen on Mondays."))

    assert updated.memory.version == 2
    assert ids(engine, "mondays")[0] == id
    best = search_memories(engine, SHOP, MemoryQuery("fridays")).hits[0]
    assert "words" not in best.parts
    assert get_memory(engine, SHOP, other).memory.version == 1


def test_an_update_of_a_version_that_is_gone_is_refused(engine: Engine) -> None:
    id = remember(engine, "first")
    update_memory(engine, SHOP, id, MemoryChange(content="second"), expected_version=1)

    with pytest.raises(StaleVersion) as refused:
        update_memory(engine, SHOP, id, MemoryChange(content="third"), expected_version=1)

    assert "version 2" in str(refused.value)
    assert get_memory(engine, SHOP, id).memory.content == "second"


def test_a_deleted_memory_is_gone_from_every_answer(engine: Engine) -> None:
    id = remember(engine, "Deploys happen on Fridays.")

    assert delete_memory(engine, SHOP, id).pending == ()

    assert ids(engine, "deploys fridays") == []
    with pytest.raises(NotFound):
        get_memory(engine, SHOP, id)
    with pytest.raises(NotFound):
        update_memory(engine, SHOP, id, MemoryChange(content="x"))
    assert statistics(engine, SHOP).deleted == 1


def test_nothing_of_one_project_is_seen_from_another(engine: Engine) -> None:
    ours = remember(engine, "The vault code is 1234.", SHOP)
    theirs = remember(engine, "Branches open at nine.", BANK)

    assert ids(engine, "vault code", BANK) == [theirs]
    assert ids(engine, "vault code", SHOP) == [ours]
    with pytest.raises(NotFound):
        get_memory(engine, BANK, ours)
    with pytest.raises(NotFound):
        update_memory(engine, BANK, ours, MemoryChange(content="mine now"))
    with pytest.raises(NotFound):
        delete_memory(engine, BANK, ours)
    with pytest.raises(InputError):
        remember(engine, "spy", BANK, relationships=[Relationship(RelationshipType.RELATES_TO, ours)])
    assert statistics(engine, BANK).memories == {"design": 1}
    assert [entry.subject for entry in statistics(engine, BANK).recent] == [theirs]
    graph = graph_of(engine, BANK)
    with engine.records.reading() as records:
        refs = [edge.start for edge in records.links.edges_in(BANK)]
    assert engine.graph.related(graph, refs, Walk(depth=3)).nodes == []
    assert sum(engine.graph.describe(graph).nodes.values()) == 1


@pytest.mark.parametrize("way", ["projected", "waiting", "down", "rebuilding", "restarted"])
def test_no_way_of_searching_leaves_the_project(opening: Opening, way: str) -> None:
    with opening() as real:
        vectors = Unreliable(real.vectors)
        engine = replace(real, vectors=vectors)
        vectors.down = way in ("waiting", "down")
        for project in (SHOP, BANK):
            add_memory(engine, project, NewMemory("design", f"The vault code of the {project}."))
        vectors.down = way == "down"
        if way == "rebuilding":
            prepare(replace(engine, embedder=WordEmbedder()))
        if way != "restarted":
            assert seen_from(engine, BANK) == {BANK}
            return
    with opening() as again:
        assert seen_from(again, BANK) == {BANK}


def seen_from(engine: Engine, project: Project) -> set[Project]:
    """The projects of all that is found in one, by a search and in the graph."""
    found = search_memories(engine, project, MemoryQuery("vault code", limit=100)).hits
    everything = ReadOnlyCypher("MATCH (n) RETURN n.memory_id")
    graph = engine.graph.cypher(graph_of(engine, project), everything, Limits())
    with engine.records.reading() as records:
        memories = records.memories.find(ALL_PROJECTS, [str(row[0]) for row in graph.rows])
    assert len(memories) == len(graph.rows) == 1
    return {hit.memory.project for hit in found} | {memory.project for memory in memories.values()}


def test_all_projects_are_searched_when_that_is_asked_for(engine: Engine) -> None:
    ours, theirs = remember(engine, "vault code", SHOP), remember(engine, "vault code", BANK)

    assert set(ids(engine, "vault", ALL_PROJECTS)) == {ours, theirs}


def test_a_relationship_becomes_an_edge_of_the_graph(engine: Engine) -> None:
    base = remember(engine, "All services are stateless.")
    follower = remember(
        engine,
        "The cart is kept in a cookie.",
        relationships=[Relationship(RelationshipType.FOLLOWS_DESIGN, base)],
    )

    with engine.records.reading() as records:
        (edge,) = records.links.edges_in(SHOP)
    reached = engine.graph.related(graph_of(engine, SHOP), [edge.start], Walk(depth=1))

    assert {each.node.memory_id for each in reached.nodes} == {base, follower}
    assert [found.type for found in reached.edges] == [RelationshipType.FOLLOWS_DESIGN]


@pytest.mark.parametrize(
    ("new", "complaint"),
    [
        (NewMemory("opinion", "text"), "no memory type 'opinion'"),
        (NewMemory("design", "  \n "), "no content"),
        (NewMemory("design", "x" * 50_001), "more than 50,000"),
        (NewMemory("design", "bad \ud800 text"), "not valid Unicode"),
        (NewMemory("design", "bad \0 text"), "not valid Unicode"),
        (NewMemory("design", "text", {"key": object()}), "not JSON"),
        (NewMemory("design", "text", {"key": float("nan")}), "not JSON"),
        (NewMemory("design", "text", {"key": "\ud800"}), "not valid Unicode"),
        (NewMemory("design", "text", {"key": "x" * 70_000}), "larger than"),
        (NewMemory("design", "text", importance=1.5), "between 0 and 1"),
        (NewMemory("design", "text", importance=float("nan")), "between 0 and 1"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_to_do(
    engine: Engine, new: NewMemory, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as refused:
        add_memory(engine, SHOP, new)

    assert refused.value.hint
    assert statistics(engine, SHOP).memories == {}


@pytest.mark.parametrize(
    "query",
    [
        MemoryQuery("  "),
        MemoryQuery("x", limit=0),
        MemoryQuery("x", limit=101),
        MemoryQuery("x", types=["opinion"]),
        MemoryQuery("x", since=datetime(2026, 1, 1)),  # noqa: DTZ001  the lack of a zone is the point
    ],
)
def test_a_query_that_makes_no_sense_is_refused_with_what_to_do(engine: Engine, query: MemoryQuery) -> None:
    with pytest.raises(InputError) as refused:
        search_memories(engine, SHOP, query)

    assert refused.value.hint


def test_a_query_of_stop_words_alone_still_answers(engine: Engine) -> None:
    only = remember(engine, "Retries use jittered backoff.")

    assert ids(engine, "what is it") == [only]


def test_an_outage_keeps_the_memory_and_says_what_waits(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    engine = replace(engine, vectors=vectors)
    vectors.down = True

    added = add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))

    assert added.pending == ("not found by meaning yet: the engine is down",)
    found = search_memories(engine, SHOP, MemoryQuery("jittered"))
    assert [hit.memory.id for hit in found.hits] == [added.memory.id]
    assert found.degraded == ["found by words alone: the engine is down"]


def test_what_waited_for_an_outage_is_found_by_words_even_before_it_is_projected(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    engine = replace(engine, vectors=vectors)
    vectors.down = True
    added = add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))
    vectors.down = False

    assert ids(engine, "jittered") == [added.memory.id]


def test_content_an_engine_refuses_is_taken_back(engine: Engine) -> None:
    choosy = replace(engine, vectors=Choosy(engine.vectors, "poison"))

    with pytest.raises(ContentRefused):
        add_memory(choosy, SHOP, NewMemory("design", "a poison text"))

    assert statistics(engine, SHOP).memories == {}
    assert "vectors" not in statistics(engine, SHOP).pending


def test_a_change_an_engine_refuses_is_taken_back(engine: Engine) -> None:
    id = remember(engine, "a healthy text")
    choosy = replace(engine, vectors=Choosy(engine.vectors, "poison"))

    with pytest.raises(ContentRefused):
        update_memory(choosy, SHOP, id, MemoryChange(content="a poison text"))

    memory = get_memory(engine, SHOP, id).memory
    assert (memory.content, memory.version) == ("a healthy text", 1)
    assert ids(engine, "healthy") == [id]
    assert statistics(engine, SHOP).refused == 0


def test_asked_again_with_the_same_key_a_memory_is_kept_once(engine: Engine) -> None:
    first = add_memory(engine, SHOP, NewMemory("design", "Use uv."), key="call-1")
    again = add_memory(engine, SHOP, NewMemory("design", "Use uv."), key="call-1")

    assert again.memory == first.memory
    assert statistics(engine, SHOP).memories == {"design": 1}


def test_a_key_covers_one_content_in_one_project(engine: Engine) -> None:
    kept = {
        add_memory(engine, project, NewMemory("design", content), key=key).memory.id
        for project in (SHOP, BANK)
        for content in ("Use uv.", "Use pip.")
        for key in ("call-1", "call-2")
    }

    assert len(kept) == 8


def test_a_repeated_add_finishes_what_the_first_one_left_waiting(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    vectors.down = True
    without_vectors = replace(engine, vectors=vectors)
    waiting = add_memory(without_vectors, SHOP, NewMemory("design", "Use uv."), key="call-1")

    finished = add_memory(engine, SHOP, NewMemory("design", "Use uv."), key="call-1")

    assert waiting.pending
    assert finished.pending == ()


def test_deleting_twice_answers_twice(engine: Engine) -> None:
    id = remember(engine, "short-lived")

    first, second = delete_memory(engine, SHOP, id), delete_memory(engine, SHOP, id)

    assert second.memory.deleted_at == first.memory.deleted_at
    assert [entry.operation for entry in statistics(engine, SHOP).recent].count("deleted") == 1


def test_a_memory_comes_with_what_it_is_linked_to(engine: Engine) -> None:
    rule = remember(engine, "Money is in cents.", type="requirement")
    wish = Relationship(RelationshipType.IMPLEMENTS_REQ, rule)
    code = remember(engine, "The cart adds cents.", relationships=[wish])

    out, back = (get_memory(engine, SHOP, id).relationships for id in (code, rule))

    assert [(each.type, each.direction, each.memory.id) for each in out] == [
        (RelationshipType.IMPLEMENTS_REQ, Direction.OUT, rule)
    ]
    assert [(each.direction, each.memory.id) for each in back] == [(Direction.IN, code)]


def test_pages_of_a_search_follow_one_another(engine: Engine) -> None:
    for number in range(7):
        remember(engine, f"Retries use jittered backoff, note {number}.")

    def page(offset: int) -> FoundMemories:
        return search_memories(engine, SHOP, MemoryQuery("jittered", limit=3, offset=offset))

    pages = [page(0), page(3), page(6)]

    assert [each.more for each in pages] == [True, True, False]
    assert [hit.memory.id for each in pages for hit in each.hits] == ids(engine, "jittered")


def test_reading_is_counted(engine: Engine) -> None:
    id = remember(engine, "read often")
    get_memory(engine, SHOP, id)
    get_memory(engine, SHOP, id)
    engine.records.flush_uses()

    assert get_memory(engine, SHOP, id).memory.access_count == 2


def test_a_hundred_adds_and_searches_at_once_lose_nothing(engine: Engine) -> None:
    def add(number: int) -> str:
        return remember(engine, f"Concurrent note {number} about topic{number}.")

    def search(number: int) -> list[str]:
        return ids(engine, f"topic{number}")

    with ThreadPoolExecutor(100) as pool:
        pairs = [(pool.submit(add, number), pool.submit(search, number)) for number in range(50)]
        added = [adding.result() for adding, searching in pairs if searching.result() is not None]

    assert len(set(added)) == 50
    assert statistics(engine, SHOP).memories == {"design": 50}
    assert all(ids(engine, f"topic{number}")[0] == added[number] for number in range(50))
    assert sum(engine.graph.describe(graph_of(engine, SHOP)).nodes.values()) == 50
    assert statistics(engine, SHOP).pending == {}


def test_statistics_count_a_link_while_both_of_its_ends_are_there(engine: Engine) -> None:
    other = remember(engine, "Payments are made once.")
    remember(engine, "Keys are kept.", relationships=[Relationship(RelationshipType.RELATES_TO, other)])
    with_both = statistics(engine, SHOP).links

    delete_memory(engine, SHOP, other)

    assert (with_both, statistics(engine, SHOP).links, statistics(engine, BANK).links) == (1, 0, 0)


def test_statistics_tell_what_the_store_holds(engine: Engine) -> None:
    remember(engine, "one", type="design")
    remember(engine, "two", type="preference")

    found = statistics(engine, SHOP)

    assert found.memories == {"design": 1, "preference": 1}
    assert found.index_entries == {"memories-1": 2, "turns-1": 0, "sessions-1": 0}
    assert found.pending == {"graph": 2}
    assert found.paused is None
    assert found.storage_bytes["backstory.db"] > 0
    assert [entry.operation for entry in found.recent] == ["added", "added"]
