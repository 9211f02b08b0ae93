"""Reading a growing file in steps: nothing twice, nothing lost, every change of the past noticed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.transcripts.discovery import Unreadable
from backstory.transcripts.sources import (
    WINDOW_BYTES,
    Gone,
    Piece,
    Read,
    Source,
    Unchanged,
    plan,
    read_from,
)

CONTENT = st.lists(
    st.sampled_from([b"\n", b"{}\n", b'{"a": 1}\n', b"half", b"\r", b"\x00", b"\xff" * 9])
).map(b"".join)
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def consumed(source: Source | None, path: Path, piece_bytes: int = 16) -> tuple[bytes, Source, list[Piece]]:
    """Read what there is; the bytes, the source to keep, and the pieces they came in."""
    step = plan(source, path)
    if isinstance(step, Unchanged):
        return b"", step.source, []
    assert isinstance(step, Read)
    pieces = list(read_from(step, piece_bytes=piece_bytes))
    kept = pieces[-1].source if pieces else step.source
    return b"".join(piece.data for piece in pieces), kept, pieces


def settled(path: Path) -> None:
    """Make the file look as if it had not been written for a while."""
    os.utime(path, ns=(10**18, 10**18))


@same_folder
@given(st.lists(CONTENT, max_size=8), st.integers(1, 40))
def test_reading_after_every_append_gives_the_same_bytes_as_reading_at_once(
    tmp_path: Path, appends: list[bytes], piece_bytes: int
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    source: Source | None = None
    steps = b""
    for data in appends:
        with path.open("ab") as file:
            file.write(data)
        new, source, _ = consumed(source, path, piece_bytes)
        steps += new

    whole = b"".join(appends)
    assert steps == whole[: whole.rfind(b"\n") + 1] == consumed(None, path)[0]


@same_folder
@given(CONTENT, CONTENT)
def test_any_other_content_under_the_same_name_is_noticed(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(old)
    taken, source, _ = consumed(None, path)
    path.write_bytes(new)

    step = plan(source, path)

    if new.startswith(taken):
        assert not isinstance(step, Read) or (step.reason, step.source.consumed) == ("grown", len(taken))
    else:
        assert isinstance(step, Read)
        assert (step.reason, step.source.consumed) == ("rewritten", 0)


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "cut at a line's end": lambda old: old[: old.rfind(b"\n", 0, -1) + 1],
    "emptied": lambda old: b"",
    "cut and grown beyond its size": lambda old: old[:-5] + b"another end\n" * 9,
    "cut and grown to its size": lambda old: old[:-5] + b"4567\n",
    "without its first line": lambda old: old[old.find(b"\n") + 1 :],
    "without a line in the middle": lambda old: old.replace(b'{"n": 9000}\n', b""),
    "with another beginning of the same length": lambda old: b"X" + old[1:],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_large_file_is_read_again_when_it_was(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(b'{"n": %d}\n' % number for number in range(20_000)))
    assert path.stat().st_size > 2 * WINDOW_BYTES
    _, source, _ = consumed(None, path, 4096)
    path.write_bytes(CHANGES[change](path.read_bytes()))

    step = plan(source, path)

    assert isinstance(step, Read)
    assert (step.reason, step.source.consumed) == ("rewritten", 0)


def test_a_file_put_in_the_place_of_another_is_read_from_its_beginning(tmp_path: Path) -> None:
    path, other = tmp_path / "s.jsonl", tmp_path / "other"
    path.write_bytes(b"{}\n")
    _, source, _ = consumed(None, path)
    other.write_bytes(b"{}\n{}\n")
    other.replace(path)

    step = plan(source, path)

    assert isinstance(step, Read)
    assert (step.reason, step.source.consumed) == ("replaced", 0)


def test_a_file_that_was_read_and_left_alone_is_not_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\nhalf")
    settled(path)
    _, source, _ = consumed(None, path)
    path.write_bytes(b"[]\nhalf")  # what only reading could tell
    settled(path)

    assert plan(source, path) == Unchanged(source)


def test_a_file_changed_a_moment_ago_is_compared_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n")
    status = path.stat()
    _, source, _ = consumed(None, path)
    path.write_bytes(b"[]\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert isinstance(plan(source, path), Read)


def test_a_half_line_that_was_ended_at_the_same_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n{torn")
    _, source, _ = consumed(None, path)
    path.write_bytes(b"{}\n[12]\n")

    assert consumed(source, path)[0] == b"[12]\n"


def test_a_touched_file_is_unchanged_and_remembered_as_it_looks_now(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n")
    _, source, _ = consumed(None, path)
    settled(path)

    step = plan(source, path)

    assert isinstance(step, Unchanged)
    assert (source.modified_ns, step.source.modified_ns) == (-1, 10**18)


def test_a_moved_file_goes_on_where_it_was(tmp_path: Path) -> None:
    path, moved = tmp_path / "s.jsonl", tmp_path / "moved.jsonl"
    path.write_bytes(b"{}\n")
    _, source, _ = consumed(None, path)
    path.rename(moved)

    step = plan(source, moved)

    assert isinstance(step, Unchanged)
    assert step.source.path == moved


def test_a_vanished_file_is_gone_and_what_is_no_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")

    assert plan(None, tmp_path / "none.jsonl") == Gone(tmp_path / "none.jsonl")
    assert plan(None, tmp_path / "file" / "s.jsonl") == Gone(tmp_path / "file" / "s.jsonl")
    assert plan(None, tmp_path) == Unreadable(tmp_path, "not a file")
    assert isinstance(plan(None, tmp_path / "loop"), Unreadable)


def test_an_empty_file_has_a_source_to_keep_though_it_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()

    data, source, pieces = consumed(None, path)

    assert (data, source.consumed, pieces) == (b"", 0, [])
    assert isinstance(plan(source, path), Unchanged)


def test_pieces_are_small_end_at_line_ends_and_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"123456789\n" * 100 + b"x" * 500 + b"\n" + b"123456789\n" * 3)

    _, _, pieces = consumed(None, path, 64)

    assert all(piece.data.endswith(b"\n") for piece in pieces)
    assert all(len(piece.data) <= 70 for piece in pieces if b"x" not in piece.data)
    assert [piece.start for piece in pieces[1:]] == [piece.source.consumed for piece in pieces[:-1]]


def test_reading_can_go_on_after_any_piece(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(100)))
    whole, _, pieces = consumed(None, path, 30)

    for piece in pieces:
        rest, _, _ = consumed(piece.source, path)
        assert whole[: piece.source.consumed] + rest == whole


def test_a_line_over_the_limit_is_skipped_and_counted_and_the_lines_around_it_are_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"before\n" + b"x" * 3_000_000 + b"\nafter\n" + b"y" * 3_000_000)
    step = plan(None, path)
    assert isinstance(step, Read)

    pieces = list(read_from(step, max_line_bytes=1000))

    assert [(piece.data, piece.skipped_lines) for piece in pieces] == [
        (b"before\n", 0),
        (b"", 1),
        (b"after\n", 0),
    ]
    again = plan(pieces[-1].source, path)
    assert isinstance(again, Read)
    assert (again.reason, list(read_from(again, max_line_bytes=1000))) == ("grown", [])


def test_the_limit_is_the_line_with_its_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"123456789\n1234567890\n")
    step = plan(None, path)
    assert isinstance(step, Read)

    assert [piece.skipped_lines for piece in read_from(step, max_line_bytes=10)] == [0, 1]


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"1\n2\n3\n")
    step = plan(None, path)
    assert isinstance(step, Read)
    pieces = read_from(step, piece_bytes=1)
    first = next(pieces)
    path.write_bytes(b"4\n5\n6\n")

    last = [first, *pieces][-1]

    again = plan(last.source, path)
    assert isinstance(again, Read)
    assert again.reason == "rewritten"
