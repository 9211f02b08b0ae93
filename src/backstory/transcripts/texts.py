"""What may be kept of a text: no terminal codes, no control characters, no encoded data, no great length."""

import re
from typing import Final

#: Colours and cursor movements, titles of terminal windows, and the short codes.
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x0d\x0e-\x1f\x7f]")
#: No word, path or hash is this long without a break; a picture's data is. SHA-512 in hex has 128.
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/]{256,}={0,2}")


def clean(text: str) -> str:
    """The text as a person would read it on a screen."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _ENCODED.sub(_left_out, text).strip()


def excerpt(text: str, limit: int) -> str:
    """At most about `limit` characters: the start and the end, and how much was left out between."""
    if len(text) <= limit:
        return text
    # Errors stand at the end of a tool's output, what it is about at the start.
    tail = limit // 3
    head = limit - tail
    return f"{text[:head]}\n[{len(text) - limit:,} characters left out]\n{text[-tail:]}"


def shortened(text: str, limit: int) -> str:
    """The start of a text on one line, with a sign where it goes on."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _left_out(found: re.Match[str]) -> str:
    return f"[{len(found.group()):,} characters of encoded data left out]"
