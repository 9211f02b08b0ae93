"""Cursors, times and the length of answers."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.errors import InputError
from backstory.mcp import moments
from backstory.mcp.answers import MemoryFound
from backstory.mcp.budget import USUAL_TOKENS, beginning, fair_share, tokens, written
from backstory.mcp.cursors import Cursor, unpack
from backstory.mcp.fitting import fit_hits

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@given(st.integers(0, 10_000), st.integers(0, 4_000_000_000_000_000), st.text())
def test_a_cursor_comes_back_as_it_was(offset: int, moment_us: int, query: str) -> None:
    cursor = Cursor(offset, datetime.fromtimestamp(0, UTC) + timedelta(microseconds=moment_us))

    back = unpack(cursor.pack({"query": query}), {"query": query})

    assert back.offset == offset
    assert abs(back.moment - cursor.moment) <= timedelta(microseconds=1)


@given(st.text(max_size=80))
def test_a_text_that_is_no_cursor_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match=r"damaged|another"):
        unpack(text, {})


def test_a_cursor_of_another_question_is_refused() -> None:
    with pytest.raises(InputError, match="another search"):
        unpack(Cursor(10, NOON).pack({"query": "a"}), {"query": "b"})


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-01", "2026-03-01T00:00:00+00:00", "2026-03-01T23:59:59.999999+00:00"),
        ("2026-03-01T12:00", "2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00+00:00"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00+00:00"),
        (" 2026-03-01T12:00:00+01:00 ", "2026-03-01T12:00:00+01:00", "2026-03-01T12:00:00+01:00"),
    ],
)
def test_a_time_without_a_zone_is_utc_and_a_date_is_its_whole_day(text: str, since: str, until: str) -> None:
    assert moments.since(text).isoformat() == since
    assert moments.until(text).isoformat() == until


def test_tokens_are_estimated_from_above() -> None:
    assert tokens("") == 0
    assert tokens("abcd" * 10) == 10
    assert tokens("日本語") == 3


@given(st.text(), st.integers(1, 50))
def test_the_beginning_of_a_text_is_the_longest_that_fits(text: str, most: int) -> None:
    begun = beginning(text, most)

    assert text.startswith(begun)
    assert tokens(written(begun)) <= most
    longer = text[: len(begun) + 1]
    assert begun == text or tokens(written(longer)) > most


@given(st.lists(st.integers(0, 1_000), min_size=1), st.integers(0, 5_000))
def test_a_fair_share_shortens_the_longest_first_and_fits(sizes: list[int], most: int) -> None:
    share = fair_share(sizes, most)

    assert sum(min(size, share) for size in sizes) <= most
    if sum(sizes) <= most:
        assert share >= max(sizes)


def hit(number: int, content: str, metadata: dict[str, object] | None = None) -> MemoryFound:
    return MemoryFound(
        id=f"{number:036}",
        type="design",
        project="shop",
        score=1.0,
        parts={"words": 0.812, "meaning": 0.234, "importance": 0.123, "recency": 0.056},
        found_by=["meaning", "words"],
        importance=0.5,
        created_at=NOON,
        metadata=metadata,
        content=content,
    )


def test_hits_that_fit_are_left_as_they_are() -> None:
    hits = [hit(number, "short") for number in range(50)]

    answer = fit_hits(hits)

    assert answer.hits == hits
    assert (answer.omitted, answer.notes) == (None, None)


def test_a_hundred_hits_say_what_they_are_before_what_their_scores_are_made_of() -> None:
    sentence = (
        "Sums of money are kept as whole cents, because floats lost a cent in an invoice of March 2024."
    )

    answer = fit_hits([hit(number, sentence) for number in range(100)])

    assert [each.content for each in answer.hits] == [sentence] * 100
    assert all(each.parts is None and each.shortened == ["parts"] for each in answer.hits)
    assert tokens(json.dumps(answer.structured())) <= USUAL_TOKENS


def test_large_metadata_gives_way_and_the_hit_says_so() -> None:
    answer = fit_hits([hit(0, "short", {"k": "x" * 60_000}), hit(1, "short", {"k": "y"})])

    assert (answer.hits[0].metadata, answer.hits[0].shortened) == (None, ["metadata"])
    assert (answer.hits[1].metadata, answer.hits[1].shortened) == ({"k": "y"}, None)
    assert answer.hits[0].content == "short"


def test_hits_that_cannot_be_shortened_enough_are_left_out_by_name() -> None:
    hits = [hit(number, "long words " * 100) for number in range(100)]

    answer = fit_hits(hits, most=5_000)

    assert answer.omitted
    assert {each.id for each in answer.hits} | set(answer.omitted) == {each.id for each in hits}
    assert tokens(json.dumps(answer.structured())) < 5_000
    assert answer.notes is not None
    assert "memory_get" in answer.notes[-1]
