"""The spans of time that a question names, in its own words: "8 May 2023", "in March", "two weeks ago".

Pure, and English alone. What a date inside such a span is worth is left to `ranking.turns`.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Final, NamedTuple

#: The names by which months are found; not those of the machine's locale.
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS: Final = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_A_FEW: Final = 3

_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?<!pre-)(?<!post-)(?P<year>(?:19|20)\d\d)\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)}|(?:a\s+)?(?:few|couple(?:\s+of)?))"
_UNIT = r"(?P<unit>day|week|month|year)s?\b"

# Spans that are dated, and spans that are counted back from the day of the question. In the order in which
# they are tried: what one has taken is not seen by those after it.
_DATED: Final = [
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"\b{_YEAR}[-/](?P<number>[01]?\d)[-/]{_DAY}",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}",
        rf"\b(?:in|during|of|since|around|last|this|early|late|mid)[\s-]+{_MONTH}",
        rf"\b{_YEAR}",
    )
]
_COUNTED: Final = {
    kind: re.compile(pattern, re.IGNORECASE | re.ASCII)
    for kind, pattern in {
        "ago": rf"(?P<since>\bsince\b.{{0,80}})?\b{_COUNT}\s+{_UNIT}\s+(?:ago|back|earlier)\b",
        "past": rf"\b(?:last|past|previous|recent)\s+(?:{_COUNT}\s+)?{_UNIT}",
        "this": r"\bthis\s+(?P<unit>week|month|year)\b",
        "weekend": r"\b(?:last|past|this)\s+weekend\b",
        "weekday": rf"\b(?:last|past|on|this)\s+(?P<weekday>{'|'.join(_DAYS)})\b(?!\s+\w+s\b)",
        "yesterday": r"\byesterday\b",
        "today": r"(?<!before )(?<!until )\btoday\b",
    }.items()
}

# People tell of a thing after it happened: a question about a day is often answered some days later.
_TOLD_LATER: Final = timedelta(days=7)

# Nobody dates a question further on; a pasted text may be long, and would be looked at thirteen times.
_LOOKED_AT: Final = 1_000

_ONE_DAY: Final = timedelta(days=1)
_UNIT_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}


class Span(NamedTuple):
    """Two days and all between them."""

    first: date
    last: date

    def holds(self, day: date) -> bool:
        """Whether the day lies inside."""
        return self.first <= day <= self.last


def spans(text: str, asked_on: date | None, years: Iterable[int]) -> list[Span]:
    """The spans that a text names, with some days' grace.

    What is counted back needs `asked_on`. A day or a month without a year is meant in every one of `years`.
    """
    text = text[:_LOOKED_AT]
    found: list[Span] = []
    for pattern in _DATED:
        for match in pattern.finditer(text):
            found += _dated(match.groupdict(), years)
        text = pattern.sub(" ", text)
    if asked_on is not None:
        for kind, pattern in _COUNTED.items():
            for match in pattern.finditer(text):
                found += _counted(kind, match.groupdict(), asked_on)
            text = pattern.sub(" ", text)
    return found


def _dated(named: Mapping[str, str | None], years: Iterable[int]) -> Iterator[Span]:
    """A day, a month or a year, in the year named or in each of the years."""
    year_named = named.get("year")
    for year in [int(year_named)] if year_named else years:
        try:
            yield _in_year(year, _month(named), int(named.get("day") or 0))
        except (ValueError, OverflowError):  # there is no 31 June, and no day after the last one
            continue


def _in_year(year: int, month: int, day: int) -> Span:
    if not month:
        return Span(date(year, 1, 1), date(year, 12, 31))
    if not day:
        return Span(date(year, month, 1), date(year, month, monthrange(year, month)[1]) + _TOLD_LATER)
    exact = date(year, month, day)
    return Span(exact - _ONE_DAY, exact + _TOLD_LATER)


def _month(named: Mapping[str, str | None]) -> int:
    if number := named.get("number"):
        return int(number)
    start = (named.get("month") or "")[:3].lower()
    return next((n for n, name in enumerate(MONTHS, 1) if start and name.startswith(start)), 0)


def _counted(kind: str, named: Mapping[str, str | None], today: date) -> Iterator[Span]:
    """A span counted back from the day of the question; none if it begins before all time."""
    try:
        yield _back(kind, named, today)
    except OverflowError:
        return


def _back(kind: str, named: Mapping[str, str | None], today: date) -> Span:
    match kind:
        case "ago":
            return _ago(named, today)
        case "past" | "this":
            days = _number(named.get("count")) * _unit(named)
            return Span(today - timedelta(days=days + _unit(named) // 7), today)
        case "weekend":
            return Span(today - timedelta(days=8), today)
        case "weekday":
            back = (today.weekday() - _DAYS.index((named["weekday"] or "").lower())) % 7 or 7
            return Span(today - timedelta(days=back + 1), today)
        case "yesterday":
            return Span(today - timedelta(days=2), today)
        case _:
            return Span(today, today)


def _ago(named: Mapping[str, str | None], today: date) -> Span:
    """Around the day so long ago: what people count in months they do not know to the day."""
    unit = _unit(named)
    middle = today - timedelta(days=_number(named["count"]) * unit)
    last = today if named.get("since") else min(today, middle + _TOLD_LATER)
    return Span(middle - timedelta(days=max(1, unit // 2)), last)


def _unit(named: Mapping[str, str | None]) -> int:
    return _UNIT_DAYS[(named.get("unit") or "day").lower()]


def _number(count: str | None) -> int:
    if count is None:
        return 1
    if count.isdecimal():
        return int(count)
    return _COUNTS.get(count.lower(), _A_FEW)
