"""Reading JSON that somebody else wrote: each part by its name and kind, or in words what is wrong with it.

Pure. What the parts mean is left to who asks for them.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NoReturn, TypeVar

from backstory.model.memory import json_problems

Value = dict[str, Any]
Part = TypeVar("Part")

#: What SQLite can keep in a column.
MAX_INTEGER: Final = 2**63 - 1

#: Times in between are times in every zone, and days can be added to them.
FIRST_MOMENT: Final = datetime(1, 1, 2, tzinfo=UTC)
LAST_MOMENT: Final = datetime(9000, 1, 1, tzinfo=UTC)


class BadJson(ValueError):
    """What was written is not what was expected; the text says why, without quoting it."""


def parsed(line: bytes) -> Value:
    """The JSON object that a line is; raises `BadJson` if it is none."""
    try:
        value = json.loads(line)
        if b"\\u" in line:  # it may be half a surrogate pair, which no engine takes
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadJson("it is not valid JSON") from error
    if not isinstance(value, dict):
        raise BadJson("it is not a JSON object")
    return value


class Parts:
    """The parts of an object that may have these names and no others. `at` is where in a line it stands."""

    def __init__(self, value: object, names: Sequence[str], at: str = "") -> None:
        if not isinstance(value, dict):
            raise BadJson(f"`{at.removesuffix('.')}` must be an object")
        for name in sorted(value.keys() - set(names)):
            raise BadJson(f"`{at}{name[:60]}` is not known here")
        self._value = value
        self._at = at

    def maybe(self, name: str, read: Callable[[str], Part]) -> Part | None:
        """A part that may be left out, read by one of the methods below."""
        return read(name) if name in self._value else None

    def text(self, name: str) -> str:
        """A text without NUL, which no engine takes."""
        text = self._of(str, name, "a text")
        return self._refuse(name, "a text without NUL") if "\0" in text else text

    def integer(self, name: str) -> int:
        """A whole number, zero or more, that can be stored."""
        number = self._of(int, name, "a whole number")
        if not 0 <= number <= MAX_INTEGER:
            self._refuse(name, f"a whole number from 0 to {MAX_INTEGER}")
        return number

    def integers(self, name: str) -> dict[str, int]:
        """An object of whole numbers."""
        below = self.inside(name)
        return {each: below.integer(each) for each in self._value[name]}

    def share(self, name: str) -> float:
        """A number from 0 to 1."""
        number = self._value.get(name)
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= 1:
            self._refuse(name, "a number from 0 to 1")
        return float(number)

    def id(self, name: str) -> str:
        """A UUID, as we write it."""
        text = self.text(name)
        return text if _is_id(text) else self._refuse(name, "a UUID in lower case")

    def ids(self, name: str) -> list[str]:
        """A list of UUIDs."""
        ids = self._of(list, name, "a list of UUIDs")
        return ids if all(map(_is_id, ids)) else self._refuse(name, "a list of UUIDs in lower case")

    def moment(self, name: str) -> datetime:
        """A time with its zone."""
        try:
            moment = datetime.fromisoformat(self.text(name))
        except ValueError:
            return self._refuse(name, "a time")
        if not moment.tzinfo:
            self._refuse(name, "a time with its zone")
        if not FIRST_MOMENT <= moment <= LAST_MOMENT:
            self._refuse(name, "a time between the years 1 and 9000")
        return moment

    def mapping(self, name: str) -> Value:
        """An object that can be stored, whatever it holds."""
        value: Value = self._of(dict, name, "an object")
        for problem in json_problems(value):
            raise BadJson(f"`{self._at}{name}`: {problem.what}")
        return value

    def several(self, name: str, names: Sequence[str]) -> Iterator["Parts"]:
        """The objects of a list, each with parts of these names; none if it was left out."""
        values = self._of(list, name, "a list") if name in self._value else []
        for place, each in enumerate(values):
            yield Parts(each, names, f"{self._at}{name}[{place}].")

    def inside(self, name: str) -> "Parts":
        """The parts of an object that may have any names."""
        value = self.mapping(name)
        return Parts(value, tuple(value), f"{self._at}{name}.")

    def _of(self, kind: type[Part], name: str, wanted: str) -> Part:
        value = self._value.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            self._refuse(name, wanted)
        return value

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        problem = f"must be {wanted}" if name in self._value else "is missing"
        raise BadJson(f"`{self._at}{name}` {problem}")


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False
