"""How long an answer may be, and making it so.

The longest parts give way first; what was shortened or left out is always said.
"""

import json
from collections.abc import Sequence
from typing import Final

from backstory.model.tokens import tokens as tokens

#: No answer may be longer than this, whatever it holds.
MOST_TOKENS: Final = 50_000

#: What a search, or a page of one memory, takes at most. At four characters a token it stays below the
#: 50,000 characters from which Claude Code writes an answer to a file and shows the agent 2 KB of it.
USUAL_TOKENS: Final = 11_000


def written(value: object) -> str:
    """A value as the JSON of an answer has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def beginning(text: str, most: int) -> str:
    """As much of the beginning of a text as takes at most so many tokens, written as JSON."""
    low, high = 0, min(len(text), 4 * most)  # four characters take a token at least
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(written(text[:middle])) <= most else (low, middle - 1)
    return text[:low]


def fair_share(sizes: Sequence[int], most: int) -> int:
    """The size above which parts must be shortened so that together they take at most `most`."""
    left = most
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return most
