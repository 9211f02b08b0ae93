"""Decision records in a document: what each says, field by field.

Pure. Where records stand is found in `records`, and what their parts are called is known to `parts`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from backstory.analysis.documents.ids import decision_id, decisions_in, once
from backstory.analysis.documents.markdown import Line, Page, bare
from backstory.analysis.documents.parts import Part, part_starts, parts_between
from backstory.analysis.documents.records import Record, records
from backstory.analysis.documents.requirements import components, ids_on
from backstory.analysis.documents.states import DECISION_STATES, is_unsaid
from backstory.analysis.documents.texts import first_paragraph, fitting, tidy
from backstory.analysis.documents.values import DocumentProblem, LineRange, ParsedItem
from backstory.model.memory import MAX_CONTENT_CHARS

_RECORD_TITLE: Final = re.compile(
    r"(?:(?:ADR|architect\w+ decision(?: record)?|decision(?: record)?)[\s#-]*"
    r"(?:(?P<named>\d{1,5})\b|(?=[:\u2013\u2014-]))"
    r"|(?P<plain>\d{1,5})(?=[.:)]|\s+[-\u2013\u2014]))"
    r"[\s.:)\u2013\u2014-]*(?P<title>.*)",
    re.IGNORECASE,
)
_FILE_NUMBER: Final = re.compile(r"(?:adr[-_ ]?)?(\d{1,5})(?=[-_. ]|$)(?!-\d{2}-\d{2})", re.IGNORECASE)
_BECAUSE: Final = re.compile(r"\bbecause\s+(.+)", re.IGNORECASE | re.DOTALL)
_SUPERSEDES: Final = re.compile(r"(?:supersedes|supercedes|replaces)\b", re.IGNORECASE)
_SUPERSEDED: Final = re.compile(r"(?:superseded|superceded|replaced)\s+by\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+")

_BESIDE_A_DECISION: Final = frozenset({"status", "context", "rationale", "consequences", "alternatives"})
_IN_CONTENT: Final = ("context", "decision", "rationale", "consequences", "alternatives")
_MAX_TITLE_CHARS: Final = 200
_MAX_KEY_CHARS: Final = 80
#: As many as leave metadata within its limit.
_MAX_RELATED: Final = 200


@dataclass(slots=True)
class FoundDecisions:
    """The decision records of a document, what was wrong with them, and the numbers of their lines."""

    items: list[ParsedItem] = field(default_factory=list)
    problems: list[DocumentProblem] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def decisions(page: Page, path: str) -> FoundDecisions:
    """Every decision record in a document. A form that waits to be filled in is none."""
    found = FoundDecisions()
    file = PurePosixPath(path.replace("\\", "/")).stem
    if "template" in file.casefold():
        return found
    taken: Counter[str] = Counter()
    starts = part_starts(page.lines)
    for record in records(page.lines, starts):
        parts = list(parts_between(page.lines, starts, record.first, record.end))
        decision = _Decision(record, page, parts, _texts(parts), file)
        if decision.is_one:
            found.items.append(decision.item(path, taken))
            found.problems += decision.problems()
            found.lines |= {line.number for line in decision.lines}
    return found


@dataclass(frozen=True, slots=True)
class _Decision:
    """One record, and what was read of it. `file` is the name of its document."""

    record: Record
    page: Page
    parts: Sequence[Part]
    texts: Mapping[str, str]  # by the names of parts
    file: str

    @property
    def is_one(self) -> bool:
        """Whether it is a decision record: it has a decision and more, or a number and more."""
        names = {part.name for part in self.parts} | ({"status"} & self._front.keys())
        return bool(names & _BESIDE_A_DECISION) and ("decision" in names or self.record.numbered)

    @property
    def lines(self) -> Sequence[Line]:
        """The lines that it takes."""
        return self.page.lines[self.record.first : self.record.end]

    def item(self, path: str, taken: Counter[str]) -> ParsedItem:
        """The record as a design, under an id that was not taken before."""
        title = fitting(self._title, _MAX_TITLE_CHARS)
        named = decision_id(self._number) if self._number is not None else ""
        id = _free(named or _slug(title), _slug(title), taken)
        related = once(other for line in self.lines for other in ids_on(line))
        others = once(other for line in self.lines if not line.code for other in decisions_in(line.raw))
        last = max((line.number for line in self.lines if not line.blank), default=self.lines[0].number)
        return ParsedItem(
            f"{path}#{id}",
            "design",
            id,
            title,
            fitting(self._content(f"{named}: {title}" if named else title), MAX_CONTENT_CHARS),
            self._fields(path, title, related[:_MAX_RELATED]),
            (*related, *(other for other in others if other != named)),
            LineRange(self.lines[0].number, last),
        )

    def problems(self) -> Iterator[DocumentProblem]:
        """What keeps it from being understood in full."""
        first = self.lines[0].number
        if not self.texts.get("decision", ""):
            yield DocumentProblem(first, f"{self._title!r} says nothing under Decision")
        if self._status and DECISION_STATES.meant_by(self._status) is None:
            line = next((part.line for part in self.parts if part.name == "status"), first)
            choices = ", ".join(DECISION_STATES.all)
            yield DocumentProblem(line, f"the status {self._status[:60]!r} is none of {choices}")

    def _fields(self, path: str, title: str, related: list[str]) -> dict[str, object]:
        fields = {
            "design_type": "ADR",
            "title": title,
            "decision": fitting(self.texts.get("decision", "")),
            "rationale": fitting(self._rationale),
            "consequences": fitting(self.texts.get("consequences", "")),
            "related_requirements": related,
            "affected_components": components(self._value("components")),
            "status": DECISION_STATES.meant_by(self._status),
            "source_document": path,
            "decided_on": fitting(self._front.get("date") or self._value("date"), _MAX_TITLE_CHARS),
            "supersedes": self._named_after(_SUPERSEDES),
            "superseded_by": self._named_after(_SUPERSEDED),
        }
        return {name: value for name, value in fields.items() if value}

    @property
    def _front(self) -> Mapping[str, str]:
        return self.page.front if self.record.alone else {}

    @property
    def _title(self) -> str:
        found = _RECORD_TITLE.fullmatch(self.record.title)
        title = (found["title"] if found else self.record.title) or self._front.get("title", "")
        return title or " ".join(_WORD.findall(_FILE_NUMBER.sub("", self.file, count=1))) or "Untitled"

    @property
    def _number(self) -> int | None:
        found = _RECORD_TITLE.fullmatch(self.record.title)
        in_title = (found["named"] or found["plain"]) if found else None
        in_name = _FILE_NUMBER.match(self.file) if self.record.alone else None
        number = in_title or (in_name[1] if in_name else None)
        return int(number) if number else None

    @property
    def _status(self) -> str:
        """What is said of its status. That another took its place is said below what it was before."""
        part = next((part for part in self.parts if part.name == "status"), None)
        said = [self._front.get("status", ""), *map(_said, part.lines if part else [])]
        replaced = (line for line in said if _SUPERSEDED.match(line))
        status = next(replaced, next(filter(None, said), ""))
        return "" if is_unsaid(status) else status

    @property
    def _rationale(self) -> str:
        """Why it was decided so: what is headed so, else the reason with the decision, else the context."""
        because = _BECAUSE.search(first_paragraph(self.texts.get("decision", "")))
        return (
            self.texts.get("rationale", "")
            or (because[1] if because else "")
            or self.texts.get("context", "")
        )

    def _value(self, name: str) -> str:
        """What its part of a name says first, on one line."""
        return bare(first_paragraph(self.texts.get(name, "")))

    def _named_after(self, words: re.Pattern[str]) -> list[str]:
        """The records that are named in a line which begins with these words."""
        entries = [f"{name.replace('-', ' ')} {value}" for name, value in self._front.items()]
        status = [
            self._front.get("status", ""),
            *(part.lines[0] for part in self.parts if part.name == "status"),
        ]
        lines = [line.unquoted if line.item is None else line.item for line in self.lines if not line.code]
        return once(
            other
            for text in (*entries, *status, *lines)
            if words.match(bare(text))
            for other in decisions_in(text)
        )

    def _content(self, title: str) -> str:
        """All that is worth finding it by."""
        supersedes = self._named_after(_SUPERSEDES)
        notes = [f"This decision supersedes {other}." for other in supersedes]
        notes += [f"It was superseded by {other}." for other in self._named_after(_SUPERSEDED)]
        texts = [f"{name.capitalize()}\n{text}" for name in _IN_CONTENT if (text := self.texts.get(name, ""))]
        return "\n\n".join([title, *filter(None, [" ".join(notes)]), *texts])


def _texts(parts: Sequence[Part]) -> dict[str, str]:
    """What the parts of each name say, with their headings where there are several."""
    said: dict[str, list[tuple[str, str]]] = {}
    for part in parts:
        if text := tidy(part.lines):
            said.setdefault(part.name, []).append((part.heading, text))
    return {
        name: texts[0][1]
        if len(texts) == 1
        else "\n\n".join(f"{heading}:\n{text}" for heading, text in texts)
        for name, texts in said.items()
    }


def _free(id: str, title: str, taken: Counter[str]) -> str:
    """An id that is taken from now on: this one, else one made of it, the title and a count."""
    free = stem = f"{id}-{title}" if id in taken else id
    while free in taken:
        taken[stem] += 1
        free = f"{stem}-{taken[stem]}"
    taken[free] += 1
    return free


def _slug(title: str) -> str:
    return "-".join(_WORD.findall(title.casefold()))[:_MAX_KEY_CHARS].rstrip("-") or "untitled"


def _said(line: str) -> str:
    return bare(line).lstrip("-*+> ")
