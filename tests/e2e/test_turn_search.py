"""Finding what was said: through the public actions, on embedded engines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backstory.actions.projection.generations import prepare
from backstory.actions.transcripts.recall import RecalledTurn, recall
from backstory.actions.transcripts.search import search_turns
from backstory.actions.transcripts.topics import search_topics
from backstory.engine import Engine
from backstory.errors import InputError, NotFound
from backstory.model.conversation import Conversation, Role, Touch
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.model.search import FoundTurns, TurnQuery
from backstory.settings import read_settings
from backstory.testing import WordEmbedder
from backstory.wiring import open_engine

from .conftest import Opening
from .doubles import Unreliable
from .talk import BANK, MORNING, SHOP, Said, held, keep, project_all, tell


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store that tests only read."""
    settings = {"BACKSTORY_HOME": str(tmp_path_factory.mktemp("told")), "BACKSTORY_MIN_FREE_MB": "1"}
    with open_engine(read_settings(settings)) as engine:
        tell(engine, held("s"), Said("The ledger?", "The ledger is locked.", "Bash: lsof ledger.db"))
        tell(engine, held("b", project=BANK), Said("The vault code."))
        yield engine


def search(engine: Engine, text: str, scope: Scope = SHOP, **filters: object) -> FoundTurns:
    query = replace(TurnQuery(text), **filters)  # type: ignore[arg-type]  # real fields only
    return search_turns(engine, scope, query)


def places(engine: Engine, text: str, scope: Scope = SHOP, **filters: object) -> list[tuple[str, int]]:
    hits = search(engine, text, scope, **filters).hits
    return [(hit.conversation.id, hit.turn) for hit in hits]


def conversations(engine: Engine, text: str, scope: Scope = SHOP, **filters: object) -> set[str]:
    return {conversation for conversation, _ in places(engine, text, scope, **filters)}


def test_while_transcripts_are_read_in_a_search_says_that_it_may_miss_some(told: Engine) -> None:
    with told.ingesting:
        degraded = search(told, "retries").degraded

    assert degraded == ["transcripts are being read in just now; what is not read yet is not found"]


def test_a_span_that_ends_before_it_begins_is_refused(told: Engine) -> None:
    with pytest.raises(InputError, match="nothing lies between"):
        search(
            told, "retries", since=datetime(2026, 2, 1, tzinfo=UTC), until=datetime(2026, 1, 1, tzinfo=UTC)
        )


def test_a_turn_is_found_by_the_words_of_its_user(engine: Engine) -> None:
    tell(engine, held("s"), Said("Why is the cart slow?"), Said("Use jittered backoff for retries."))

    assert places(engine, "jittered")[0] == ("s", 2)


def test_a_turn_is_found_by_its_meaning(engine: Engine) -> None:
    tell(
        engine,
        held("s"),
        Said("The invoice PDF uses the Helvetica typeface."),
        *(Said(f"Billing matter {n} is ordinary.") for n in range(6)),
        Said("Users sign in with a password and a one-time code."),
    )

    assert places(engine, "authentication login")[0] == ("s", 8)


def test_a_turn_is_found_by_what_was_said_around_it(engine: Engine) -> None:
    tell(engine, held("s"), Said("Shall we use Redis for sessions?"), Said("Yes, do that."), Said("Thanks."))
    tell(engine, held("other"), Said("Yes, do that."))

    found = {(hit.conversation.id, hit.turn): hit for hit in search(engine, "Redis sessions").hits}

    assert "window words" in found["s", 2].parts
    assert ("other", 1) not in found or found["other", 1].score < found["s", 2].score


def test_the_messages_of_one_turn_are_one_hit_shown_by_the_best_of_them(told: Engine) -> None:
    (hit,) = search(told, "ledger").hits

    assert hit.turn == 1
    assert hit.message.role is Role.USER


def test_a_hit_says_who_found_it_and_its_score_is_the_sum(engine: Engine) -> None:
    tell(
        engine,
        held("s", title="Retries"),
        Said("Retries use jittered backoff."),
        Said("Sessions are in Redis."),
    )

    best = search(engine, "jittered backoff").hits[0]

    assert {"words", "window words", "session words", "meaning", "window meaning"} <= set(best.parts)
    assert best.score == pytest.approx(sum(best.parts.values()))


def test_a_snippet_shows_and_marks_what_matches(engine: Engine) -> None:
    filler = "This sentence speaks of something else entirely. " * 40
    tell(engine, held("s"), Said(f"{filler}The ingress terminates TLS. {filler}"))

    (hit,) = search(engine, "who terminates tls").hits

    assert len(hit.snippet.text) <= 300
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.marks] == ["terminates", "TLS"]


def test_a_search_inside_a_conversation_sees_its_subagents_and_nothing_else(engine: Engine) -> None:
    tell(engine, held("s"), Said("Find the flaky test."))
    tell(engine, held("s/a1", parent="s"), Said("Look for flaky tests under tests/unit."))
    tell(engine, held("other"), Said("A flaky test again."))

    assert conversations(engine, "flaky test", conversation="s") == {"s", "s/a1"}
    assert conversations(engine, "flaky test", conversation="s/a1") == {"s/a1"}


def test_a_search_inside_a_fork_finds_what_it_shares_as_its_own(engine: Engine) -> None:
    shared = Said("Why is the ledger locked?", "By the nightly job.", key="shared")
    tell(engine, held("s"), Said("The ledger?"), shared, Said("Leave the ledger."))
    tell(engine, held("fork"), shared, Said("Unlock the ledger."))

    assert set(places(engine, "ledger", conversation="fork")) == {("fork", 1), ("fork", 2)}
    assert set(places(engine, "ledger", conversation="s")) == {("s", 1), ("s", 2), ("s", 3)}
    assert set(places(engine, "ledger")) == {("s", 1), ("s", 2), ("s", 3), ("fork", 2)}
    tell(engine, held("fork"), Said("Unlock the ledger."))
    assert places(engine, "ledger", conversation="fork") == [("fork", 1)]


@pytest.mark.parametrize("role", Role)
def test_a_search_for_a_role_sees_that_role_alone(told: Engine, role: Role) -> None:
    (hit,) = search(told, "ledger", role=role).hits

    assert hit.message.role is role


def test_a_search_for_an_interface_sees_that_interface_alone(engine: Engine) -> None:
    tell(engine, held("s"), Said("The ledger is locked."))
    tell(engine, held("c", interface_type="codex"), Said("The ledger is locked."))

    assert conversations(engine, "ledger", interface_type="codex") == {"c"}


def test_a_search_in_a_time_sees_that_time_alone(engine: Engine) -> None:
    for day in range(3):
        tell(engine, held(f"day-{day}", began=MORNING + timedelta(days=day)), Said("The ledger is locked."))

    assert conversations(engine, "ledger", since=MORNING + timedelta(days=1)) == {"day-1", "day-2"}
    assert conversations(engine, "ledger", until=MORNING + timedelta(days=1)) == {"day-0"}


def test_filters_are_applied_before_the_best_are_taken(engine: Engine) -> None:
    tell(engine, held("loud"), *(Said(f"The ledger is locked, time {n}.") for n in range(250)))
    tell(engine, held("c", interface_type="codex"), Said("Somebody mentioned a ledger."))

    assert conversations(engine, "ledger locked", interface_type="codex") == {"c"}


def test_no_search_leaves_its_project(engine: Engine) -> None:
    tell(
        engine,
        held("b", project=BANK),
        Said("The vault code."),
        Said("", "", "Edit vault.py", [Touch("vault.py")]),
    )

    assert search(engine, "vault code").hits == []
    assert search(engine, "vault.py").hits == []
    assert conversations(engine, "vault code", ALL_PROJECTS) == {"b"}


@pytest.mark.parametrize("way", ["waiting", "down", "rebuilding", "restarted"])
def test_no_search_leaves_its_project_whatever_state_the_engines_are_in(opening: Opening, way: str) -> None:
    with opening() as real:
        vectors = Unreliable(real.vectors)
        engine = replace(real, vectors=vectors)
        for project in (SHOP, BANK):
            keep(engine, held(f"in {project}", project=project), Said("The vault code."))
        if way != "waiting":
            project_all(engine)
        vectors.down = way == "down"
        if way == "rebuilding":
            prepare(replace(engine, embedder=WordEmbedder()))
        if way != "restarted":
            assert conversations(engine, "vault code", BANK) == {"in bank"}
            return
    with opening() as again:
        assert conversations(again, "vault code", BANK) == {"in bank"}


@pytest.mark.parametrize("id", ["nowhere", "b"])
def test_an_unknown_conversation_is_named_with_what_to_do(told: Engine, id: str) -> None:
    with pytest.raises(NotFound, match=id) as raised:
        search(told, "vault", conversation=id)

    assert "list_conversations" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "wrong",
    [
        TurnQuery("  "),
        TurnQuery("ledger", limit=0),
        TurnQuery("ledger", limit=101),
        TurnQuery("ledger", offset=-1),
        TurnQuery("ledger", since=datetime(2026, 3, 1)),  # noqa: DTZ001 (it is what is refused)
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_with_a_hint(told: Engine, wrong: TurnQuery) -> None:
    with pytest.raises(InputError) as raised:
        search_turns(told, SHOP, wrong)
    assert raised.value.hint


@pytest.mark.parametrize("text", ["what was that about", "???", "🙂", "\x00", "a" * 5_000, '"NEAR(" OR *'])
def test_any_text_can_be_asked(told: Engine, text: str) -> None:
    assert search(told, text).degraded == []


def test_what_is_not_projected_yet_is_found_by_its_words(engine: Engine) -> None:
    tell(engine, held("s"), Said("The ledger is open."))
    keep(engine, held("new"), Said("The ledger is locked.", "By the nightly job."))

    found = search(engine, "ledger locked")

    new = {hit.conversation.id: hit.parts for hit in found.hits}["new"]
    assert new["new words"] > 0
    assert found.degraded == []


def test_without_the_vector_engine_search_goes_on_by_words_and_says_so(engine: Engine) -> None:
    tell(
        engine,
        held("s"),
        Said("Retries use jittered backoff."),
        Said("", "", "Edit src/retry.py", [Touch("src/retry.py")]),
    )
    vectors = Unreliable(engine.vectors)
    vectors.down = True

    found = search(replace(engine, vectors=vectors), "jittered backoff in retry.py", role=Role.USER)

    assert [(hit.conversation.id, hit.turn) for hit in found.hits] == [("s", 1)]
    assert found.degraded == ["found by words alone: the engine is down"]


def test_with_another_embedder_search_goes_on_by_words_until_meanings_are_computed(engine: Engine) -> None:
    tell(engine, held("s"), Said("Retries use jittered backoff."))
    other = replace(engine, embedder=WordEmbedder())
    prepare(other)

    found = search(other, "jittered")

    assert [hit.conversation.id for hit in found.hits] == ["s"]
    assert not {"meaning", "window meaning"} & set(found.hits[0].parts)
    assert found.degraded == [
        "found by words alone: the embedder was changed, and meanings are being computed anew"
    ]
    project_all(other)
    assert "meaning" in search(other, "jittered").hits[0].parts


def test_pages_follow_each_other_without_doubles_or_gaps(engine: Engine) -> None:
    for n in range(3):
        tell(
            engine,
            held(f"s{n}"),
            *(Said(f"The ledger, matter {turn}.", "Noted in the ledger.") for turn in range(9)),
        )
    whole = places(engine, "ledger", limit=100)

    pages = [search(engine, "ledger", limit=5, offset=offset) for offset in range(0, 30, 5)]

    assert [(hit.conversation.id, hit.turn) for page in pages for hit in page.hits] == whole
    assert len(set(whole)) == len(whole) == 27
    assert [page.more for page in pages] == [True] * 5 + [False]


def test_a_file_in_the_question_finds_the_turns_that_touched_it(engine: Engine) -> None:
    touch = [Touch("src/shop/cart.py", changed=True)]
    tell(
        engine,
        held("s"),
        Said("Make it faster.", "Done.", "Edit: three lines", touch),
        Said("And the cart?", "Later."),
    )

    for named in ("cart.py", "shop/cart.py", "src/shop/cart.py"):
        found = {hit.turn: hit.parts for hit in search(engine, f"who changed {named}?").hits}
        assert "files" in found[1]
        assert "files" not in found.get(2, {})


def test_files_obey_the_filters_too(engine: Engine) -> None:
    touched = Said("Make it faster.", "Done.", "Edit: three lines", [Touch("cart.py")])
    tell(engine, held("s"), touched)
    tell(engine, held("c", interface_type="codex"), touched)

    found = search(engine, "cart.py", interface_type="codex").hits

    assert [(hit.conversation.id, "files" in hit.parts) for hit in found] == [("c", True)]


def test_a_turn_about_several_topics_comes_before_those_about_one(engine: Engine) -> None:
    for n in range(5):
        tell(
            engine,
            held(f"aside-{n}"),
            Said(f"Of the many things in meeting {n} some were redis, some a PDF."),
        )
    tell(engine, held("one"), Said("Redis keeps the sessions."))
    tell(engine, held("other"), Said("The invoice is a PDF."))
    tell(engine, held("both"), Said("Redis keeps the invoice PDF."))

    found = search_topics(engine, SHOP, ["redis", "invoice PDF"], TurnQuery(""))

    best = found.hits[0]
    assert best.conversation.id == "both"
    assert {"one", "other"} < {hit.conversation.id for hit in found.hits}
    assert best.score == pytest.approx(sum(best.parts.values()))
    assert [best.snippet.text[start:end] for start, end in best.snippet.marks] == ["Redis", "invoice", "PDF"]


def test_topics_obey_filters_and_pages(engine: Engine) -> None:
    for n in range(7):
        tell(engine, held(f"s{n}"), Said(f"Redis and the invoice, matter {n}."))
    topics = ["redis", "invoice"]

    whole = search_topics(engine, SHOP, topics, TurnQuery("", limit=100)).hits
    pages = [
        search_topics(engine, SHOP, topics, TurnQuery("", limit=3, offset=offset)) for offset in (0, 3, 6)
    ]

    assert [hit.conversation.id for page in pages for hit in page.hits] == [
        hit.conversation.id for hit in whole
    ]
    assert [page.more for page in pages] == [True, True, False]
    inside = search_topics(engine, SHOP, topics, TurnQuery("", conversation="s3")).hits
    assert [hit.conversation.id for hit in inside] == ["s3"]


@pytest.mark.parametrize("topics", [[], [f"topic {n}" for n in range(11)], ["redis", " "]])
def test_topics_that_cannot_be_asked_are_refused_with_a_hint(told: Engine, topics: Sequence[str]) -> None:
    with pytest.raises(InputError) as raised:
        search_topics(told, SHOP, topics, TurnQuery(""))
    assert raised.value.hint


def recalled(engine: Engine, text: str, scope: Scope = SHOP, *, include_graph: bool = True) -> RecalledTurn:
    return recall(engine, scope, TurnQuery(text, limit=1), include_graph=include_graph).hits[0]


def around(found: RecalledTurn) -> list[tuple[str, int]]:
    return [(each.conversation, each.turn.number) for each in found.around]


def cart_talk(engine: Engine) -> Conversation:
    return tell(
        engine,
        held("s"),
        Said("Good morning."),
        Said(
            "Why does the checkout total round up?",
            "Because of cart.py.",
            "Edit",
            [Touch("cart.py", changed=True)],
        ),
        Said("Thanks.", "You are welcome."),
        Said("Good night."),
    )


@pytest.mark.parametrize("include_graph", [True, False])
def test_recall_gives_the_turns_around_a_hit_whole(engine: Engine, include_graph: bool) -> None:
    cart_talk(engine)

    found = recalled(engine, "checkout total rounding", include_graph=include_graph)

    assert (found.hit.conversation.id, found.hit.turn) == ("s", 2)
    assert around(found) == [("s", 1), ("s", 3)]
    assert found.around[1].texts == {Role.USER: "Thanks.", Role.ASSISTANT: "You are welcome."}


def test_recall_gives_the_files_of_a_turn_and_who_else_touched_them(engine: Engine) -> None:
    cart_talk(engine)
    later = MORNING + timedelta(days=1)
    tell(engine, held("later", began=later), Said("Go.", "", "Read", [Touch("cart.py")]))
    tell(engine, held("earlier"), Said("Go.", "", "Read", [Touch("cart.py")]))
    tell(engine, held("elsewhere"), Said("Go.", "", "Read", [Touch("other.py")]))
    tell(engine, held("b", project=BANK), Said("Go.", "", "Read", [Touch("cart.py")]))

    found = recalled(engine, "checkout total rounding")

    assert found.files == [Touch("cart.py", changed=True)]
    assert [each.id for each in found.related] == ["later", "earlier"]


def test_recall_over_all_projects_walks_each_in_its_own_graph(engine: Engine) -> None:
    cart_talk(engine)
    bank = Said("Why does the checkout total round up?", "", "Edit", [Touch("ledger.py")])
    tell(engine, held("b", project=BANK), bank)

    found = recall(engine, ALL_PROJECTS, TurnQuery("checkout total round up"))

    files = {
        each.hit.conversation.id: [touch.path for touch in each.files] for each in found.hits if each.files
    }
    assert files == {"s": ["cart.py"], "b": ["ledger.py"]}


def test_recall_shows_how_a_fork_went_on(engine: Engine) -> None:
    shared = Said("Shall the checkout total round up?", "It may.", key="shared")
    tell(engine, held("s"), shared, Said("Then leave it."))
    tell(engine, held("fork"), shared, Said("Then change it."))

    found = recalled(engine, "checkout total round up")

    assert set(around(found)) == {("s", 2), ("fork", 2)}


def test_recall_without_the_graph_gives_the_rest_and_says_so(engine: Engine) -> None:
    cart_talk(engine)
    graph = Unreliable(engine.graph)
    graph.down = True
    engine = replace(engine, graph=graph)

    found = recall(engine, SHOP, TurnQuery("checkout total rounding", limit=1))

    assert around(found.hits[0]) == [("s", 1), ("s", 3)]
    assert found.hits[0].files == ()
    assert found.degraded == ["without files and related conversations: the engine is down"]
    assert recall(engine, SHOP, TurnQuery("checkout"), include_graph=False).degraded == []


def test_recall_of_nothing_is_empty(engine: Engine) -> None:
    found = recall(engine, SHOP, TurnQuery("checkout", asked_at=datetime.now(UTC)))

    assert (found.hits, found.degraded, found.more) == ([], [], False)
