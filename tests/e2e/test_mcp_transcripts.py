"""The tools about conversations as an agent calls them: through a real client, on embedded engines."""

import base64
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from backstory.engine import Engine, TranscriptPlaces, Work
from backstory.mcp.budget import MOST_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.mcp.transcript_answers import RETRIEVERS
from backstory.mcp.transcript_reports import MOST_ERRORS
from backstory.model.project import Project
from backstory.ranking.turns import WEIGHTS
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .calling import call, failure
from .doubles import Unreliable
from .talk import Said, held, keep, project_all
from .transcript_files import Exchange, Use, session_id, write_transcript

pytestmark = pytest.mark.anyio

Connecting = AbstractAsyncContextManager[Client]

#: Folders that are not there: a project is then the folder itself.
SHOP, BANK = "/srv/shop", "/srv/bank"

PAYMENTS = session_id("payments")

EDIT = Use("Edit", {"file_path": f"{SHOP}/src/charge.py", "old_string": "a", "new_string": "b"}, "updated")
PYTEST = Use("Bash", {"command": "pytest tests -q"}, "FAILED test_charge: sent without a key")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write_two_projects(root: Path) -> None:
    write_transcript(
        root,
        "payments",
        SHOP,
        Exchange("A customer was charged twice. Why?", "The provider timed out, and we tried again."),
        Exchange("Use the order's id as the idempotency key.", "Done; every retry has it.", [EDIT, PYTEST]),
        Exchange("What about refunds?", "They are sent once."),
        title="Charged twice",
    )
    read = Use("Read", {"file_path": f"{SHOP}/src/charge.py"})
    write_transcript(
        root, "logging", SHOP, Exchange("Log every charge.", "It is logged as JSON now.", [read])
    )
    write_transcript(
        root, "loans", BANK, Exchange("Compute the idempotency of loans.", "Loans are idempotent.")
    )


def over(engine: Engine, root: Path) -> Face:
    placed = replace(engine, transcripts=TranscriptPlaces(claude_folders=[root]))
    return Face(placed, toolsets=("all",), default_project=SHOP)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Transcripts of two projects."""
    write_two_projects(tmp_path / "projects")
    return tmp_path / "projects"


@pytest.fixture
def face(engine: Engine, root: Path) -> Face:
    """Over a store that is empty yet."""
    return over(engine, root)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Face]:
    """Over one store for all who only read, with everything indexed."""
    folder = tmp_path_factory.mktemp("indexed")
    write_two_projects(folder / "projects")
    with open_engine(read_settings({"BACKSTORY_HOME": str(folder), "BACKSTORY_MIN_FREE_MB": "1"})) as engine:
        face = over(engine, folder / "projects")
        ask(face, "conversation_index", project="*")
        project_all(face.engine)
        yield face


@pytest.fixture
def connecting(indexed: Face, era: str) -> Connecting:
    return Client(create_server(indexed), mode=era)


def ask(face: Face, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer, without a client between."""
    outcome = perform(face, tool, arguments, Caller(), Work())
    assert outcome.structured is not None, outcome.text
    return outcome.structured


async def test_what_was_said_is_indexed_told_recalled_and_stays_in_its_project(face: Face, era: str) -> None:
    async with Client(create_server(face), mode=era) as client:
        done = await call(client, "conversation_index", project="*")
        again = await call(client, "conversation_index", project="*")
        told = await call(client, "conversation_timeline")
        recalled = await call(client, "conversation_recall", query="idempotency key")
        project_all(face.engine)
        counted = await call(client, "conversation_stats")
        elsewhere = await call(client, "conversation_recall", query="idempotency key", project="empty")
        in_bank = await call(client, "conversation_search", topics=["idempotency", "refunds"], project=BANK)

    assert (done["files_processed"], done["files_read"], done["conversations"]) == (3, 3, 3)
    assert done["turns_indexed"] == 5
    assert (again["files_unchanged"], again["messages_added"], again["embeddings"]) == (3, 0, 0)
    assert sum(day["conversations"] for day in told["days"]) == 2
    hit = recalled["hits"][0]
    assert (hit["session_id"], hit["turn_number"], hit["project"]) == (PAYMENTS, 2, SHOP)
    assert {each["project"] for each in recalled["hits"]} == {SHOP}
    assert counted["messages"] == counted["graph_messages"] == 10
    assert counted["vectors"] == counted["messages"] + 2  # of the bank, in the same index
    assert elsewhere["hits"] == []
    assert {each["project"] for each in in_bank["hits"]} == {BANK}


def test_index_keeps_to_the_caller_s_project_and_to_what_was_asked(face: Face) -> None:
    own = ask(face, "conversation_index")
    listed = ask(face, "list_conversations")
    limited = ask(face, "conversation_index", project="*", limit=1, recent_only=True)

    assert own["conversations"] == 2
    assert {each["project"] for each in listed["conversations"]} == {SHOP}
    assert limited["files_processed"] == 1


async def test_a_search_sees_all_projects_and_marks_what_matches(connecting: Connecting) -> None:
    async with connecting as client:
        everywhere = await call(client, "search_conversations", query="idempotency")
        named = await call(client, "search_conversations", query="idempotency", project=BANK, role="user")

    assert {hit["project"] for hit in everywhere["hits"]} == {SHOP, BANK}
    (hit,) = named["hits"]
    assert (hit["session_id"], hit["turn_number"], hit["role"]) == (session_id("loans"), 1, "user")
    assert hit["snippet"] == "Compute the **idempotency** of loans."
    assert "words" in hit["found_by"]
    assert datetime.fromisoformat(hit["timestamp"]).tzinfo is not None


def test_the_retrievers_are_those_that_ranking_knows() -> None:
    assert set(RETRIEVERS) == set(WEIGHTS)


async def test_a_search_is_narrowed_by_session_role_agent_and_time(connecting: Connecting) -> None:
    async with connecting as client:

        async def found(**filters: object) -> set[tuple[str, int]]:
            answer = await call(client, "search_conversations", query="charge retry", **filters)
            return {(hit["session_id"], hit["turn_number"]) for hit in answer["hits"]}

        assert (PAYMENTS, 2) in await found()
        assert {session for session, _ in await found(session_id=PAYMENTS)} == {PAYMENTS}
        assert (PAYMENTS, 2) in await found(role="tool")
        assert (PAYMENTS, 1) not in await found(role="tool")
        assert await found(interface_type="codex") == set()
        assert await found(room_id="kitchen") == set()
        assert await found(to="2020-01-01") == set()
        assert await found(**{"from": "2020-01-01"}) == await found()


async def test_a_question_with_a_file_finds_who_touched_it(connecting: Connecting) -> None:
    async with connecting as client:
        answer = await call(client, "search_conversations", query="what happened to src/charge.py?")

    by_file = {
        (hit["session_id"], hit["turn_number"]) for hit in answer["hits"] if "files" in hit["found_by"]
    }
    assert by_file == {(PAYMENTS, 2), (session_id("logging"), 1)}


async def test_recall_tells_what_stands_around_and_who_touched_the_same_files(connecting: Connecting) -> None:
    async with connecting as client:
        (hit, *_) = (await call(client, "conversation_recall", query="idempotency key"))["hits"]
        (plain, *_) = (
            await call(client, "conversation_recall", query="idempotency key", limit=1, include_graph=False)
        )["hits"]

    assert [each["turn_number"] for each in hit["around"]] == [1, 3]
    assert hit["around"][1]["user_text"] == "What about refunds?"
    assert hit["files"] == [{"path": "src/charge.py", "changed": True}]
    assert [each["session_id"] for each in hit["related"]] == [session_id("logging")]
    assert "files" not in plain
    assert len(plain["around"]) == 2


async def test_topics_are_merged_into_one_ranking(connecting: Connecting) -> None:
    async with connecting as client:
        topics = {"topics": ["refunds", "charged twice"]}
        found = await call(client, "conversation_search", **topics)
        early = await call(client, "conversation_search", **topics, date_range={"to": "2020-01-01"})
        first = await call(client, "conversation_search", **topics, limit=1)
        second = await call(client, "conversation_search", **topics, limit=1, cursor=first["next_cursor"])

    turns = [(hit["session_id"], hit["turn_number"]) for hit in found["hits"]]
    assert {(PAYMENTS, 1), (PAYMENTS, 3)} <= set(turns[:3])
    assert early["hits"] == []
    assert [first["hits"][0], second["hits"][0]] == found["hits"][:2]


async def test_conversations_are_listed_newest_first_in_pages(connecting: Connecting) -> None:
    async with connecting as client:
        first = await call(client, "list_conversations", limit=2)
        rest = await call(client, "list_conversations", limit=2, cursor=first["next_cursor"])
        in_bank = await call(client, "list_conversations", project=BANK)

    assert (first["total"], rest["total"], in_bank["total"]) == (3, 3, 1)
    listed = [*first["conversations"], *rest["conversations"]]
    assert len({each["session_id"] for each in listed}) == 3
    ended = [each["last_timestamp"] for each in listed]
    assert ended == sorted(ended, reverse=True)
    assert "next_cursor" not in rest
    payments = next(each for each in listed if each["session_id"] == PAYMENTS)
    assert (payments["title"], payments["turn_count"]) == ("Charged twice", 3)
    assert (payments["cwd"], payments["git_branch"]) == (SHOP, "main")
    assert payments["first_timestamp"] < payments["last_timestamp"]


async def test_a_turn_is_read_whole_with_its_tools(connecting: Connecting) -> None:
    async with connecting as client:
        turn = await call(client, "read_turn", session_id=PAYMENTS, turn_number=2)

    assert (turn["turn_number"], turn["total_turns"], turn["project"]) == (2, 3, SHOP)
    assert turn["user_text"] == "Use the order's id as the idempotency key."
    assert turn["assistant_text"] == "Done; every retry has it."
    assert turn["tools_used"] == [
        {"tool": "Edit", "file": f"{SHOP}/src/charge.py"},
        {"tool": "Bash", "command": "pytest tests -q"},
    ]
    assert "FAILED test_charge: sent without a key" in turn["tool_text"]


async def test_a_conversation_is_read_in_pages(connecting: Connecting) -> None:
    async with connecting as client:
        first = await call(client, "read_conversation", session_id=PAYMENTS, limit=2)
        rest = await call(client, "read_conversation", session_id=PAYMENTS, offset=first["next_offset"])

    assert (first["title"], first["project"], first["total_turns"]) == ("Charged twice", SHOP, 3)
    assert [turn["turn_number"] for turn in first["turns"]] == [1, 2]
    assert [turn["user_text"] for turn in rest["turns"]] == ["What about refunds?"]
    assert "next_offset" not in rest
    assert first["turns"][1]["tools_used"][1] == {"tool": "Bash", "command": "pytest tests -q"}


def test_subagents_are_named_with_the_conversation_and_read_by_their_own_id(
    face: Face, root: Path, tmp_path: Path
) -> None:
    write_transcript(tmp_path / "agents", "agent", SHOP, Exchange("Find the tests.", "They are in tests/."))
    (made,) = (tmp_path / "agents").rglob("*.jsonl")
    agent = root / SHOP.replace("/", "-") / PAYMENTS / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_text(made.read_text("utf-8").replace(session_id("agent"), PAYMENTS), "utf-8")
    ask(face, "conversation_index")

    (named,) = ask(face, "read_conversation", session_id=PAYMENTS)["subagents"]
    read = ask(face, "read_turn", session_id=named["session_id"], turn_number=1)

    assert named["session_id"] == f"{PAYMENTS}/a1"
    assert read["assistant_text"] == "They are in tests/."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_turn", {"session_id": "nothing", "turn_number": 1}),
        ("read_turn", {"session_id": PAYMENTS, "turn_number": 99}),
        ("read_turn", {"session_id": PAYMENTS, "turn_number": 1, "offset": 100_000}),
        ("read_turn", {"session_id": PAYMENTS, "turn_number": 1, "project": BANK}),
        ("read_conversation", {"session_id": "nothing"}),
        ("read_conversation", {"session_id": PAYMENTS, "project": BANK}),
        ("search_conversations", {"query": "x", "session_id": "nothing"}),
        ("search_conversations", {"query": "x", "cursor": "abc"}),
        ("search_conversations", {"query": "x", "from": "soon"}),
        ("conversation_export", {"conversation_id": session_id("loans")}),
    ],
)
async def test_what_cannot_be_answered_is_told_with_a_hint(
    connecting: Connecting, tool: str, arguments: dict[str, object]
) -> None:
    async with connecting as client:
        assert "\nHint: " in await failure(client, tool, arguments)


async def test_roles_are_checked(connecting: Connecting) -> None:
    async with connecting as client:
        told = await failure(client, "search_conversations", {"query": "x", "role": "usr"})

    assert told == '`role` is "usr", and must be one of: user, assistant, tool\nHint: did you mean user?'


def test_long_turns_are_shortened_and_can_be_read_whole(face: Face, root: Path) -> None:
    asked, answered, given = "Why? " * 10_000, "Because. " * 10_000, "word " * 300
    uses = [Use("Bash", {"command": f"make {number}"}, f"{number} {given}") for number in range(60)]
    id = write_transcript(root, "long", SHOP, Exchange(asked, answered, uses), Exchange("Thanks."))
    ask(face, "conversation_index")

    page = ask(face, "read_conversation", session_id=id)
    turn = ask(face, "read_turn", session_id=id, turn_number=1)
    whole: dict[str, Any] = {}
    while True:
        for name in ("user_text", "assistant_text", "tools_used", "tool_text"):
            if name in turn:
                whole[name] = whole[name] + turn[name] if name in whole else turn[name]
        if "next_offset" not in turn:
            break
        turn = ask(face, "read_turn", session_id=id, turn_number=1, offset=turn["next_offset"])

    assert {"user_text", "assistant_text"} <= set(page["turns"][0]["shortened"])
    assert page["turns"][1]["user_text"] == "Thanks."
    assert "read_turn" in page["notes"][0]
    assert whole["user_text"] == asked.strip()
    assert whole["assistant_text"] == answered.strip()
    assert [use["command"] for use in whole["tools_used"]] == [f"make {number}" for number in range(60)]
    assert all(f"{number} {given}".strip() in whole["tool_text"] for number in range(60))


@pytest.mark.parametrize("letter", ["a ", "あ", '"', "\\"])
def test_no_answer_exceeds_the_most_tokens(face: Face, root: Path, letter: str) -> None:
    many = [Exchange(f"retries {letter * 6_000}", f"retries {letter * 6_000}") for _ in range(30)]
    id = write_transcript(root, "long", SHOP, *many)
    ask(face, "conversation_index")

    for tool, arguments in (
        ("search_conversations", {"query": "retries", "limit": 100}),
        ("conversation_search", {"topics": ["retries"], "limit": 100}),
        ("conversation_recall", {"query": "retries", "limit": 100}),
        ("read_conversation", {"session_id": id, "limit": 100}),
        ("read_turn", {"session_id": id, "turn_number": 1}),
        ("conversation_export", {}),
        ("conversation_export", {"format": "markdown"}),
    ):
        outcome = perform(face, tool, arguments, Caller(), Work())
        assert outcome.error is None, tool
        # Below what makes Claude Code write an answer to a file.
        assert len(outcome.text) < 50_000, tool
        assert tokens(outcome.text) < MOST_TOKENS, tool
        assert tokens(json.dumps(outcome.structured, ensure_ascii=False)) < MOST_TOKENS / 4, tool


def test_hits_that_do_not_fit_are_on_the_next_page(face: Face, root: Path) -> None:
    many = [Exchange(f"retries {'of the queue ' * 40} number {number}") for number in range(90)]
    id = write_transcript(root, "long", SHOP, *many)
    ask(face, "conversation_index")
    asked: dict[str, object] = {"query": "retries", "limit": 100, "session_id": id}

    pages = [ask(face, "search_conversations", **asked)]
    while "next_cursor" in pages[-1]:
        pages.append(ask(face, "search_conversations", **asked, cursor=pages[-1]["next_cursor"]))

    assert len(pages) > 1
    turns = [hit["turn_number"] for page in pages for hit in page["hits"]]
    assert len(turns) == len(set(turns)) >= 90


def test_an_export_is_whole(face: Face, root: Path) -> None:
    long = 'line one\nline two " quoted\n' * 4_000
    id = write_transcript(root, "long", SHOP, Exchange(long, "Short."), Exchange("Next?", long, [PYTEST]))
    ask(face, "conversation_index")

    def pages(form: str, **asked: object) -> list[dict[str, Any]]:
        given = [ask(face, "conversation_export", format=form, **asked)]
        while "next_cursor" in given[-1]:
            given.append(
                ask(face, "conversation_export", format=form, **asked, cursor=given[-1]["next_cursor"])
            )
        return given

    turns = [
        turn
        for page in pages("json", conversation_id=id)
        for conversation in page["conversations"]
        for turn in conversation["turns"]
    ]
    markdown = "".join(page["markdown"] for page in pages("markdown", conversation_id=id))
    every = {each["session_id"] for page in pages("json") for each in page["conversations"]}

    def said(number: int, name: str) -> str:
        return "".join(turn.get(name, "") for turn in turns if turn["turn_number"] == number)

    assert (said(1, "user_text"), said(1, "assistant_text")) == (long.strip(), "Short.")
    assert (said(2, "user_text"), said(2, "assistant_text")) == ("Next?", long.strip())
    assert "FAILED test_charge" in said(2, "tool_text")
    assert markdown.count(long.strip()) == 2
    assert markdown.count("## Turn ") == 2
    assert every == {PAYMENTS, session_id("logging"), id}


def user_texts(page: dict[str, Any]) -> str:
    """What the user said on a page of an export, or all of it where it is markdown."""
    turns = (turn for each in page.get("conversations", []) for turn in each["turns"])
    return str(page.get("markdown", "")) + "".join(turn.get("user_text", "") for turn in turns)


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_an_export_repeats_nothing_of_what_grows_between_its_pages(face: Face, form: str) -> None:
    few = [Said(f"Sum {number}.") for number in range(4)]
    long = [Said("".join(f"[{turn}.{word}]" for word in range(3_000))) for turn in range(9)]
    keep(face.engine, held("10", project=Project(SHOP)), *few[:3])
    keep(face.engine, held("90", project=Project(SHOP)), *long[:8])

    pages = [ask(face, "conversation_export", format=form)]
    keep(face.engine, held("10", project=Project(SHOP)), *few)
    keep(face.engine, held("90", project=Project(SHOP), title="A title that is told late"), *long)
    while "next_cursor" in pages[-1]:
        cursor = pages[-1]["next_cursor"]
        pages.append(ask(face, "conversation_export", format=form, cursor=cursor))

    told = "".join(map(user_texts, pages))
    assert [told.count(each.user) for each in few] == [1, 1, 1, 0]
    assert [told.count(each.user) for each in long] == [1] * 9
    assert told.count("[") == 9 * 3_000


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_turn_whose_beginning_is_gone_is_not_gone_on_with_in_another_one(face: Face, form: str) -> None:
    keep(face.engine, held("10", project=Project(SHOP)), Said("word " * 20_000))
    keep(face.engine, held("90", project=Project(SHOP)), Said("The beginning, and the end."))

    page = ask(face, "conversation_export", format=form)
    keep(face.engine, held("10", project=Project(SHOP)))
    rest = ask(face, "conversation_export", format=form, cursor=page["next_cursor"])

    assert "The beginning, and the end." in json.dumps(rest)
    assert "next_cursor" not in rest


def test_a_cursor_of_another_export_is_refused(face: Face, root: Path) -> None:
    write_transcript(root, "long", SHOP, Exchange("word " * 50_000))
    ask(face, "conversation_index")
    cursor = ask(face, "conversation_export")["next_cursor"]

    told = perform(face, "conversation_export", {"format": "markdown", "cursor": cursor}, Caller(), Work())

    assert "another search" in told.text


@pytest.mark.parametrize("conversation", [[], ["\ud800"], [7], ["10", "90"]])
def test_a_cursor_that_names_no_place_of_an_export_is_refused(face: Face, conversation: list[object]) -> None:
    keep(face.engine, held("1" * 300, project=Project(SHOP)), Said("word " * 20_000))
    cursor = ask(face, "conversation_export")["next_cursor"]
    *fields, _ = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    forged = base64.urlsafe_b64encode(json.dumps([*fields, *conversation]).encode()).decode()

    told = perform(face, "conversation_export", {"cursor": forged.rstrip("=")}, Caller(), Work())

    assert ask(face, "conversation_export", cursor=cursor)["conversations"]
    assert "the cursor is damaged" in told.text


def test_files_that_break_are_told_and_stop_nothing(face: Face, root: Path) -> None:
    folder = root / SHOP.replace("/", "-")
    for number in range(MOST_ERRORS + 1):
        (folder / f"{session_id(f'loop {number}')}.jsonl").symlink_to(f"{session_id(f'loop {number}')}.jsonl")

    done = ask(face, "conversation_index", project="*")

    assert done["conversations"] == 3
    assert len(done["errors"]) == MOST_ERRORS
    assert str(folder) in done["errors"][0]["path"]
    assert done["notes"] == [f"{MOST_ERRORS} of {MOST_ERRORS + 1} errors are shown"]


def test_an_outage_is_said_in_the_answers(face: Face) -> None:
    ask(face, "conversation_index", project="*")
    vectors = Unreliable(face.engine.vectors)
    vectors.down = True
    down = replace(face, engine=replace(face.engine, vectors=vectors))

    outcome = perform(down, "search_conversations", {"query": "refunds"}, Caller(), Work())

    assert outcome.structured is not None
    (why,) = outcome.structured["degraded"]
    assert why in outcome.text
    assert outcome.structured["hits"][0]["session_id"] == PAYMENTS


async def test_progress_of_indexing_reaches_the_client(face: Face) -> None:
    seen: list[tuple[float, float | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async with Client(create_server(face)) as client:
        await client.call_tool("conversation_index", {"project": "*"}, progress_callback=on_progress)

    assert seen[-1] == (3, 3)
