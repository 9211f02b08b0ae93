"""How long an answer may be, and making it so.

The longest parts give way first; what was shortened or left out is always said.
"""

import json
from collections.abc import Sequence
from typing import Final, TypeVar

from backstory.mcp.answers import Answer
from backstory.model.tokens import tokens as tokens

#: No answer may be longer than this, whatever it holds.
MOST_TOKENS: Final = 50_000

#: What a search, or a page of one memory, takes at most. At four characters a token it stays below the
#: 50,000 characters from which Claude Code writes an answer to a file and shows the agent 2 KB of it.
USUAL_TOKENS: Final = 11_000

#: Kept for what is said around a list: the cursor, the notes.
AROUND_A_LIST: Final = 500

Item = TypeVar("Item", bound=Answer)


def written(value: object) -> str:
    """A value as the JSON of an answer has it."""
    return json.dumps(value, ensure_ascii=False, default=str)


def size(answer: Answer) -> int:
    """The tokens that an answer takes, or a part of one."""
    return tokens(written(answer.structured()))


def fitting(items: Sequence[Item], most: int = USUAL_TOKENS) -> Sequence[Item]:
    """As many from the beginning of a list as fit into an answer, and one at least."""
    left = most - AROUND_A_LIST
    for place, item in enumerate(items):
        left -= size(item)
        if left < 0 and place:
            return items[:place]
    return items


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
    for place, own in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if own > share:
            return share
        left -= own
    return most
