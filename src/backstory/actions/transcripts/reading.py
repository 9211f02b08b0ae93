"""All records of a transcript file, in little memory, and quickly again when the file has grown.

What a session looks like can only be told from the whole of its file: titles, queued prompts and the
results of tools stand far from what they belong to. So the slim records of files that were read lately
are kept, and of one that has grown only the end is parsed. What the records mean is left to
`transcripts.reader`.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backstory.actions.transcripts.keeping import Kept
from backstory.model.transcript import Flaw, FlawedBytes
from backstory.transcripts.discovery import Unreadable
from backstory.transcripts.lines import Lines, read_lines
from backstory.transcripts.slim import slimmed
from backstory.transcripts.sources import Gone, Piece, Read, Source, Unchanged, plan, read_from

#: Of files, not of memory: slim records take two thirds of the bytes that they were read from.
RECENT_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Contents:
    """The records of a file so far, and the source to be remembered once they are stored.

    `kept` is what was stored of them, so that what is new can be told from it.
    """

    lines: Lines
    source: Source
    kept: Kept | None = None


class RecentlyRead:
    """The contents of files that were read lately; those read longest ago go first."""

    def __init__(self, most_bytes: int = RECENT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._contents: OrderedDict[Path, Contents] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """How many bytes of files are held."""
        return self._bytes

    def up_to(self, source: Source) -> Contents | None:
        """The contents of exactly what was consumed of a file, if they are at hand."""
        with self._lock:
            held = self._contents.get(source.path)
        return held if held and _consumed_the_same(held.source, source) else None

    def hold(self, contents: Contents) -> None:
        """Keep contents at hand, in place of what was held of the same file."""
        with self._lock:
            self._drop(contents.source.path)
            if contents.source.consumed > self._most_bytes:
                return
            self._contents[contents.source.path] = contents
            self._bytes += contents.source.consumed
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._contents)))

    def _drop(self, path: Path) -> None:
        if dropped := self._contents.pop(path, None):
            self._bytes -= dropped.source.consumed


def look(known: Source | None, path: Path, recent: RecentlyRead) -> Read | Unchanged | Gone | Unreadable:
    """What is to be read of a file: all of it, or its end where the rest is at hand."""
    seen = plan(known, path)
    if not isinstance(seen, Read) or seen.reason != "grown":
        return seen
    if next(read_from(seen), None) is None:  # the line that came is not ended yet
        return Unchanged(seen.source)
    return seen if recent.up_to(seen.source) else plan(None, path)


def read_contents(read: Read, recent: RecentlyRead) -> Contents:
    """All records of the file, with what was kept of those before; raises `OSError` if it cannot be read."""
    before = recent.up_to(read.source) or Contents(Lines((), 0), read.source)
    records, flaws = list(before.lines.records), list(before.lines.flaws)
    source = read.source
    for piece in read_from(read):
        parsed = _parsed(piece)
        records += map(slimmed, parsed.records)
        flaws += parsed.flaws
        source = piece.source
    return Contents(Lines(records, source.consumed, flaws), source, before.kept)


def _parsed(piece: Piece) -> Lines:
    if not piece.skipped_lines:
        return read_lines(piece.data, piece.start)
    end = piece.source.consumed
    return Lines((), end, (FlawedBytes(piece.start, end - piece.start, Flaw.UNREADABLE),))


def _consumed_the_same(held: Source, source: Source) -> bool:
    return (held.inode, held.consumed, held.prefix_hash) == (
        source.inode,
        source.consumed,
        source.prefix_hash,
    )
