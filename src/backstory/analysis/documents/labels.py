"""Values that stand behind their names: `**Priority:** High`, `- Status: Draft | Prio: P1`, or in a table.

Pure. Which names there are is said by who asks.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from backstory.analysis.documents.markdown import Line, bare

_BETWEEN = re.compile(r"[|;,\u00b7\u2022]")
_BRACKETED = re.compile(r"\s?[(\[]([^()\[\]]*)[)\]]")
_NUMBERING = re.compile(r"^[\W\d_]+")
_AROUND_NAME: Final = "*_` :"
_MAX_NAME_CHARS: Final = 40

#: Names in small letters, and what they are called here.
Names = Mapping[str, str]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Value:
    """What stands behind a name, and where."""

    text: str
    line: int


@dataclass(slots=True)
class Labelled:
    """Lines, parted into the values that stand behind names, of each name the first, and the rest."""

    values: dict[str, Value] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)

    def add(self, pairs: Iterable[Pair], line: int) -> None:
        """Keep the values of a line."""
        for name, text in pairs:
            self.values.setdefault(name, Value(text, line))


@dataclass(slots=True)
class _Open:
    """A value that may go on in the next line."""

    name: str
    line: Line
    empty: bool  # nothing stands behind the name itself
    said: bool = False

    def takes(self, line: Line) -> bool:
        """Whether a line belongs to it."""
        if line.blank or line.level or line.code:
            return False
        if self.empty:
            beside = line.item is not None and self.line.item is not None and line.indent <= self.line.indent
            return not beside
        return line.item is None and line.indent > self.line.indent

    def outlasts(self, line: Line) -> bool:
        """Whether it waits for its first words after a line that it did not take."""
        return line.blank and self.empty and not self.said


def labelled(lines: Iterable[Line], names: Names, prose: str) -> Labelled:
    """Lines without the values that stand behind names, and those values.

    What stands behind a name for the `prose` is no value: it is a part of the rest.
    """
    found = Labelled()
    opened: _Open | None = None
    for line in lines:
        if pairs := pairs_on(line, names):
            _leave_out_column_names(found.rest, line)
            found.rest += [text for name, text in pairs if name == prose]
            found.add([pair for pair in pairs if pair[0] != prose], line.number)
            name, text = pairs[-1]
            opened = _Open(name, line, empty=not text) if name != prose else None
        elif opened and opened.takes(line):
            before = found.values[opened.name]
            text = f"{before.text} {line.item or line.text.strip()}".strip()
            found.values[opened.name] = Value(text, before.line)
            opened.said = True
        else:
            opened = opened if opened and opened.outlasts(line) else None
            found.rest.append(line.text if line.code else _without_bracketed(line, names, found))
    return found


def pairs_on(line: Line, names: Names) -> list[Pair]:
    """The names on a line with what stands behind them; none if it says something else first."""
    if line.code:
        return []
    if line.level:
        name = names.get(heading_name(line.title))
        return [(name, "")] if name else []
    cells = line.cells
    if len(cells) == len(("name", "value")) and (name := names.get(_name(cells[0]))):
        return [(name, cells[1])]
    return _pairs_in(line.unquoted if line.item is None else line.item, names)


def heading_name(title: str) -> str:
    """A heading's title as names are looked up: in small letters, without a number before it."""
    return _name(_NUMBERING.sub("", bare(title)))


def _pairs_in(text: str, names: Names) -> list[Pair]:
    starts = [0, *(each.end() for each in _BETWEEN.finditer(text) if _is_named(text, each.end(), names))]
    ends = [*(start - 1 for start in starts[1:]), len(text)]
    pairs = [_pair(text[start:end], names) for start, end in zip(starts, ends, strict=True)]
    return [pair for pair in pairs if pair] if all(pairs) else []


def _is_named(text: str, at: int, names: Names) -> bool:
    head, colon, _ = text[at : at + _MAX_NAME_CHARS].partition(":")
    return bool(colon) and _name(head) in names


def _pair(text: str, names: Names) -> Pair | None:
    head, colon, value = text.partition(":")
    name = names.get(_name(head)) if colon and len(head) <= _MAX_NAME_CHARS else None
    if name is None:
        return None
    value = value.strip()
    marks = head.lstrip()[: len(head.lstrip()) - len(head.lstrip().lstrip("*_"))]
    # The emphasis may end before the colon, after it, or with the value.
    if marks and not head.rstrip().endswith(marks):
        value = value.removeprefix(marks) if value.startswith(marks) else value.removesuffix(marks)
    return name, value.strip()


def _name(text: str) -> str:
    return " ".join(text.strip(_AROUND_NAME).casefold().split())


def _leave_out_column_names(rest: list[str], line: Line) -> None:
    # Above the first row of a table of names and values stand the names of its columns.
    if line.cells and line.item is None:
        while rest and rest[-1].lstrip().startswith("|"):
            rest.pop()


def _without_bracketed(line: Line, names: Names, found: Labelled) -> str:
    """A line without `(Priority: High)`, which is kept as a value."""

    def left(bracketed: re.Match[str]) -> str:
        pairs = _pairs_in(bracketed[1], names)
        found.add(pairs, line.number)
        return "" if pairs else bracketed.group()

    return "" if line.blank else _BRACKETED.sub(left, line.text)
