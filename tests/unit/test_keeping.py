"""A session as it is kept: ids that stay what they are, places, texts without secrets, touched files."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.actions.transcripts.keeping import Kept, Origin, keep
from backstory.model.conversation import Role
from backstory.model.keeping import chain_of
from backstory.model.project import Project
from backstory.model.transcript import (
    FileTouch,
    Found,
    Session,
    Title,
    TitleSource,
    ToolCall,
    Turn,
    Utterance,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANGED = datetime(2026, 3, 2, tzinfo=UTC)
SHOP = Origin("s1", "", Project("/home/ann/shop"), "claude-code", "/transcripts/s1.jsonl")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def said(words: str, answer: str = "", *, number: int = 1, calls: Sequence[ToolCall] = ()) -> Turn:
    utterances = [Utterance(words, Found.TYPED)] if words else []
    at = NOON + timedelta(minutes=number)
    uuids = [f"u{number}", f"a{number}"]
    return Turn(number, utterances, answer, calls, started_at=at, ended_at=at, uuids=uuids)


def session(*turns: Turn, folder: str = "/home/ann/shop") -> Session:
    return Session("s1", folder=folder, started_at=NOON, ended_at=NOON, turns=turns)


def kept(*turns: Turn, origin: Origin = SHOP) -> Kept:
    return keep(session(*turns), origin, CHANGED)


def texts(result: Kept) -> list[tuple[Role, int, str]]:
    return [(new.message.role, new.message.place, new.message.text) for new in result.messages]


def call(name: str = "Bash", result: str = "", files: Sequence[FileTouch] = (), **shown: str) -> ToolCall:
    return ToolCall(f"id of {name}", name, {"tool": name, **shown}, result, files)


def touched(result: Kept) -> dict[str, bool]:
    return {touch.path: touch.changed for new in result.messages for touch in new.message.touches}


def test_a_turn_gives_a_message_for_each_side_that_said_something() -> None:
    result = kept(
        said("why?", "Because.", calls=[call(command="make", result="ok"), call("Read", file="a.py")]),
        said("", "More.", number=2),
        said("thanks", number=3),
    )

    assert texts(result) == [
        (Role.USER, 1, "why?"),
        (Role.ASSISTANT, 2, "Because."),
        (Role.TOOL, 2, "Bash make\nok\n\nRead a.py"),
        (Role.ASSISTANT, 3, "More."),
        (Role.USER, 4, "thanks"),
    ]
    assert [turn.messages for turn in result.turns] == [
        {new.message.role: new.message.id for new in result.messages if new.message.turn == number}
        for number in (1, 2, 3)
    ]
    assert result.conversation.messages == 5


def test_what_tools_did_before_anything_was_said_stands_at_the_place_of_what_comes_next() -> None:
    result = kept(said("", calls=[call(command="make")]), said("hello", number=2))

    assert texts(result) == [(Role.TOOL, 1, "Bash make"), (Role.USER, 1, "hello")]


def test_a_turn_of_commands_alone_is_kept_and_has_no_messages() -> None:
    result = kept(replace(said(""), commands=["/review the parser"]))

    assert [(turn.commands, turn.messages) for turn in result.turns] == [(["/review the parser"], {})]
    assert result.messages == []


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(["", "c"]), st.booleans())))
def test_places_are_those_that_the_records_count(shapes: list[tuple[str, str, bool]]) -> None:
    result = kept(
        *(
            said(words, answer, number=number, calls=[call()] if has_call else ())
            for number, (words, answer, has_call) in enumerate(shapes, start=1)
        )
    )

    messages = [new.message for new in result.messages]
    assert [(each.id, each.turn, each.place, each.role) for each in messages] == [
        (link.id, link.turn, link.place, link.role) for link in chain_of(result.turns)
    ]


def test_a_forks_copy_of_a_message_has_the_id_of_the_original() -> None:
    turn = said("why?", "Because.")

    original = kept(turn)
    fork = kept(replace(turn, number=7), origin=replace(SHOP, id="s2"))

    assert [new.message.id for new in fork.messages] == [new.message.id for new in original.messages]


@pytest.mark.parametrize(
    "other",
    [
        kept(said("why not?")),
        kept(said("", "why?")),
        kept(said("why?", number=2)),
        kept(said("why?"), origin=replace(SHOP, project=Project("another"))),
    ],
    ids=["text", "role", "turn", "project"],
)
def test_the_id_of_a_message_tells_apart(other: Kept) -> None:
    assert other.messages[0].message.id != kept(said("why?")).messages[0].message.id


def test_without_uuids_a_message_is_known_by_its_conversation_and_its_number() -> None:
    turn = replace(said("why?"), uuids=())

    ids = {
        kept(turn).messages[0].message.id,
        kept(turn, origin=replace(SHOP, id="s2")).messages[0].message.id,
        kept(replace(turn, number=2)).messages[0].message.id,
    }

    assert len(ids) == 3
    assert kept(turn).messages[0].message.id in ids


def test_a_turn_that_tells_no_time_has_that_of_the_one_before_it() -> None:
    result = kept(said("one"), replace(said("two", number=2), started_at=None, ended_at=None))

    assert [new.message.at for new in result.messages] == [NOON + timedelta(minutes=1)] * 2


def test_a_session_that_tells_no_time_has_that_of_its_file() -> None:
    turn = replace(said("one"), started_at=None, ended_at=None)

    result = keep(replace(session(turn), started_at=None, ended_at=None), SHOP, CHANGED)

    assert result.messages[0].message.at == CHANGED


def test_no_secret_is_left_in_anything_that_is_kept() -> None:
    turn = replace(
        said(
            f"my key is {SECRET}",
            f"You said {SECRET}.",
            calls=[
                call(command=f"login {SECRET}", result=f"token={SECRET}"),
                call("Read", file=f"/tmp/{SECRET}", files=[FileTouch(f"/tmp/{SECRET}")]),
            ],
        ),
        commands=[f"!login {SECRET}"],
    )
    told = replace(
        session(turn),
        title=Title(f"about {SECRET}", TitleSource.AI),
        summaries={"leaf": f"with {SECRET}"},
        git_branches=[f"fix/{SECRET}"],
    )

    result = keep(told, SHOP, CHANGED)

    stored = replace(result, made_from=())
    assert SECRET not in repr(stored)
    assert result.titles == {"leaf": "with [redacted: github token]"}
    assert result.redactions == {"github token": 10}


def test_what_was_taken_out_before_a_text_was_cut_is_counted_too() -> None:
    result = kept(said("", calls=[call(result="login [redacted: github token] ok")]))

    assert result.redactions == {"github token": 1}


def test_what_is_private_in_one_tool_call_reaches_into_no_other() -> None:
    result = kept(said("", calls=[call(result="<private>mine"), call("Grep", pattern="yours")]))

    assert texts(result) == [(Role.TOOL, 1, "Bash\n[redacted: private]\n\nGrep yours")]


def test_touched_files_are_named_from_the_projects_folder() -> None:
    result = kept(
        said(
            "",
            calls=[
                call("Read", files=[FileTouch("/home/ann/shop/src/cart.py")]),
                call("Edit", files=[FileTouch("src/cart.py", changed=True)]),
                call("Read", files=[FileTouch("/home/ann/shop/src/cart.py")]),
                call("Grep", files=[FileTouch("/home/ann/shop"), FileTouch("/etc/hosts")]),
            ],
        )
    )

    assert touched(result) == {"src/cart.py": True, "/etc/hosts": False}


def test_files_of_a_worktree_are_named_like_those_of_its_repository(tmp_path: Path) -> None:
    shop, other = tmp_path / "shop", tmp_path / "other"
    (shop / ".git").mkdir(parents=True)
    other.mkdir()
    (other / ".git").write_text("gitdir: elsewhere", "utf-8")
    calls = [call("Read", files=[FileTouch(f"{folder}/src/cart.py")]) for folder in (shop, other)]
    origin = replace(SHOP, project=Project(str(shop)))

    result = keep(session(said("", calls=calls), folder=f"{other}/src"), origin, CHANGED)

    assert touched(result) == {"src/cart.py": False}


def test_paths_of_another_system_stay_as_they_are() -> None:
    turn = said("", calls=[call("Read", files=[FileTouch(r"D:\site\a.ts")])])

    assert touched(keep(session(turn, folder=r"D:\site"), SHOP, CHANGED)) == {r"D:\site\a.ts": False}


def test_tool_calls_are_kept_without_their_results() -> None:
    result = kept(said("", calls=[call(command="make", result="ok")]))

    (shown,) = result.turns[0].tool_calls
    assert (shown.name, shown.rendering["command"], shown.result) == ("Bash", "make", "")


def test_what_a_subagent_was_asked_is_said_to_it_but_by_no_human() -> None:
    task = replace(said(""), utterances=[Utterance("find the bug", Found.TASK)])
    origin = replace(SHOP, id="s1/a7", parent="s1")

    result = kept(task, origin=origin)

    assert texts(result) == [(Role.USER, 1, "find the bug")]
    assert result.conversation.human_utterances == 0
    assert result.conversation.parent == "s1"


SAID = st.lists(st.tuples(st.text("ab", max_size=2), st.text("cd", max_size=2)), min_size=1)


@given(SAID, st.integers(0), st.integers(0))
def test_a_session_that_grew_is_kept_as_if_it_had_been_read_at_once(
    told: list[tuple[str, str]], length: int, changed: int
) -> None:
    turns = [
        said(words, answer, number=number, calls=[call(result=words)] if words else ())
        for number, (words, answer) in enumerate(told, start=1)
    ]
    before = kept(*turns[: length % len(turns)])
    place = changed % len(turns)
    turns[place] = replace(turns[place], assistant_text="another answer")

    result = keep(session(*turns), SHOP, CHANGED, before)

    assert result == kept(*turns)


def test_what_did_not_change_is_not_made_again() -> None:
    first = said("why?", "Because.", calls=[call()])
    before = kept(first)

    result = keep(session(first, said("thanks", number=2)), SHOP, CHANGED, before)

    assert all(new is old for new, old in zip(result.messages, before.messages, strict=False))
    assert len(result.messages) == 4
