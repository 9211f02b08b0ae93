"""Reads a growing file in steps: what is new since last time, or all of it again if it was changed.

A `Source` says how much of a file was consumed and how to know those bytes again. `plan` compares
it with the file, `read_from` gives the whole lines that are left, and every piece of them carries
the source to be kept once the piece is stored. What the lines mean is left to the readers.

The consumed bytes are known again by their number and a hash of their first and last 64 KiB.
Agents append, cut off the end, remove a line or write the file anew. Each of these changes the
number of bytes, the beginning, or what stands before the end of the consumed part: removing or
adding a line moves all that follows it. Missed is a change in the middle, further than 64 KiB from
both ends, that keeps every later byte in its place. Hashing all would find it, and would read
hundreds of megabytes at every look.
"""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, Literal

from backstory.transcripts.discovery import Unreadable

WINDOW_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 1024 * 1024
#: The longest line seen in real transcripts has 2 MB; pasted images make larger ones.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024

# File systems count time in steps of up to two seconds (FAT): a file that changed so recently may
# change again and keep its time.
_SETTLED_NS: Final = 2_000_000_000
_UNSETTLED: Final = -1


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was when it was last read: how it looked, and what was consumed of it."""

    path: Path
    size: int
    inode: int
    #: When it was changed, or -1 if that was too short ago to be told from a later change.
    modified_ns: int
    #: Up to here, the end of a line, everything was taken.
    consumed: int
    prefix_hash: str


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The two ends of the bytes consumed so far, from which their hash is made."""

    length: int = 0
    head: bytes = b""
    tail: bytes = b""

    def then(self, data: bytes) -> "_Prefix":
        head = self.head + data[: WINDOW_BYTES - len(self.head)]
        tail = data[-WINDOW_BYTES:] if len(data) >= WINDOW_BYTES else (self.tail + data)[-WINDOW_BYTES:]
        return _Prefix(self.length + len(data), head, tail)

    def hash(self) -> str:
        return blake2b(b"%d:%b%b" % (self.length, self.head, self.tail), digest_size=16).hexdigest()


Reason = Literal["new", "grown", "replaced", "rewritten"]


@dataclass(frozen=True, slots=True)
class Read:
    """There is something to read from `source.consumed` on; what to keep if no line comes is `source`.

    `replaced` (another file under the name) and `rewritten` (other bytes in it) begin at 0 again.
    """

    source: Source
    reason: Reason
    prefix: _Prefix


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Everything was consumed before; `source` is what to compare with next time."""

    source: Source


@dataclass(frozen=True, slots=True)
class Gone:
    """There is no such file any more."""

    path: Path


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines, and the source to keep once they are stored. A line over the limit has no data."""

    start: int
    data: bytes
    source: Source
    skipped_lines: int = 0


def plan(source: Source | None, path: Path) -> Read | Unchanged | Gone | Unreadable:
    """Decide what is to be read of a file, given what is known of it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return Unreadable(path, "not a file")
        looks = _looks(path, status)
        if source is None:
            return Read(looks, "new", _Prefix())
        if source.modified_ns != _UNSETTLED and source == _with_progress_of(source, looks):
            return Unchanged(source)
        prefix = _prefix(path, source.consumed)
    except (FileNotFoundError, NotADirectoryError):
        return Gone(path)
    except OSError as error:
        return Unreadable(path, (error.strerror or str(error)).lower())
    return _compared(source, looks, prefix)


def read_from(
    read: Read, *, piece_bytes: int = PIECE_BYTES, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Piece]:
    """The whole lines from there to the end of the file; a line that is not ended yet is left for later.

    Raises `OSError` when the file cannot be read any more; the pieces that came before stay good.
    """
    prefix = read.prefix
    with read.source.path.open("rb") as file:
        while True:
            start = prefix.length
            if data := _whole_lines(file, start, piece_bytes, max_line_bytes):
                prefix = prefix.then(data)
                yield Piece(start, data, _at(prefix, read.source))
                continue
            past = _past_line(file, prefix)
            if past is None:
                return
            if past.length - start > max_line_bytes:  # else it was ended between the two looks
                prefix = past
                yield Piece(start, b"", _at(prefix, read.source), skipped_lines=1)


def _looks(path: Path, status: os.stat_result) -> Source:
    """The file as it is, with nothing of it consumed."""
    is_settled = time.time_ns() - status.st_mtime_ns > _SETTLED_NS
    modified_ns = status.st_mtime_ns if is_settled else _UNSETTLED
    nothing = _Prefix()
    return Source(path, status.st_size, status.st_ino, modified_ns, nothing.length, nothing.hash())


def _with_progress_of(source: Source, looks: Source) -> Source:
    return replace(looks, consumed=source.consumed, prefix_hash=source.prefix_hash)


def _at(prefix: _Prefix, looks: Source) -> Source:
    return replace(looks, consumed=prefix.length, prefix_hash=prefix.hash())


def _prefix(path: Path, length: int) -> _Prefix:
    """The ends of the first bytes of a file, fewer if there are not so many."""
    tail_start = max(0, length - WINDOW_BYTES)
    with path.open("rb") as file:
        head = file.read(min(length, WINDOW_BYTES))
        file.seek(tail_start)
        tail = file.read(length - tail_start)
    return _Prefix(tail_start + len(tail), head, tail)


def _compared(source: Source, looks: Source, prefix: _Prefix) -> Read | Unchanged:
    if looks.inode != source.inode:
        return Read(looks, "replaced", _Prefix())
    if prefix.length != source.consumed or prefix.hash() != source.prefix_hash:
        return Read(looks, "rewritten", _Prefix())
    kept = _with_progress_of(source, looks)
    return Read(kept, "grown", prefix) if looks.size > source.consumed else Unchanged(kept)


def _whole_lines(file: BinaryIO, start: int, piece_bytes: int, max_line_bytes: int) -> bytes:
    """Lines from there on until they are enough, or the next is too long or has no end yet."""
    lines, size = list[bytes](), 0
    file.seek(start)
    while size < piece_bytes and (line := file.readline(max_line_bytes)).endswith(b"\n"):
        lines.append(line)
        size += len(line)
    return b"".join(lines)


def _past_line(file: BinaryIO, prefix: _Prefix) -> _Prefix | None:
    """What is consumed after the next line, however long; None if the line has no end yet."""
    file.seek(prefix.length)
    while block := file.readline(PIECE_BYTES):
        prefix = prefix.then(block)
        if block.endswith(b"\n"):
            return prefix
    return None
