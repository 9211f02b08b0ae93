"""Where in a document requirements are declared, and where they are only named.

Pure. An id declares a requirement if it stands first, with something said of it: in a heading, at the
beginning of a paragraph or of a list's item, or in its own cell of a table that has a column for the text.
Everywhere else it is a reference. What a declaration says is left to `requirements`.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from backstory.analysis.documents.ids import REQUIREMENT_ID, requirements_in
from backstory.analysis.documents.labels import heading_name
from backstory.analysis.documents.markdown import Line, bare, section_end
from backstory.analysis.documents.names import COLUMNS

_ID: Final = f"(?P<id>{REQUIREMENT_ID.pattern})"
_OPENS_HEADING: Final = re.compile(rf"(?:[\d.]+\s+)?(?:[Rr]equirement[\s:]+)?[\[(]?{_ID}[\])]?(?P<title>.*)")
_CLOSES_HEADING: Final = re.compile(rf"(?P<title>[^(\[]*)[(\[]{_ID}[)\]]")
_AT_START: Final = re.compile(rf"(?:<[^<>]*>\s*)*+(?P<marks>[*_`]*+)(?P<bracket>\[?){_ID}")
_BRACKETED: Final = re.compile(r"\s*[(\[]([^()\[\]]{1,30})[)\]](?!\()")
_SEPARATED: Final = re.compile(r"\s*(?:[:\uff1a]|[-\u2013\u2014]{1,2}(?=\s))")
_GOES_ON: Final = frozenset(",;/&+)]")
_AROUND: Final = " \t:\uff1a.|-\u2013\u2014"

# Where requirements are named that stand in full somewhere else.
_ELSEWHERE: Final = re.compile(
    r"\b(?:traceability|references?|related|links|linked|see also|coverage|change ?log|history|contents)\b"
)
_LEADS_TO_OTHERS: Final = re.compile(
    r"(?:depend\w*|relat\w*|see|refs?|references?|derive[sd]?|parents?|children|trace[sd]?|block\w*|links?|"
    r"supersede[sd]?|satisf(?:ies|ied)|cover[es]d?|conflict\w*|refine[sd]?|implement(?:s|ed)|replace[sd]?)\b"
    r"(?:[^:]{0,40}:|(?: \w+){0,2})$",
    re.IGNORECASE,
)


class Form(IntEnum):
    """How a requirement is declared. Of several declarations of one, the first form of these counts."""

    HEADING = 1
    PARAGRAPH = 2
    ROW = 3
    ITEM = 4


@dataclass(frozen=True, slots=True)
class Declaration:
    """A requirement's id where it is declared, from the line `at` to before the line `end`.

    `cells` are what a row says, by the names of its columns; the other forms have a text.
    """

    id: str
    form: Form
    at: int
    end: int
    title: str = ""
    text: str = ""
    note: str = ""  # what stands in brackets behind the id, often a priority
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Said:
    """What stands on the line of an id, behind it."""

    title: str
    text: str
    note: str


def declarations(lines: Sequence[Line]) -> Iterator[Declaration]:
    """Every declaration, in the order of the document. An id may come more than once."""
    surroundings = _Surroundings()
    breaks = [at for at, line in enumerate(lines) if line.level or line.rule]
    for at, line in enumerate(lines):
        surroundings.enter(line, lines[at + 1] if at + 1 < len(lines) else None)
        declared = _declared(lines, at, surroundings.columns, breaks)
        if declared and not surroundings.only_name(declared.form):
            yield declared


@dataclass(slots=True)
class _Surroundings:
    """What stands around a line: its section, the table it is in, what leads to its list."""

    section: str = ""
    columns: Sequence[str] = ()
    leads: list[tuple[int, bool]] = field(
        default_factory=list
    )  # how far in, and whether to other requirements

    def enter(self, line: Line, following: Line | None) -> None:
        """Move on to a line."""
        if line.level:
            self.section, self.leads = heading_name(line.title), []
        if not line.cells:
            self.columns = ()
        elif following and following.divider:
            self.columns = [heading_name(cell) for cell in line.cells]
        if line.code or line.blank or (line.item is None and line.indent):
            return
        indent = -1 if line.item is None else line.indent
        while self.leads and self.leads[-1][0] >= indent:
            self.leads.pop()
        said = bare(line.unquoted if line.item is None else line.item)
        inherited = bool(self.leads) and self.leads[-1][1]
        self.leads.append((indent, inherited or bool(_LEADS_TO_OTHERS.match(said))))

    def only_name(self, form: Form) -> bool:
        """Whether ids that stand here in this form are those of requirements declared elsewhere."""
        if form is Form.HEADING:
            return False
        led = form is Form.ITEM and any(to_others for _, to_others in self.leads)
        return led or (form is not Form.PARAGRAPH and bool(_ELSEWHERE.search(self.section)))


def _declared(
    lines: Sequence[Line], at: int, columns: Sequence[str], breaks: Sequence[int]
) -> Declaration | None:
    line = lines[at]
    if line.code or line.blank:
        return None
    if line.level:
        return _by_heading(lines, at)
    if columns:
        return _by_row(line, at, columns)
    declared = _by_start(line, at)
    if declared is None:
        return None
    if declared.form is Form.ITEM:
        return replace(declared, end=_item_end(lines, at))
    following = bisect(breaks, at)
    return replace(declared, end=breaks[following] if following < len(breaks) else len(lines))


def _by_heading(lines: Sequence[Line], at: int) -> Declaration | None:
    title = bare(lines[at].title)
    found = _OPENS_HEADING.fullmatch(title) or _CLOSES_HEADING.fullmatch(title)
    if not found or len(requirements_in(title)) > 1:
        return None
    note, rest = _note(found["title"])
    end = section_end(lines, at)
    return Declaration(found["id"], Form.HEADING, at, end, title=rest.strip(_AROUND), note=note)


def _by_row(line: Line, at: int, columns: Sequence[str]) -> Declaration | None:
    cells = [bare(cell) for cell in line.cells]
    own = next((place for place, cell in enumerate(cells) if REQUIREMENT_ID.fullmatch(cell)), None)
    if own is None or line.divider:
        return None
    named = {
        columns[place]: cell
        for place, cell in enumerate(line.cells)
        if place != own and place < len(columns) and cell
    }
    if not any(COLUMNS.get(name) in {"title", "description"} for name in named):
        return None
    return Declaration(cells[own], Form.ROW, at, at + 1, cells=named)


def _by_start(line: Line, at: int) -> Declaration | None:
    """What a line declares, as far as it can be told from the line alone."""
    start = line.unquoted if line.item is None else line.item
    found = _AT_START.match(start)
    if not found:
        return None
    rest = start[found.end() :]
    if found["bracket"]:
        inside, _, rest = rest.partition("]")
        # In a link the id leads to where the requirement is declared.
        if rest.startswith("("):
            return None
        rest = f"{inside}:{rest}"
    form = Form.PARAGRAPH if line.item is None else Form.ITEM
    said = _strong(rest, found["marks"]) if len(found["marks"]) > 1 else _weak(rest, found["marks"], form)
    if said is None or requirements_in(said.title) or REQUIREMENT_ID.match(said.text):
        return None
    if found["bracket"] and said.text[:1].islower():
        return None
    return Declaration(found["id"], form, at, at + 1, said.title, said.text, said.note)


def _strong(rest: str, marks: str) -> _Said | None:
    """What is said behind an id in bold letters; what is bold too is a title."""
    inside, _, after = rest.partition(marks)
    note, title = _note(inside)
    note, after = (note, after) if note else _note(after)
    said = _Said(title.strip(_AROUND), after.lstrip(_AROUND), note)
    if note or inside.strip() or _SEPARATED.match(after):
        return said
    return None if said.text[:1].islower() or said.text[:1] in _GOES_ON else said


def _weak(rest: str, marks: str, form: Form) -> _Said | None:
    """What is said behind an id in plain letters, where more is needed to tell it from a reference."""
    note, after = _note(rest.removeprefix(marks))
    said = _Said("", after.lstrip(_AROUND), note)
    if _SEPARATED.match(after):
        return said
    listed = form is Form.ITEM and said.text and after[0] in " \t.|"
    return said if listed and not said.text[0].islower() and said.text[0] not in _GOES_ON else None


def _note(text: str) -> tuple[str, str]:
    """What stands in brackets at the beginning, and what follows them."""
    bracketed = _BRACKETED.match(text)
    return (bracketed[1].strip(), text[bracketed.end() :]) if bracketed else ("", text)


def _item_end(lines: Sequence[Line], at: int) -> int:
    own = lines[at].indent
    for index in range(at + 1, len(lines)):
        line = lines[index]
        outside = not line.blank and line.indent <= own
        if line.level or (outside and (line.item is not None or line.rule or lines[index - 1].blank)):
            return index
    return len(lines)
