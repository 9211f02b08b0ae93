"""From bytes to JSON objects, one a line, whatever happened to the file.

Lines end with a newline and nothing else. What a crash or two writers at once left behind is
repaired where that is possible: objects glued together, the start of one object followed by
another whole one, runs of NUL, half characters. Nothing is raised for any bytes, and what is lost
is said with its place. A line is judged by its own bytes alone, so reading a file piece by piece
gives the same records as reading it at once. What the objects mean is left to the format's reader.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import orjson

from backstory.model.transcript import Flaw, FlawedBytes
from backstory.transcripts.fields import Fields

#: How records begin; a whole one behind a torn one is looked for here.
_START: Final = re.compile(r'\{"(?:parentUuid|timestamp|type)"')
_SPACE: Final = re.compile(r"[\s\ufeff]*")
#: Starts tried in one broken line. A torn record has a block or two before the next record begins;
#: without a bound a line of nothing but starts would take time by the square of its length.
_TRIES: Final = 100
_LENIENT: Final = json.JSONDecoder(strict=False, parse_constant=lambda _name: None)


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object, and the place of its first byte."""

    offset: int
    fields: Fields


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of some bytes. `consumed` ends behind the last newline: reading goes on there."""

    records: Sequence[Record]
    consumed: int
    flaws: Sequence[FlawedBytes] = ()

    @property
    def repaired(self) -> int:
        """Stretches that were read after a repair."""
        return sum(flawed.flaw is Flaw.REPAIRED for flawed in self.flaws)

    @property
    def unreadable(self) -> int:
        """Stretches that were lost."""
        return sum(flawed.flaw is Flaw.UNREADABLE for flawed in self.flaws)


def read_lines(data: bytes, start: int = 0) -> Lines:
    """All records in the whole lines of `data`, whose first byte stands at `start` in its file."""
    records: list[Record] = []
    flaws: list[FlawedBytes] = []
    position = 0
    while (end := data.find(b"\n", position)) >= 0:
        line, offset = data[position:end], start + position
        position = end + 1
        try:
            fields = orjson.loads(line)
        except orjson.JSONDecodeError:
            fields = None
        if isinstance(fields, dict):
            records.append(Record(offset, fields))
        else:
            _mend(line, offset, records, flaws)
    return Lines(records, start + position, flaws)


def _mend(line: bytes, offset: int, records: list[Record], flaws: list[FlawedBytes]) -> None:
    """Add what can be had from a line that is not one object, and say what could not."""
    # A space is as long as a NUL and stands as well in a text as between the parts of an object.
    text = line.replace(b"\0", b" ").decode("utf-8", "surrogateescape")
    found = False
    place, behind = offset, 0
    for begin, end, fields in _pieces(text):
        place += _size(text[behind:begin])
        length, behind = _size(text[begin:end]), end
        if fields is None:
            flaws.append(FlawedBytes(place, length, Flaw.UNREADABLE))
        else:
            records.append(Record(place, fields))
            found = True
        place += length
    if found:
        flaws.append(FlawedBytes(offset, len(line), Flaw.REPAIRED))
    elif behind == 0 and line.strip():
        flaws.append(FlawedBytes(offset, len(line), Flaw.UNREADABLE))


def _pieces(text: str) -> Iterator[tuple[int, int, Fields | None]]:
    """The objects in a text and, without fields, the stretches between them that are none."""
    position = _behind_space(text, 0)
    while position < len(text):
        fields, end = _object_at(text, position)
        if fields is None:
            end = _next_object(text, position)
        yield position, end, fields
        position = _behind_space(text, end)


def _next_object(text: str, position: int) -> int:
    """Where the next whole record begins, or the end of the text.

    A block inside a torn record begins like a record, too, but is not followed by an object.
    """
    for start in islice(_START.finditer(text, position + 1), _TRIES):
        fields, end = _object_at(text, start.start())
        behind = _behind_space(text, end)
        if fields is not None and (behind == len(text) or text[behind] == "{"):
            return start.start()
    return len(text)


def _object_at(text: str, position: int) -> tuple[Fields | None, int]:
    try:
        value, end = _LENIENT.raw_decode(text, position)
        # Half characters cannot be stored: written out and read again they are question marks.
        whole = orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None, position
    return (whole if isinstance(whole, dict) else None), end


def _behind_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
