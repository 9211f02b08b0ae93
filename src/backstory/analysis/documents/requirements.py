"""Requirements in a document: what each declaration says, field by field.

Pure. Where requirements are declared is found in `declarations`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from backstory.analysis.details import title as beginning
from backstory.analysis.documents.declarations import Declaration, Form, declarations
from backstory.analysis.documents.ids import MALFORMED_ID, once, requirements_in
from backstory.analysis.documents.labels import Labelled, Value, labelled, pairs_on
from backstory.analysis.documents.markdown import Line, Page, bare
from backstory.analysis.documents.names import COLUMNS, LABELS
from backstory.analysis.documents.states import PRIORITIES, REQUIREMENT_STATES, States, is_unsaid
from backstory.analysis.documents.texts import first_paragraph, fitting, tidy
from backstory.analysis.documents.values import DocumentProblem, LineRange, ParsedItem
from backstory.model.memory import MAX_CONTENT_CHARS

_BETWEEN_COMPONENTS: Final = re.compile(r"[,;]")
_MAX_TITLE_CHARS: Final = 200
_MAX_COMPONENT_CHARS: Final = 200


@dataclass(slots=True)
class FoundRequirements:
    """The requirements of a document, what was wrong with them, and the numbers of their lines."""

    items: list[ParsedItem] = field(default_factory=list)
    problems: list[DocumentProblem] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def requirements(page: Page, path: str) -> FoundRequirements:
    """Every requirement that a document declares, each once."""
    declared = list(declarations(page.lines))
    found = FoundRequirements(problems=list(_malformed(page.lines)))
    chosen = _chosen(declared, page.lines, found.problems)
    status = _status_of_all(page, declared)
    for declaration, lines in _with_lines(page.lines, declared):
        if chosen[declaration.id] is not declaration:
            continue
        requirement = _Requirement(declaration, _read(declaration, lines), lines[0].number)
        if item := requirement.item(path, lines, status):
            found.items.append(item)
            found.lines |= {line.number for line in lines}
        elif declaration.form is not Form.ITEM:
            found.problems.append(DocumentProblem(lines[0].number, f"nothing is said of {declaration.id}"))
        found.problems += requirement.problems
    return found


@dataclass(slots=True)
class _Requirement:
    """One declaration, and what was read of it."""

    declared: Declaration
    read: Labelled
    line: int
    problems: list[DocumentProblem] = field(default_factory=list)

    def item(self, path: str, lines: Sequence[Line], status: str | None) -> ParsedItem | None:
        """The requirement, unless nothing is said of it. `status` is that of the whole document."""
        description = tidy(self.read.rest)
        given = bare(self.declared.title or self._value("title"))
        if not description and not given:
            return None
        title = fitting(
            given or beginning(bare(first_paragraph(description))) or description, _MAX_TITLE_CHARS
        )
        id = self.declared.id
        content = (
            f"{id}: {given}\n\n{description}" if given and description else f"{id}: {given or description}"
        )
        said = {
            "requirement_id": id,
            "title": title,
            "description": fitting(description or given),
            "priority": self._state("priority", PRIORITIES),
            "status": self._state("status", REQUIREMENT_STATES) or status,
            "source_document": path,
            "verification": fitting(self._value("verification")),
            "implementing_components": components(self._value("implementing_components")),
        }
        fields = {name: value for name, value in said.items() if value}
        references = once(other for line in lines for other in ids_on(line) if other != id)
        last = max(line.number for line in lines if not line.blank)
        range_ = LineRange(self.line, last)
        return ParsedItem(
            f"{path}#{id}",
            "requirement",
            id,
            title,
            fitting(content, MAX_CONTENT_CHARS),
            fields,
            tuple(references),
            range_,
        )

    def _value(self, name: str) -> str:
        value = self.read.values.get(name)
        return "" if value is None or is_unsaid(value.text) else value.text

    def _state(self, name: str, states: States) -> str | None:
        value = self.read.values.get(name)
        if value is None or is_unsaid(value.text):
            return None
        meant = states.meant_by(value.text)
        if meant is None:
            what = f"the {name} {value.text[:60]!r} of {self.declared.id} is none of {', '.join(states.all)}"
            self.problems.append(DocumentProblem(value.line, what))
        return meant


def components(value: str) -> list[str]:
    """Ids of components out of a value. One that has blanks in it is a description and no id."""
    ids = [bare(piece) for piece in _BETWEEN_COMPONENTS.split(value)]
    return [id for id in ids if id and " " not in id and len(id) <= _MAX_COMPONENT_CHARS]


def ids_on(line: Line) -> list[str]:
    """The requirements that a line names, comments on it included."""
    return [] if line.code else requirements_in(line.raw)


def _chosen(
    declared: Sequence[Declaration], lines: Sequence[Line], problems: list[DocumentProblem]
) -> Mapping[str, Declaration]:
    """Of each id the declaration that counts."""
    chosen: dict[str, Declaration] = {}
    for declaration in sorted(declared, key=lambda each: (each.form, each.at)):
        first = chosen.setdefault(declaration.id, declaration)
        # In another form it is an overview, which repeats what stands in full elsewhere.
        if first is not declaration and first.form is declaration.form:
            what = f"{declaration.id} is declared again; what line {lines[first.at].number} says counts"
            problems.append(DocumentProblem(lines[declaration.at].number, what))
    return chosen


def _with_lines(
    lines: Sequence[Line], declared: Sequence[Declaration]
) -> Iterator[tuple[Declaration, list[Line]]]:
    """Each declaration with its lines. A line belongs to the last declaration that is not over."""
    opened: list[tuple[Declaration, list[Line]]] = []
    starting = {declaration.at: (declaration, list[Line]()) for declaration in declared}
    for at, line in enumerate(lines):
        while opened and opened[-1][0].end <= at:
            opened.pop()
        if at in starting:
            opened.append(starting[at])
        if opened:
            opened[-1][1].append(line)
    yield from starting.values()


def _read(declared: Declaration, lines: Sequence[Line]) -> Labelled:
    if declared.form is Form.ROW:
        return _read_row(declared, lines[0].number)
    own = replace(lines[0], text=declared.text, level=0, title="")
    read = labelled([own, *lines[1:]], LABELS, prose="description")
    if declared.note:
        _read_note(declared.note, read, own.number)
    return read


def _read_row(declared: Declaration, line: int) -> Labelled:
    read = Labelled()
    for name, cell in declared.cells.items():
        match COLUMNS.get(name):
            case None:
                read.rest.append(f"{name.capitalize()}: {cell}")
            case "description":
                read.rest.insert(0, cell)
            case field_:
                read.add([(field_, cell)], line)
    return read


def _read_note(note: str, read: Labelled, line: int) -> None:
    for name, states in (("priority", PRIORITIES), ("status", REQUIREMENT_STATES)):
        if states.meant_by(note):
            read.values.setdefault(name, Value(note, line))
            return
    read.rest[:1] = [f"({note}) {read.rest[0] if read.rest else ''}".rstrip()]


def _status_of_all(page: Page, declared: Sequence[Declaration]) -> str | None:
    """The status that a document has as a whole, from its front matter or from above its sections."""
    said = [page.front["status"]] if "status" in page.front else []
    headings = 0
    for line in page.lines[: declared[0].at if declared else 0]:
        headings += bool(line.level)
        if headings > 1:
            break
        said += [text for name, text in pairs_on(line, LABELS) if name == "status"]
    return next(filter(None, map(REQUIREMENT_STATES.meant_by, said)), None)


def _malformed(lines: Sequence[Line]) -> Iterator[DocumentProblem]:
    found = {
        id: line.number for line in reversed(lines) if not line.code for id in MALFORMED_ID.findall(line.raw)
    }
    if found:
        line, id = min((line, id) for id, line in found.items())
        many = f"{len(found)} ids, {id} the first," if len(found) > 1 else f"the id {id}"
        verb = "have" if len(found) > 1 else "has"
        yield DocumentProblem(
            line, f"{many} {verb} no area and cannot be kept; write REQ-AREA-{id[3:].lstrip('-')}"
        )
