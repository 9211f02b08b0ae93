"""Answers about conversations made to fit: nothing is lost between pages, and nothing is too long."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backstory.mcp.budget import fitting, size
from backstory.mcp.transcript_answers import (
    ConversationRead,
    FileTouched,
    TurnAround,
    TurnRead,
    TurnRecalled,
    TurnShown,
)
from backstory.mcp.transcript_fitting import (
    LEAST_ROOM,
    PARTS,
    fit_conversation,
    fit_recalled,
    fit_turn,
    piece,
)

AT = datetime(2026, 3, 2, 9, 31, tzinfo=UTC)

texts = st.none() | st.text(min_size=1, max_size=40).map(lambda text: text * 60)
calls = st.none() | st.lists(
    st.fixed_dictionaries({"tool": st.just("Bash"), "command": st.text(max_size=200)}),
    min_size=1,
    max_size=30,
)
parts = st.fixed_dictionaries(
    {"commands": texts, "user_text": texts, "assistant_text": texts, "tools_used": calls, "tool_text": texts}
)


def shown(number: int = 1, **said: Any) -> TurnShown:
    return TurnShown(turn_number=number, timestamp=AT, **said)


def recalled(number: int, text: str, files: int = 0) -> TurnRecalled:
    return TurnRecalled(
        session_id="s",
        turn_number=number,
        role="user",
        timestamp=AT,
        project="shop",
        score=1.0,
        found_by=["words"],
        snippet="snippet",
        text=text,
        around=[TurnAround(turn_number=number + 1, user_text=text, assistant_text=text)],
        files=[FileTouched(path=f"src/{place}.py", changed=False) for place in range(files)] or None,
    )


@given(said=parts, room=st.integers(0, 3_000))
def test_the_pieces_of_a_turn_are_the_whole(said: dict[str, Any], room: int) -> None:
    turn = shown(**said)
    whole: dict[str, Any] = {}
    place: int | None = 0
    while place is not None:
        part, following = piece(turn, place, room)
        assert following is None or following > place
        for name in PARTS:
            if (given := getattr(part, name)) is not None:
                whole[name] = whole[name] + given if name in whole else given
        place = following

    assert whole == {name: value for name, value in said.items() if value is not None}


@given(said=parts, room=st.integers(LEAST_ROOM * 2, 3_000))
def test_a_piece_keeps_to_its_room(said: dict[str, Any], room: int) -> None:
    part, _ = piece(shown(**said), 0, room)

    # What stands between the parts, and a call that is taken because something must be.
    assert size(part) <= room + 150


@given(turns=st.lists(parts, min_size=1, max_size=8), room=st.integers(2_000, 6_000))
def test_a_page_of_turns_keeps_to_its_room_and_says_where_it_ends(
    turns: list[dict[str, Any]], room: int
) -> None:
    page = ConversationRead(
        session_id="s",
        project="shop",
        interface_type="claude-code",
        total_turns=len(turns),
        offset=0,
        turns=[shown(number, **said) for number, said in enumerate(turns, 1)],
    )

    fitted = fit_conversation(page, room)

    assert size(fitted) <= room
    numbers = [turn.turn_number for turn in fitted.turns]
    assert numbers == list(range(1, len(numbers) + 1))
    assert fitted.next_offset == (len(numbers) if len(numbers) < len(turns) else None)
    for turn, said in zip(fitted.turns, turns, strict=False):
        whole = {name for name, value in said.items() if getattr(turn, name) == value}
        assert set(PARTS) - whole == set(turn.shortened or ())


def test_a_turn_that_fits_is_given_as_it_is() -> None:
    turn = TurnRead(turn_number=1, user_text="Why?", session_id="s", project="shop", total_turns=1)

    assert fit_turn(turn, 0) == turn


def test_hits_with_much_around_them_are_shortened_and_then_left_out() -> None:
    hits = [recalled(number, "word " * 20_000) for number in range(1, 31)]

    answer = fit_recalled(hits)

    assert 5 <= len(answer.hits) < 30
    assert size(answer) <= 11_000
    assert all(hit.shortened == ["text"] for hit in answer.hits)
    assert [note.split(";")[1] for note in answer.notes or ()] == [
        " read_turn with session_id and turn_number gives them whole",
        " search_conversations finds them",
    ]


def test_of_very_many_files_some_are_named_and_that_is_said() -> None:
    (hit,) = fit_recalled([recalled(1, "short", files=300)]).hits

    assert len(hit.files or ()) == 20
    assert hit.shortened == ["files"]
    assert hit.text == "short"


def test_a_list_is_cut_where_it_gets_too_long_and_never_to_nothing() -> None:
    turns = [shown(number, user_text="word " * 400) for number in range(1, 11)]

    assert list(fitting(turns, 2_500)) == turns[:3]
    assert list(fitting(turns, 10)) == turns[:1]
    assert list(fitting(turns)) == turns
