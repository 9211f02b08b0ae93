"""All records of a transcript file, in little memory, and quickly again when the file has grown.

What a session looks like can only be told from the whole of its file: titles, queued prompts and the
results of tools stand far from what they belong to. So the slim records of files that were read lately
are kept, and of one that has grown only the end is parsed. What the records mean is left to
`transcripts.reader`.
"""

from dataclasses import dataclass
from pathlib import Path

from backstory.actions.transcripts.keeping import Kept
from backstory.engine import Recent
from backstory.model.transcript import Flaw, FlawedBytes
from backstory.transcripts.discovery import Unreadable
from backstory.transcripts.lines import Lines, read_lines
from backstory.transcripts.slim import slimmed
from backstory.transcripts.sources import Gone, Piece, Read, Source, Unchanged, plan, read_from


@dataclass(frozen=True, slots=True)
class Contents:
    """The records of a file so far, and the source to be remembered once they are stored.

    `kept` is what was stored of them, so that what is new can be told from it.
    """

    lines: Lines
    source: Source
    kept: Kept | None = None


def look(known: Source | None, path: Path, recent: Recent) -> Read | Unchanged | Gone | Unreadable:
    """What is to be read of a file: all of it, or its end where the rest is at hand."""
    seen = plan(known, path)
    if not isinstance(seen, Read) or seen.reason != "grown":
        return seen
    if next(read_from(seen), None) is None:  # the line that came is not ended yet
        return Unchanged(seen.source)
    return seen if _up_to(seen.source, recent) else plan(None, path)


def read_contents(read: Read, recent: Recent) -> Contents:
    """All records of the file, with what was kept of those before; raises `OSError` if it cannot be read."""
    before = _up_to(read.source, recent) or Contents(Lines((), 0), read.source)
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


def hold(contents: Contents, recent: Recent) -> None:
    """Keep contents at hand, in place of what was held of the same file."""
    recent.hold(contents.source.path, contents, contents.source.consumed)


def _up_to(source: Source, recent: Recent) -> Contents | None:
    """The contents of exactly what was consumed of a file, if they are at hand."""
    held = recent.get(source.path)
    return held if isinstance(held, Contents) and _marks(held.source) == _marks(source) else None


def _marks(source: Source) -> tuple[int, int, str]:
    return source.inode, source.consumed, source.prefix_hash
