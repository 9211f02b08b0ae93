"""Lines of a document as a text to keep: without needless blanks, and no longer than fits."""

import textwrap
from collections.abc import Sequence
from typing import Final

#: A field of a memory. Four of them in any script stay below what metadata may take.
MAX_FIELD_CHARS: Final = 3500
_CUT: Final = "\u2026"


def tidy(lines: Sequence[str]) -> str:
    """Lines as one text: what is indented as a whole is moved out, several blank lines are one."""
    # The first line of an item stands behind its marker, the others below its text.
    text = "\n".join([*lines[:1], textwrap.dedent("\n".join(lines[1:]))])
    kept: list[str] = []
    for line in map(str.rstrip, text.split("\n")):
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip()


def fitting(text: str, most: int = MAX_FIELD_CHARS) -> str:
    """A text, or its beginning with a mark that there is more; cut at the end of a line where it can be."""
    if len(text) <= most:
        return text
    start = text[: most - len(_CUT)]
    whole = start.rpartition("\n")[0].rstrip()
    # A very long line is better cut than left out.
    return (whole if len(whole) > most // 2 else start.rstrip()) + _CUT


def first_paragraph(text: str) -> str:
    """What a text says first, on one line."""
    return " ".join(text.split("\n\n")[0].split())
