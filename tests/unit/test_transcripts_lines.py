"""Lines of a transcript: whole ones are read, broken ones mended or told, half-written ones wait."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.transcript import Flaw
from backstory.transcripts.lines import read_lines

FIRST = b'{"parentUuid":null,"type":"user","message":{"content":[{"type":"text","text":"one"}]}}'
SECOND = (
    b'{"parentUuid":"a","type":"assistant","message":{"content":[{"type":"text","text":"\xf0\x9f\x90\x99"}]}}'
)
TORN = FIRST[:-12]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)
#: Bytes that look like a transcript in which anything may have gone wrong.
fragments = st.lists(
    st.sampled_from(
        [
            FIRST,
            SECOND,
            TORN,
            b"\n",
            b"\n",
            b"\0\0\0",
            b'{"type"',
            b"{",
            b"}",
            b'"',
            b"\xff",
            b"\\ud83d",
            b"[]",
        ]
    )
    | st.binary(max_size=6),
    max_size=12,
).map(b"".join)


def kinds(data: bytes) -> list[object]:
    return [record.fields.get("type") for record in read_lines(data).records]


def encoded(values: Sequence[object]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def test_every_whole_line_is_a_record_with_its_place() -> None:
    lines = read_lines(FIRST + b"\n\n" + SECOND + b"\n")

    assert [record.offset for record in lines.records] == [0, len(FIRST) + 2]
    assert [record.fields["type"] for record in lines.records] == ["user", "assistant"]
    assert (lines.repaired, lines.unreadable) == (0, 0)


def test_a_half_written_last_line_waits() -> None:
    lines = read_lines(FIRST + b"\n" + SECOND)

    assert len(lines.records) == 1
    assert lines.consumed == len(FIRST) + 1


def test_reading_goes_on_where_it_stopped() -> None:
    data = FIRST + b"\n" + SECOND + b"\n"
    head = read_lines(data[:100])
    tail = read_lines(data[head.consumed :], head.consumed)

    assert [*head.records, *tail.records] == read_lines(data).records
    assert tail.consumed == len(data)


@pytest.mark.parametrize("glue", [b"", b" ", b"\0\0", b"\r"])
def test_objects_glued_into_one_line_are_told_apart(glue: bytes) -> None:
    lines = read_lines(FIRST + glue + SECOND + b"\n")

    assert [record.offset for record in lines.records] == [0, len(FIRST) + len(glue)]
    assert (lines.repaired, lines.unreadable) == (1, 0)


@pytest.mark.parametrize("whole", [SECOND, b'{"type":"assistant"}', b'{"timestamp":"x","type":"assistant"}'])
def test_a_whole_record_behind_a_torn_one_is_saved_and_the_loss_is_told(whole: bytes) -> None:
    start = len(FIRST) + 1
    lines = read_lines(FIRST + b"\n" + TORN + whole + b"\n")

    assert [record.offset for record in lines.records] == [0, start + len(TORN)]
    assert lines.records[1].fields["type"] == "assistant"
    lost = [flawed for flawed in lines.flaws if flawed.flaw is Flaw.UNREADABLE]
    assert [(flawed.offset, flawed.length) for flawed in lost] == [(start, len(TORN))]
    assert lines.repaired == 1


@pytest.mark.parametrize("line", [TORN, FIRST[20:], b"\0" * 50, b"[1, 2]", b"7", b"null", b"\xff\xfe"])
def test_what_holds_no_whole_record_is_told_and_does_not_end_the_reading(line: bytes) -> None:
    lines = read_lines(line + b"\n" + FIRST + b"\n")

    assert [record.fields["type"] for record in lines.records] == ["user"]
    assert (lines.repaired, lines.unreadable) == (0, 1)


def test_nul_inside_and_before_a_record_is_survived() -> None:
    assert kinds(b"\0\0" + FIRST.replace(b"one", b"o\0e") + b"\n") == ["user"]


def test_a_byte_order_mark_is_survived() -> None:
    assert kinds(b"\xef\xbb\xbf" + FIRST + b"\n") == ["user"]


@pytest.mark.parametrize("half", [b"\\ud83d", b"\\udc19", b"\xed\xa0\xbd", b"\xf0\x9f"])
def test_half_a_character_becomes_a_question_mark(half: bytes) -> None:
    lines = read_lines(b'{"type":"user","text":"a' + half + b'b"}\n')

    text = lines.records[0].fields["text"]
    assert isinstance(text, str)
    assert text.encode().strip(b"ab").strip(b"?") == b""
    assert lines.repaired == 1


def test_a_line_of_five_megabytes_is_read() -> None:
    assert kinds(b'{"type":"user","text":"' + b"x" * 5_000_000 + b'"}\n') == ["user"]


def test_nesting_without_end_is_told() -> None:
    assert read_lines(b"[" * 100_000 + b"\n").unreadable == 1
    assert read_lines(b'{"type":' * 100_000 + b"\n").unreadable == 1


@given(st.lists(objects, max_size=5))
def test_every_object_comes_back_as_it_was(values: list[dict[str, object]]) -> None:
    lines = read_lines(encoded(values))

    assert [record.fields for record in lines.records] == values
    assert not lines.flaws


@given(fragments | st.binary(max_size=60), st.data())
def test_cutting_anywhere_gives_a_prefix_and_the_rest_gives_the_rest(
    data: bytes, draw: st.DataObject
) -> None:
    whole = read_lines(data)
    cut = draw.draw(st.integers(0, len(data)))
    head = read_lines(data[:cut])
    tail = read_lines(data[head.consumed :], head.consumed)

    assert head.records == whole.records[: len(head.records)]
    assert [*head.records, *tail.records] == whole.records
    assert [*head.flaws, *tail.flaws] == whole.flaws
    assert tail.consumed == whole.consumed


@given(fragments | st.binary(max_size=60))
def test_every_byte_of_a_whole_line_is_read_or_told(data: bytes) -> None:
    lines = read_lines(data)
    whole_lines = data[: lines.consumed].split(b"\n")[:-1]

    silent = [line for line in whole_lines if line.strip()]
    assert len(lines.records) + lines.unreadable >= len(silent)
    json.dumps([record.fields for record in lines.records], ensure_ascii=False).encode()
