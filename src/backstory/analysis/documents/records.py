"""Where in a document decision records stand: one that is the whole document, or several in a log.

Pure. What a record says is left to `decisions`, which also tells whether it is one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.analysis.documents.labels import heading_name
from backstory.analysis.documents.markdown import Line, bare, section_end
from backstory.analysis.documents.parts import PartStart

_NUMBERED: Final = re.compile(r"ADR[\s#-]*\d", re.IGNORECASE)
#: Headings that do not say what was decided; the one above them does.
_OF_NOTHING: Final = frozenset({"executive summary", "summary", "overview", "abstract", "introduction"})


@dataclass(frozen=True, slots=True)
class Record:
    """The lines of a record, from `first` to before `end`, and its heading.

    One that is alone has all of its document, with its front matter and its file's name, and may have no
    heading.
    """

    first: int
    end: int
    heading: Line | None
    alone: bool

    @property
    def title(self) -> str:
        """What its heading says."""
        return bare(self.heading.title) if self.heading else ""

    @property
    def numbered(self) -> bool:
        """Whether its heading calls it a decision record, by a number."""
        return bool(_NUMBERED.match(self.title))


def records(lines: Sequence[Line], starts: Sequence[PartStart]) -> list[Record]:
    """What may be records: below the headings that decisions belong to, and below numbered headings."""
    titles = [start for start in starts if lines[start.at].level and _is_title(start)]
    first = titles[0] if titles else None
    decided = _apart(_record(lines, owner, first) for owner in set(_owners(starts)))
    ends = [record.end for record in decided]

    def is_free(record: Record) -> bool:
        following = bisect_right(ends, record.first)
        return following == len(decided) or record.end <= decided[following].first

    numbered = (_record(lines, title, first) for title in titles if _NUMBERED.match(bare(title.heading)))
    return _apart([*decided, *filter(is_free, numbered)])


def _is_title(start: PartStart) -> bool:
    return not start.name and heading_name(start.heading) not in _OF_NOTHING


def _owners(starts: Sequence[PartStart]) -> Iterator[PartStart | None]:
    """For each decision the heading that names the whole: not that of a part, nor of a summary."""
    above: list[PartStart] = []
    for start in starts:
        while above and above[-1].level >= start.level:
            above.pop()
        if start.name == "decision":
            yield next(filter(_is_title, reversed(above)), None)
        above.append(start)


def _record(lines: Sequence[Line], owner: PartStart | None, first: PartStart | None) -> Record:
    if owner is None:
        return Record(0, len(lines), lines[first.at] if first else None, alone=True)
    end = section_end(lines, owner.at)
    alone = owner == first and end == len(lines)
    return Record(0 if alone else owner.at, end, lines[owner.at], alone=alone)


def _apart(found: Iterable[Record]) -> list[Record]:
    """Records in their order, without those that stand in others."""
    kept: list[Record] = []
    for record in sorted(found, key=lambda each: (each.first, -each.end)):
        if not kept or record.first >= kept[-1].end:
            kept.append(record)
    return kept
