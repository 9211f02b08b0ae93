"""A message in pieces that can stand by themselves: sentences, short lists, blocks of code.

Pure. Addresses, paths, numbers and what stands between backticks are never cut; neither is a block of
code. Which pieces matter is left to `analysis.cues` and `analysis.selection`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

#: A list up to this size is one piece, with the line that introduces it: its items mean little alone.
#: A longer one would crowd out everything else, and each of its items is a piece.
LIST_CHARS: Final = 400

#: Longer messages are pasted logs and files. Their ends say more than their middles.
LOOKED_AT: Final = 20_000

_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+\S")
_INDENTED = re.compile(r"[ \t]+\S")

# Where a sentence may end: before a blank in scripts that have them, anywhere in those that have none.
_END = re.compile(
    r"`[^`\n]*`"  # passed over, with the stops in it
    r"|(?<![.!?])[.!?\u2026\u061f\u06d4\u0964]++[\"'\u201d\u2019)\]*_]*+(?=\s)"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09\u201d\u2019]*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|fig|no|nr|vol|dr|mr|mrs|ms|st|[A-Za-z])\.$",
    re.IGNORECASE,
)
_BLANKS: Final = 20  # looked past for the next word
_BEFORE_STOP: Final = 12  # characters that an abbreviation may take, with what stands before it


class Kind(Enum):
    """What a piece is."""

    PROSE = auto()
    LIST = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message, without the blanks around it. It is never empty."""

    text: str
    kind: Kind = Kind.PROSE


@dataclass(slots=True)
class _Block:
    """Lines that belong together."""

    kind: Kind
    lines: list[str] = field(default_factory=list)
    fence: str = ""  # what closes it, if it is code

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")


def pieces(text: str) -> list[Piece]:
    """The pieces of a message, in order."""
    found: list[Piece] = []
    for block in _introduced(_blocks(_ends(text))):
        found += _pieces_of(block)
    return found


def _ends(text: str) -> str:
    """The text, or what is looked at of a long one."""
    if len(text) <= LOOKED_AT:
        return text
    half = LOOKED_AT // 2
    return f"{text[:half]}\n\n{text[-half:]}"


def _blocks(text: str) -> Iterator[_Block]:
    block = _Block(Kind.PROSE)
    for line in text.splitlines():
        if _goes_on(block, line):
            block.lines.append(line)
            if _closes(block, line):
                yield block
                block = _Block(Kind.PROSE)
            continue
        yield block
        block = _begun(line)
    yield block


def _closes(block: _Block, line: str) -> bool:
    bare = line.strip()
    return bool(block.fence) and bare.startswith(block.fence) and not bare.strip(block.fence[0])


def _goes_on(block: _Block, line: str) -> bool:
    """Whether a line belongs to the block before it."""
    match block.kind:
        case Kind.CODE:
            return True
        case Kind.LIST:
            return bool(_is_item(line) or _INDENTED.match(line)) and not _FENCE.match(line)
        case Kind.PROSE:
            return not (_is_item(line) or _FENCE.match(line) or (block.lines and not line.strip()))


def _begun(line: str) -> _Block:
    if fence := _FENCE.match(line):
        return _Block(Kind.CODE, [line], fence.group(1))
    return _Block(Kind.LIST if _is_item(line) else Kind.PROSE, [line])


def _is_item(line: str) -> bool:
    row = line.strip()
    return bool(_ITEM.match(line)) or (len(row) > 1 and row.startswith("|") and row.endswith("|"))


def _introduced(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """The blocks, each short list with the line that leads to it."""
    waiting: _Block | None = None
    for block in blocks:
        if not block.text.strip():
            continue
        if waiting and block.kind is Kind.LIST and waiting.text.endswith((":", "\uff1a")):
            block.lines.insert(0, waiting.lines.pop())
        if waiting:
            yield waiting
        waiting = block
    if waiting:
        yield waiting


def _pieces_of(block: _Block) -> Iterator[Piece]:
    text = block.text
    if block.kind is Kind.PROSE:
        yield from (Piece(sentence) for sentence in _sentences(text))
    elif block.kind is Kind.CODE or len(text) <= LIST_CHARS:
        yield Piece(text.strip(), block.kind)
    else:
        yield from (Piece(item, Kind.LIST) for item in _items(block.lines))


def _items(lines: list[str]) -> Iterator[str]:
    """Each item with the lines that go on from it."""
    item: list[str] = []
    for line in lines:
        if item and _is_item(line):
            yield "\n".join(item).strip()
            item = []
        item.append(line)
    yield "\n".join(item).strip()


def _sentences(text: str) -> Iterator[str]:
    for paragraph in _unwrapped(text):
        start = 0
        for end in _END.finditer(paragraph):
            if _ends_sentence(paragraph, end):
                yield from _unless_blank(paragraph[start : end.end()])
                start = end.end()
        yield from _unless_blank(paragraph[start:])


def _unwrapped(text: str) -> Iterator[str]:
    """The lines; one that begins in small letters goes on from the line before."""
    whole = ""
    for line in map(str.strip, text.split("\n")):
        if whole and not line[:1].islower():
            yield whole
            whole = line
        else:
            whole = f"{whole} {line}".strip()
    yield whole


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    if end.group().startswith("`"):
        return False
    if text[end.end() : end.end() + _BLANKS].lstrip()[:1].islower():
        return False
    before = text[max(0, end.end() - _BEFORE_STOP) : end.end()]
    return not _ABBREVIATION.search(before)


def _unless_blank(text: str) -> Iterator[str]:
    if any(map(str.isalnum, text)):
        yield text.strip()
