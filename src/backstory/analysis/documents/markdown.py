"""Markdown as lines that know what they are: headings, code, comments, front matter, rows, items of lists.

Pure, and more forgiving than the standard: what people write and renderers refuse, such as `##Status`, is
understood. What the words mean is left to the other modules.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

_NEWLINE = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r"[\s>]*+(?:[-*+]\s++|\d{1,9}[.)]\s++)?+(`{3,}+(?=[^`]*$)|~{3,}+)")
_MARKER = re.compile(r"(?:[-*+\u2022]|\d{1,9}[.)])\s++(?:\[[ xX]\]\s++)?+")
_DIVIDER_CELL = re.compile(r":?-+:?")
_CELL_END = re.compile(r"(?<!\\)\|")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_STRUCK = re.compile(r"~~[^~]*~~")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)")
_FRONT_ENTRY = re.compile(r"([A-Za-z][\w -]{0,60}):(?:\s+(.*))?$")
_MAX_LEVEL: Final = 6
_DEEPEST_HEADING_INDENT: Final = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a document. `text` is what a reader sees of it, `raw` is all that stands there."""

    number: int
    raw: str
    text: str
    code: bool = False
    level: int = 0  # of a heading; others have none
    title: str = ""  # of a heading, with its markup

    @property
    def blank(self) -> bool:
        """Whether a reader sees no words, at most the mark of a quotation."""
        return not self.unquoted

    @property
    def indent(self) -> int:
        """How far in it begins. A tab goes to the next column that four divides."""
        wide = self.text.expandtabs(4)
        return len(wide) - len(wide.lstrip())

    @property
    def unquoted(self) -> str:
        """Its text without blanks around it and the marks of a quotation before it."""
        return self.text.strip().lstrip("> ")

    @property
    def item(self) -> str | None:
        """What it says as an item of a list, if it is one."""
        if self.code or not (marker := _MARKER.match(self.unquoted)):
            return None
        return self.unquoted[marker.end() :]

    @property
    def rule(self) -> bool:
        """Whether it is nothing but a line across the page."""
        marks = "".join(self.text.split())
        return not self.code and len(marks) >= len("---") and marks[0] in "-*_" and not marks.strip(marks[0])

    @property
    def cells(self) -> list[str]:
        """What it says as a row of a table; nothing if it is none."""
        row = self.text.strip()
        if self.code or "|" not in row:
            return []
        cells = [cell.strip().replace(r"\|", "|") for cell in _CELL_END.split(row)]
        return cells[row.startswith("|") : len(cells) - (len(cells) > 1 and not cells[-1])]

    @property
    def divider(self) -> bool:
        """Whether it divides the names of a table's columns from its rows."""
        return bool(cells := self.cells) and all(map(_DIVIDER_CELL.fullmatch, cells))


@dataclass(frozen=True, slots=True)
class Page:
    """A document: its lines, and the entries of its front matter by their names in small letters."""

    lines: Sequence[Line]
    front: Mapping[str, str]


def page(text: str) -> Page:
    """A document as lines. The numbers are those that an editor shows."""
    raws = _NEWLINE.split(text.removeprefix("\ufeff"))
    end = _front_end(raws)
    hidden = [Line(number, raw, "") for number, raw in enumerate(raws[:end], 1)]
    lines = [*hidden, *map(_with_heading, _seen(raws, end))]
    return Page(_underlined(lines), _front(raws[:end]))


def bare(text: str) -> str:
    """A text on one line without markup: emphasis, links, tags, and what was struck out."""
    text = _TAG.sub("", _LINK.sub(r"\1", _STRUCK.sub("", text)))
    return " ".join(_EMPHASIS.sub("", text).split())


def section_end(lines: Sequence[Line], at: int) -> int:
    """Where the section that a heading opens is over: at the next heading that is not below it."""
    own = lines[at].level
    ends = (index for index in range(at + 1, len(lines)) if 0 < lines[index].level <= own)
    return next(ends, len(lines))


def _front_end(raws: Sequence[str]) -> int:
    if raws[0].rstrip() != "---":
        return 0
    for index, raw in enumerate(raws[1:], 1):
        if raw.rstrip() in {"---", "..."}:
            return index + 1
        if _FENCE.match(raw):  # the page began with a line across it
            return 0
    return 0


def _front(raws: Sequence[str]) -> dict[str, str]:
    entries = (_FRONT_ENTRY.match(raw) for raw in raws)
    return {entry[1].strip().casefold(): (entry[2] or "").strip().strip("\"'") for entry in entries if entry}


def _seen(raws: Sequence[str], start: int) -> Iterator[Line]:
    """The lines after the front matter, with code marked and comments taken out."""
    # A comment that nobody closes is one that somebody writes about.
    last_close = max((index for index, raw in enumerate(raws) if "-->" in raw), default=-1)
    fence, in_comment = "", False
    for index in range(start, len(raws)):
        raw = raws[index]
        if not in_comment and (after := _fence_after(fence, raw)) is not None:
            yield Line(index + 1, raw, raw, code=True)
            fence = after
            continue
        text, in_comment = _uncommented(raw, in_comment=in_comment, closable=index < last_close)
        yield Line(index + 1, raw, text)


def _fence_after(fence: str, raw: str) -> str | None:
    """What closes the code that goes on after a line: nothing if it closes here, None if it is no code."""
    if not fence:
        opened = _FENCE.match(raw)
        return opened[1] if opened else None
    marks = raw.strip().lstrip("> ")
    return "" if marks.startswith(fence) and not marks.strip(fence[0]) else fence


def _uncommented(raw: str, *, in_comment: bool, closable: bool) -> tuple[str, bool]:
    """What a reader sees of a line, and whether a comment goes on after it."""
    seen, rest = "", raw
    while rest:
        if in_comment:
            _, closed, rest = rest.partition("-->")
            if not closed:
                return seen, True
            in_comment = False
        before, opened, after = rest.partition("<!--")
        if not opened or not (closable or "-->" in after):
            return seen + rest, False
        seen, rest, in_comment = f"{seen}{before} ", after, True
    return seen, in_comment


def _with_heading(line: Line) -> Line:
    text = line.text.lstrip(" ")
    rest = text.lstrip("#")
    level = len(text) - len(rest)
    marked = not line.code and 0 < level <= _MAX_LEVEL and line.indent <= _DEEPEST_HEADING_INDENT
    # One mark with no blank is a tag, or the number of an issue.
    if not marked or not (not rest or rest[0].isspace() or (level > 1 and rest[0].isalpha())):
        return line
    title = rest.strip()
    unclosed = title.rstrip("#")
    return replace(line, level=level, title=title if unclosed[-1:].strip() else unclosed.strip())


def _underlined(lines: list[Line]) -> list[Line]:
    """The lines, those as headings that are underlined with = or -."""
    for index in range(1, len(lines)):
        marks = lines[index].text.strip()
        if (
            len(marks) > 1
            and marks[0] in "=-"
            and not marks.strip(marks[0])
            and _can_be_title(lines, index - 1)
        ):
            above = lines[index - 1]
            lines[index - 1] = replace(above, level="=-".index(marks[0]) + 1, title=above.text.strip())
            lines[index] = replace(lines[index], text="")
    return lines


def _can_be_title(lines: Sequence[Line], index: int) -> bool:
    line = lines[index]
    if line.code or line.blank or line.level or line.item is not None or line.cells or line.rule:
        return False
    return not line.text.lstrip().startswith(">") and (index == 0 or lines[index - 1].blank)
