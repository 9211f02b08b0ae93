"""What may be kept of a text: no terminal codes, no control characters, no encoded data, no great length."""

import re
from typing import Final

#: Colours and cursor movements, titles of terminal windows, and the short codes.
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x0d\x0e-\x1f\x7f]")
#: No word, path or hash is this long without a break; a picture's data is. SHA-512 in hex has 128.
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/]{256,}={0,2}")
_ENCODED_CHARS: Final = 256

#: Room for the words between the two ends of an excerpt, so that an excerpt of an excerpt is itself.
_NOTICE_CHARS: Final = 40


def clean(text: str) -> str:
    """The text as a person would read it on a screen."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL.sub("", text)
    return (_ENCODED.sub(_left_out, text) if _has_long_word(text) else text).strip()


def _has_long_word(text: str) -> bool:
    """Whether there can be encoded data in a text. Asking this first takes half the time."""
    return len(text) >= _ENCODED_CHARS and len(max(text.split(), key=len, default="")) >= _ENCODED_CHARS


def excerpt(text: str, limit: int) -> str:
    """At most `limit` characters: the start and the end, and how much was left out between."""
    if len(text) <= limit:
        return text
    # Errors stand at the end of a tool's output, what it is about at the start.
    tail = limit // 3
    head = limit - tail - _NOTICE_CHARS
    return f"{text[:head]}\n[{len(text) - head - tail:,} characters left out]\n{text[-tail:]}"


def shortened(text: str, limit: int) -> str:
    """The start of a text on one line, with a sign where it goes on."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _left_out(found: re.Match[str]) -> str:
    return f"[{len(found.group()):,} characters of encoded data left out]"
