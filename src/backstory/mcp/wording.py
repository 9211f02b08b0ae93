"""The small words that answers are put together from as text, the same in every toolset."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

#: What stands before every line of a text but its first.
_INDENT: Final = "  "

#: Control characters but the tab, which a terminal obeys, and those that turn the direction of writing.
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def lines(*parts: str) -> str:
    """The parts, one below the other."""
    return "\n".join(parts)


def every(name: str, values: Iterable[str] | None) -> Sequence[str]:
    """A line for each value, with what it is."""
    return [f"{name}: {value}" for value in values or ()]


def fact(name: str, value: object) -> Sequence[str]:
    """A line for a value, if there is one."""
    return [] if value is None else [f"{name}: {value}"]


def said(who: str, text: str | None) -> Sequence[str]:
    """What somebody said, if it was anything: no line of it begins where one of ours does."""
    return [] if text is None else [f"{who}: {indented(text)}"]


def indented(text: str) -> str:
    """A text that follows the name of who said it, with all that ends a line or hides one made plain."""
    return f"\n{_INDENT}".join(visible_lines(text))


def visible_lines(text: str) -> list[str]:
    """The lines of a text, whatever ends them, without signs that move or hide what is shown."""
    return [_UNSEEN.sub("", line) for line in text.splitlines()] or [""]


def number(count: int, thing: str, things: str | None = None) -> str:
    """How many there are of a thing; where its plural is no matter of an s, that is given."""
    return f"{count} {thing if count == 1 else things or f'{thing}s'}"


def counts(counted: Mapping[str, int]) -> str:
    """What was counted, in one line."""
    return ", ".join(f"{name} {count}" for name, count in counted.items()) or "none"


def time(moment: datetime) -> str:
    """A time as the structured answer has it."""
    return moment.isoformat().replace("+00:00", "Z")
