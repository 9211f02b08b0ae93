"""The parts of a decision record: context, decision, consequences and others, however they are headed.

Pure. A part begins with a heading, or with its name in bold at the beginning of a paragraph. It ends where
the next one begins, so that MADR's consequences, which stand below the outcome, are no part of it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.analysis.documents.labels import heading_name
from backstory.analysis.documents.markdown import Line, bare
from backstory.analysis.documents.names import called

_PARTS: Final = called(
    status="state, decision status",
    date="decision date, date of decision, decided on",
    context="context and problem statement, context and problem, problem statement, problem, background, "
    "issue, motivation, the context, forces",
    decision="decision outcome, outcome, the decision, resolution, chosen option, proposed decision, "
    "our decision, decision taken",
    rationale="decision drivers, drivers, reasoning, justification, reasons, decision rationale, why",
    consequences="consequence, implications, impact, positive consequences, negative consequences, "
    "consequences of the decision, neutral consequences",
    alternatives="considered options, options considered, options, alternatives considered, "
    "considered alternatives, rejected alternatives, rejected options, pros and cons of the options",
    components="affected components, components affected",
)
#: Said on the line of their names, if they have no heading: Nygard's date, and what MADR 2 has in a list.
_ON_ONE_LINE: Final = frozenset({"status", "date", "components"})

_BOLD: Final = re.compile(
    r"(?P<marks>\*\*|__)(?P<name>[^*_:]{1,40})(?P<inner>:?)(?P=marks)[ \t]*(?P<outer>:?)(?P<text>.*)"
)
_LABEL: Final = re.compile(r"[*_]*(?P<name>[A-Za-z][A-Za-z ]{1,40})[*_]*:(?P<text>.*)")
#: Below every heading.
_OF_BOLD: Final = 7


@dataclass(frozen=True, slots=True)
class PartStart:
    """A line that begins a part. `name` is empty where the part is none of a decision's."""

    at: int
    name: str
    heading: str  # as it stands there
    text: str  # on the same line
    level: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a decision record. Its first line is what stands behind its name."""

    name: str
    heading: str
    lines: Sequence[str]
    line: int


def part_starts(lines: Sequence[Line]) -> list[PartStart]:
    """Every heading, and every bold name that begins a paragraph, with the part that it begins."""
    starts: list[PartStart] = []
    in_part = False  # below a part's heading, where `Status: …` may be said of anything
    for at, line in enumerate(lines):
        if line.code or line.blank:
            continue
        if line.level:
            starts.append(_by_heading(line, at))
            in_part = bool(starts[-1].name)
        elif start := _by_bold(lines, at, in_part=in_part) or (None if in_part else _by_label(line, at)):
            starts.append(start)
    return starts


def parts_between(lines: Sequence[Line], starts: Sequence[PartStart], first: int, end: int) -> Iterator[Part]:
    """The parts of the record from a line to before another, in their order."""
    low, high = (bisect_left(starts, at, key=lambda start: start.at) for at in (first, end))
    for place in range(low, high):
        start = starts[place]
        if start.name:
            later = (starts[index] for index in range(place + 1, high))
            over = next((each.at for each in later if each.name or each.level <= start.level), end)
            texts = [line.text for line in lines[start.at + 1 : over]]
            yield Part(start.name, bare(start.heading), [start.text, *texts], lines[start.at].number)


def _by_heading(line: Line, at: int) -> PartStart:
    head, _, text = line.title.partition(":")
    if whole := _PARTS.get(heading_name(line.title)):
        return PartStart(at, whole, line.title, "", line.level)
    return PartStart(at, _PARTS.get(heading_name(head), ""), head, text.strip(), line.level)


def _by_bold(lines: Sequence[Line], at: int, *, in_part: bool) -> PartStart | None:
    line = lines[at]
    bold = _BOLD.fullmatch(line.unquoted)
    if not bold or not (bold["inner"] or bold["outer"] or not bold["text"].strip()):
        return None
    name = _PARTS.get(heading_name(bold["name"]), "")
    # Names of one line follow one another without a blank between them.
    fresh = at == 0 or lines[at - 1].blank or lines[at - 1].level
    if in_part if name in _ON_ONE_LINE else not fresh:
        return None
    return PartStart(at, name, bold["name"], bold["text"].strip(), _OF_BOLD)


def _by_label(line: Line, at: int) -> PartStart | None:
    label = _LABEL.fullmatch(line.unquoted if line.item is None else line.item)
    name = _PARTS.get(heading_name(label["name"])) if label else None
    if not label or name not in _ON_ONE_LINE:
        return None
    return PartStart(at, name, label["name"], label["text"].lstrip("*_ ").strip(), _OF_BOLD)
