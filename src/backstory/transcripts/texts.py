"""What may be kept of a text: no terminal codes, no control characters, no encoded data, no great length.

A secret is known by its whole, so it is taken out before a text is cut. Texts that are not cut are left
to others to redact.
"""

import re
from collections.abc import Iterator
from typing import Final

from backstory.transcripts.redaction import MARK, Safe, reaches_over_lines, redacted

#: Colours and cursor movements, titles of terminal windows, and the short codes.
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x0d\x0e-\x1f\x7f]")
#: No word, path or hash is this long without a break; a picture's data is. SHA-512 in hex has 128.
_ENCODED_CHARS: Final = 256
_ENCODED: Final = re.compile(rf"[A-Za-z0-9+/]{{{_ENCODED_CHARS}}}")
_BREAK: Final = re.compile(r"[^A-Za-z0-9+/]")
#: Encoded data with what it is a part of: half of a token would not be known as one any more.
_AROUND_ENCODED: Final = re.compile(rf"[A-Za-z0-9+/._~-]{{{_ENCODED_CHARS},}}+={{0,2}}")

#: Room for the words between the two ends of an excerpt.
_NOTICE_CHARS: Final = 40
#: No secret on one line is longer; tokens of 4,096 characters are refused by the servers they are sent to.
_SECRET_CHARS: Final = 16_384
#: What stands for a secret is shorter than this.
_MARK_CHARS: Final = 50


def clean(text: str) -> str:
    """The text as a person would read it on a screen."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub("", text)
    return (_AROUND_ENCODED.sub(_left_out, text) if _may_hold_encoded(text) else text).strip()


def _may_hold_encoded(text: str) -> bool:
    """Whether there can be encoded data in a text. Asking this first takes a tenth of the time.

    Data without a break fills at least one of the steps of half its length.
    """
    step = _ENCODED_CHARS // 2
    return any(not _BREAK.search(text, at, at + step) for at in range(0, len(text) - step + 1, step))


def excerpt(text: str, limit: int) -> Safe:
    """At most `limit` characters: the start and the end, and how much was left out between."""
    # Errors stand at the end of a tool's output, what it is about at the start.
    tail = limit // 3
    head = limit - tail - _NOTICE_CHARS
    start, end = _line_end(text, head), _line_start(text, len(text) - tail)
    if start >= end or len(text) <= limit or reaches_over_lines(text):
        text = first = last = redacted(text).text
        if len(text) <= limit:
            return first
    else:
        first, last = redacted(text[:start]).text, redacted(text[end:]).text
    shown = first[: _before_mark(first, head)], last[_behind_mark(last, len(last) - tail) :]
    left_out = len(text) - sum(map(len, shown))
    return Safe(f"\n[{left_out:,} characters left out]\n".join(shown))


def beginning(text: str, limit: int) -> Safe:
    """At most `limit` characters from the start of a text, with a sign where it goes on."""
    start, is_all = _redacted_start(text, limit)
    if is_all and len(start) <= limit:
        return start
    return Safe(start[: _before_mark(start, limit - 1)] + "…")


def shortened(text: str, limit: int) -> Safe:
    """The start of a text on one line, with a sign where it goes on."""
    start, is_all = _redacted_start(text, 2 * limit)
    line = " ".join(start.split())
    if is_all and len(line) <= limit:
        return Safe(line)
    return Safe(line[: _before_mark(line, limit - 1)].rstrip() + "…")


def _redacted_start(text: str, length: int) -> tuple[Safe, bool]:
    """A text without its secrets, at least as far as a length, and whether it is all."""
    end = len(text) if reaches_over_lines(text) else _line_end(text, length)
    return redacted(text[:end]).text, end == len(text)


def _line_end(text: str, place: int) -> int:
    """Where the line of a place ends, or far enough behind it."""
    end = text.find("\n", place, place + _SECRET_CHARS)
    return end if end >= 0 else min(place + _SECRET_CHARS, len(text))


def _line_start(text: str, place: int) -> int:
    """Where the line of a place begins, or far enough before it."""
    before = max(0, place - _SECRET_CHARS)
    start = text.rfind("\n", before, max(0, place))
    return start + 1 if start >= 0 else before


def _before_mark(text: str, place: int) -> int:
    """A place to end at: there, or before what stands there for a secret."""
    return next((mark.start() for mark in _marks_at(text, place)), place)


def _behind_mark(text: str, place: int) -> int:
    """A place to begin at: there, or behind what stands there for a secret."""
    return next((mark.end() for mark in _marks_at(text, place)), max(0, place))


def _marks_at(text: str, place: int) -> Iterator[re.Match[str]]:
    marks = MARK.finditer(text, max(0, place - _MARK_CHARS), max(0, place) + _MARK_CHARS)
    return (mark for mark in marks if mark.start() < place < mark.end())


def _left_out(found: re.Match[str]) -> str:
    text = found.group()
    return f"[{len(text):,} characters of encoded data left out]" if _ENCODED.search(text) else text
