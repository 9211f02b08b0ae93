"""The small words that answers are put together from as text, the same in every toolset."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime


def lines(*parts: str) -> str:
    """The parts, one below the other."""
    return "\n".join(parts)


def every(name: str, values: Iterable[str] | None) -> Sequence[str]:
    """A line for each value, with what it is."""
    return [f"{name}: {value}" for value in values or ()]


def fact(name: str, value: object) -> Sequence[str]:
    """A line for a value, if there is one."""
    return [] if value is None else [f"{name}: {value}"]


def number(count: int, thing: str) -> str:
    """How many there are of a thing."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def counts(counted: Mapping[str, int]) -> str:
    """What was counted, in one line."""
    return ", ".join(f"{name} {count}" for name, count in counted.items()) or "none"


def time(moment: datetime) -> str:
    """A time as the structured answer has it."""
    return moment.isoformat().replace("+00:00", "Z")
