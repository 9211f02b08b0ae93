"""Amounts as people write them: 200 ms, five attempts, port 8090, Python 3.11, nightly.

Equal amounts are equal values, however they were written. Which of them belong to the same thing is left
to `analysis.changes`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from backstory.analysis.vocabulary import stem, word_set

_NUMBER = re.compile(r"v?(?P<digits>\d+(?:[.,]\d+)*)(?P<unit>%|[a-z]*)")
_SMALL_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
_WORDS: Final = {word: str(number) for number, word in enumerate(_SMALL_NUMBERS.split())} | {
    "fifteen": "15", "twenty": "20", "thirty": "30", "fifty": "50", "hundred": "100", "thousand": "1000",
}  # fmt: skip
_TIMES: Final[Mapping[str, float]] = {
    "ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "minut": 60, "h": 3_600,
    "hour": 3_600, "day": 86_400, "night": 86_400, "week": 604_800, "month": 2_592_000, "year": 31_536_000,
}  # fmt: skip
_SIZES: Final[Mapping[str, float]] = {
    "byt": 1, "kb": 1e3, "kib": 1024, "mb": 1e6, "mib": 1024**2, "gb": 1e9, "gib": 1024**3, "tb": 1e12,
}  # fmt: skip
_RHYTHMS: Final = {"hourly": "hour", "nightly": "day", "daily": "day", "weekly": "week", "monthly": "month"}

_WEEKDAYS: Final = word_set("monday tuesday wednesday thursday friday saturday sunday")
_ENDLESS: Final = frozenset({"forever", "indefinitely"})
_ENDINGS: Final = frozenset({"th", "st", "nd", "rd", "x"})


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and what it counts. Times are in seconds and sizes in bytes, whatever was written."""

    number: str
    unit: str
    said: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.number} {self.unit}"


def written(token: str) -> bool:
    """Whether a token, in lower case, is a number in digits or in a word."""
    return token in _WORDS or bool(_NUMBER.fullmatch(token))


def measures(unit: str) -> bool:
    """Whether a term is a unit of time or size."""
    return unit in _TIMES or unit in _SIZES


def rhythm(token: str, before: str) -> Amount | None:
    """How often, where a word says so without a number: hourly, or the minute of every minute."""
    if token in _ENDLESS:
        return Amount("inf", "second", token)
    if before == "every" and token in _WEEKDAYS:
        return _measured("1", "week", token)
    unit = _RHYTHMS.get(token) or (stem(token) if before in {"every", "each"} else "")
    return _measured("1", unit, token) if unit in _TIMES else None


def counted(token: str, unit: str, said: str) -> Amount:
    """The amount that a written number is. `unit` is the term beside it, for a number without its own."""
    number = _NUMBER.fullmatch(token)
    if number is None:
        return _measured(_WORDS[token], unit, said)
    own = "" if number["unit"] in _ENDINGS else number["unit"].replace("%", "percent")
    return _measured(number["digits"], own or unit, said)


def _measured(number: str, unit: str, said: str) -> Amount:
    plain = number.replace(",", "")
    for measures, base in ((_TIMES, "second"), (_SIZES, "byte")):
        if unit in measures and plain.count(".") < 2:
            return Amount(f"{float(plain) * measures[unit]:.6g}", base, said)
    return Amount(plain, unit, said)
