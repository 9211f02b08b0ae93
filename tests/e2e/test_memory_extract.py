"""Memories found in talks, as an agent asks for them: through a real client, on embedded engines."""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from backstory.actions.memory import talks
from backstory.actions.memory.extract import Extraction, Wish, extract_memories
from backstory.adapters.language_model import Api
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, ContentRefused, SettingsError
from backstory.mcp.budget import USUAL_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.project import Project
from backstory.settings import read_settings
from backstory.wiring import open_engine
from tests.contract.model_servers import ModelServer, answer, serving

from .calling import call, failure
from .doubles import Choosy, Unreliable
from .live_talk import begin, say
from .talk import Said, held, keep

pytestmark = pytest.mark.anyio

Connecting = AbstractAsyncContextManager[Client]

SHOP = Project("shop")

DECISION = "Let's keep the orders in SQLite because nobody has to install it."
PREFERENCE = "Always use pnpm here, never npm."
FAILURE = "FAILED tests/test_orders.py::test_total - AssertionError: 2 != 3"

SESSION = (
    Said("Where do the orders go?", "To Postgres for now."),
    Said(DECISION, "Done.", tool=f"Bash pytest -q\n{FAILURE}\n1 failed, 13 passed in 0.41s"),
    Said(PREFERENCE, "Noted. I fixed it by rounding the total once, and test_total passes now."),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def connecting(engine: Engine) -> Connecting:
    return Client(create_server(Face(engine, toolsets=("all",), default_project="shop")))


def by_type(extracted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The candidates of an answer, one of each type."""
    return {each["type"]: each for each in extracted["candidates"]}


async def total(client: Client) -> int:
    return int((await call(client, "memory_statistics"))["total"])


async def test_a_session_is_read_and_nothing_is_kept(engine: Engine, connecting: Connecting) -> None:
    keep(engine, held("s1"), *SESSION)
    async with connecting as client:
        extracted = await call(client, "memory_extract", session_id="s1")
        assert await total(client) == 0

    found = by_type(extracted)
    assert (extracted["first_turn"], extracted["last_turn"], extracted["turns"]) == (1, 3, 3)
    assert (extracted["kept"], extracted["session_id"]) == (0, "s1")
    assert set(found) == {"design", "preference", "test_history", "session"}
    assert (found["design"]["evidence"], found["design"]["turn"]) == (DECISION, 2)
    assert found["design"]["metadata"]["rationale"] == "nobody has to install it"
    assert found["preference"]["metadata"]["value"] == "pnpm"
    assert found["test_history"]["metadata"]["test_name"] == "test_total"
    assert found["test_history"]["evidence"] in FAILURE
    assert "rounding the total once" in found["test_history"]["metadata"]["fix_applied"]
    assert all("id" not in each for each in found.values())


async def test_what_is_found_is_kept_when_that_is_asked_for(engine: Engine, connecting: Connecting) -> None:
    keep(engine, held("s1"), *SESSION)
    async with connecting as client:
        extracted = await call(client, "memory_extract", session_id="s1", dry_run=False)
        design = await call(client, "memory_get", id=by_type(extracted)["design"]["id"])
        hits = (await call(client, "memory_search", query="orders", session_id="s1"))["hits"]
        assert await total(client) == extracted["kept"] == len(extracted["candidates"]) == 4

    assert design["content"] == DECISION
    assert design["metadata"]["evidence"] == DECISION
    assert (design["metadata"]["session_id"], design["metadata"]["turn"]) == ("s1", 2)
    assert design["id"] in [hit["id"] for hit in hits]


async def test_what_is_kept_already_is_told_and_not_kept_again(
    engine: Engine, connecting: Connecting
) -> None:
    keep(engine, held("s1"), *SESSION)
    async with connecting as client:
        first = await call(client, "memory_extract", session_id="s1", dry_run=False)
        again = await call(client, "memory_extract", session_id="s1", dry_run=False)
        assert await total(client) == 4

    assert again["kept"] == 0
    assert {name: each["double_of"] for name, each in by_type(again).items()} == {
        name: each["id"] for name, each in by_type(first).items()
    }


async def test_of_a_session_that_went_on_only_what_is_new_is_kept(
    engine: Engine, connecting: Connecting
) -> None:
    keep(engine, held("s1"), *SESSION)
    async with connecting as client:
        first = await call(client, "memory_extract", session_id="s1", dry_run=False)
        more = Said("We decided to log every refund as JSON.", "All refunds are logged now.")
        keep(engine, held("s1"), *SESSION, more)
        again = await call(client, "memory_extract", session_id="s1", dry_run=False)

    assert [each["content"] for each in again["candidates"] if "id" in each] == [more.user]
    assert by_type(again)["session"]["double_of"] == by_type(first)["session"]["id"]


async def test_a_candidate_names_what_it_contradicts(connecting: Connecting) -> None:
    async with connecting as client:
        kept = await call(
            client,
            "memory_add",
            type="preference",
            content="Use yarn.",
            metadata={"key": "js_package_manager", "value": "yarn", "scope": "Project"},
        )
        extracted = await call(client, "memory_extract", text=PREFERENCE)

    (candidate,) = extracted["candidates"]
    (conflict,) = candidate["conflicts"]
    assert (conflict["kind"], conflict["id"]) == ("contradiction", kept["id"])
    assert "yarn" in conflict["why"]
    assert "double_of" not in candidate


async def test_a_text_is_read_as_a_talk(connecting: Connecting) -> None:
    text = "User: Which database?\nAssistant: I'd suggest we use SQLite for the orders.\nUser: Yes, do that."
    async with connecting as client:
        extracted = await call(client, "memory_extract", text=text, types=["design"])

    (decision,) = extracted["candidates"]
    assert "SQLite" in decision["content"]
    assert (decision["turn"], extracted["turns"]) == (1, 2)
    assert "session_id" not in extracted


async def test_types_and_confidence_narrow_what_is_found(engine: Engine, connecting: Connecting) -> None:
    keep(engine, held("s1"), *SESSION)
    async with connecting as client:
        designs = await call(client, "memory_extract", session_id="s1", types=["design"])
        nothing = await call(client, "memory_extract", session_id="s1", min_confidence=1)

    assert [each["type"] for each in designs["candidates"]] == ["design"]
    assert nothing["candidates"] == []


async def test_a_live_conversation_is_read_too(engine: Engine, connecting: Connecting) -> None:
    id = begin(engine, "orders")
    say(engine, id, DECISION, "Done.")
    async with connecting as client:
        extracted = await call(client, "memory_extract", session_id=id)

    assert by_type(extracted)["design"]["content"] == DECISION


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "one of them, and not both"),
        ({"text": "We use uv.", "session_id": "s1"}, "one of them, and not both"),
        ({"session_id": "nowhere"}, "there is no session nowhere in project shop"),
        ({"session_id": "of the bank"}, "there is no session of the bank in project shop"),
        ({"session_id": "s1", "from_turn": 4}, "its turns are numbered 1 to 3"),
        ({"text": ""}, "`text`"),
        ({"text": "x", "types": ["component"]}, "`types[0]`"),
        ({"text": "x", "min_confidence": 2}, "`min_confidence`"),
        ({"text": "x", "project": "*"}, "belongs to one project"),
    ],
)
async def test_what_cannot_be_read_is_refused_with_a_reason(
    engine: Engine, connecting: Connecting, arguments: dict[str, object], told: str
) -> None:
    keep(engine, held("s1"), *SESSION)
    keep(engine, held("of the bank", project=Project("bank")), *SESSION)
    async with connecting as client:
        assert told in await failure(client, "memory_extract", arguments)


async def test_a_deleted_conversation_is_not_read(engine: Engine, connecting: Connecting) -> None:
    id = begin(engine, "orders")
    say(engine, id, DECISION, "Done.")
    async with connecting as client:
        await call(client, "delete_conversation", conversation_id=id)

        assert f"there is no session {id}" in await failure(client, "memory_extract", {"session_id": id})


def test_a_long_session_is_read_up_to_a_turn_and_on_from_there(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talks, "MOST_TURNS", 150)
    turns = [Said(f"We decided to use tool{n} for part{n}.", "Done.") for n in range(1, 152)]
    keep(engine, held("long"), *turns)
    steps: list[str] = []
    work = Work(lambda _done, _of, message: steps.append(message))

    first = extract_memories(engine, SHOP, Wish(session="long", types=["preference"]), work)
    rest = extract_memories(engine, SHOP, Wish(session="long", first_turn=151), Work())

    assert (first.talk.turns[-1].number, first.talk.next_turn) == (150, 151)
    assert steps.count("reading the session") == 2
    assert [each.candidate.turn for each in rest.proposals] == [151]
    assert rest.talk.next_turn is None


def test_long_turns_are_read_until_there_is_enough_of_them(engine: Engine) -> None:
    half = "word " * (talks.MOST_CHARS // 8)
    keep(engine, held("long"), *[Said(f"{number} {half}") for number in range(3)])

    found = extract_memories(engine, SHOP, Wish(session="long"), Work())

    assert [turn.number for turn in found.talk.turns] == [1]
    assert found.talk.next_turn == 2


def test_reading_stops_when_it_is_cancelled(engine: Engine) -> None:
    keep(engine, held("s1"), *SESSION)
    work = Work()
    work.cancel()

    with pytest.raises(Cancelled):
        extract_memories(engine, SHOP, Wish(session="s1", keep=True), work)


def test_a_session_of_which_nothing_is_left_to_read_holds_nothing(engine: Engine) -> None:
    keep(engine, held("empty"))

    found = extract_memories(engine, SHOP, Wish(session="empty"), Work())

    assert (list(found.proposals), found.talk.total, found.talk.next_turn) == ([], 0, None)


def test_it_is_said_that_the_middle_of_a_very_long_message_was_not_read(engine: Engine) -> None:
    hidden = f"{'All is well. ' * 1_000}\n\n{DECISION}\n\n{'All is well. ' * 1_000}"
    log = "2026-03-01 12:00:00 started\n" * 1_000

    cut = extract_memories(engine, SHOP, Wish(text=hidden), Work())
    whole = extract_memories(engine, SHOP, Wish(text=f"{log}\n{DECISION}"), Work())

    assert DECISION not in [each.candidate.content for each in cut.proposals]
    assert ["beginning and the end" in note for note in cut.notes] == [True]
    assert DECISION in [each.candidate.content for each in whole.proposals]
    assert whole.notes == []


def test_an_answer_keeps_to_its_size_and_says_what_was_cut(engine: Engine) -> None:
    turns = [Said(f"We decided to use tool{n} for part{n} {'very ' * 150}often.", "Ok.") for n in range(40)]
    keep(engine, held("long"), *turns)
    face = Face(engine, toolsets=("all",), default_project="shop")

    outcome = perform(face, "memory_extract", {"session_id": "long"}, Caller(), Work())

    assert outcome.structured is not None
    assert tokens(json.dumps(outcome.structured)) <= USUAL_TOKENS
    assert any("shortened" in each for each in outcome.structured["candidates"])
    assert any("left out" in note or "shortened" in note for note in outcome.structured["notes"])


def test_a_repeated_request_keeps_nothing_twice_and_answers_alike(engine: Engine) -> None:
    keep(engine, held("s1"), *SESSION)
    wish = Wish(session="s1", keep=True, key="request-1")

    first = extract_memories(engine, SHOP, wish, Work())
    again = extract_memories(engine, SHOP, wish, Work())

    assert [each.memory.id for each in first.proposals] == [each.memory.id for each in again.proposals]
    assert all(each.is_kept for each in again.proposals)


def test_when_an_engine_refuses_one_memory_none_is_kept(engine: Engine) -> None:
    keep(engine, held("s1"), *SESSION)
    picky = replace(engine, vectors=Choosy(engine.vectors, "pnpm"))

    with pytest.raises(ContentRefused):
        extract_memories(picky, SHOP, Wish(session="s1", keep=True), Work())

    with engine.records.reading() as records:
        assert records.memories.count_by_type(SHOP) == {}


def test_without_the_index_candidates_are_found_and_it_is_said_how_conflicts_were(engine: Engine) -> None:
    keep(engine, held("s1"), *SESSION)
    vectors = Unreliable(engine.vectors)
    vectors.down = True

    found = extract_memories(replace(engine, vectors=vectors), SHOP, Wish(session="s1"), Work())

    assert len(found.proposals) == 4
    assert any("by words alone" in note for note in found.notes)


def variables_for(api: Api, server: ModelServer) -> dict[str, str]:
    """What somebody sets to have a model at a server refine what is found."""
    chosen = {
        Api.ANTHROPIC: {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "a-key"},
        Api.OPENAI: {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_CHAT_MODEL": "m"},
        Api.OLLAMA: {"OLLAMA_URL": server.url},
    }
    return {"BACKSTORY_EXTRACTOR": api.value, **chosen[api]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving() as listening:
        yield listening


def extracted_by(api: Api, server: ModelServer, home: Path) -> Extraction:
    settings = read_settings({"BACKSTORY_HOME": str(home), **variables_for(api, server)})
    with open_engine(settings) as engine:
        return extract_memories(engine, SHOP, Wish(text=PREFERENCE), Work())


@pytest.mark.parametrize("api", Api)
def test_a_language_model_that_was_chosen_refines_what_was_found(
    home: Path, server: ModelServer, api: Api
) -> None:
    server.says(answer(api, '[{"candidate": 1, "content": "The project uses pnpm, never npm."}]'))

    found = extracted_by(api, server, home)

    assert [each.candidate.content for each in found.proposals] == ["The project uses pnpm, never npm."]
    assert found.notes == []
    assert PREFERENCE in str(server.asked[0].body)


def test_when_the_language_model_fails_the_rules_find_it_and_that_is_said(
    home: Path, server: ModelServer
) -> None:
    server.status = 503

    found = extracted_by(Api.ANTHROPIC, server, home)

    assert [each.candidate.content for each in found.proposals] == [PREFERENCE]
    assert "503" in found.notes[0]


@pytest.mark.parametrize(
    ("chosen", "needed"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_BASE_URL")]
)
def test_a_language_model_that_cannot_be_reached_by_the_settings_is_refused_at_the_start(
    home: Path, chosen: str, needed: str
) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_EXTRACTOR": chosen})

    with (
        pytest.raises(SettingsError, match=f"BACKSTORY_EXTRACTOR={chosen} needs .*{needed}"),
        open_engine(settings),
    ):
        pass
