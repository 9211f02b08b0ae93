"""What turns and summaries cost in tokens, and how a turn is made to fit.

Pure. Which of them are shown is left to `context` and `tiers`.
"""

from bisect import bisect_right
from dataclasses import replace
from typing import Final, TypeVar

from backstory.model.context import ContextTurn
from backstory.model.live import LiveTurn
from backstory.model.summary import Summary
from backstory.model.tokens import quarters, tokens

_Turn = TypeVar("_Turn", ContextTurn, LiveTurn)

#: Who said it and when, in front of a text: "[2026-03-01 12:30] Caroline: ", and "Assistant: ".
ATTRIBUTION: Final = 12

#: Less of a turn is not worth showing.
LEAST: Final = 40

_GAP: Final = " […] "


def cost(said: ContextTurn | LiveTurn | Summary) -> int:
    """The tokens that a turn or a summary takes, with who said it and when."""
    if isinstance(said, Summary):
        return tokens(said.text) + ATTRIBUTION
    return (quarters(said.query) + quarters(said.response) + 3) // 4 + ATTRIBUTION


def shortened(turn: _Turn, most: int) -> _Turn:
    """The turn without the middle of its texts, so that it costs no more than so many tokens.

    What was asked keeps a third, or what the answer leaves of the rest: it is what the answer is about.
    """
    rest = max(4 * (most - ATTRIBUTION), 0)
    query, response = quarters(turn.query), quarters(turn.response)
    for_query = min(query, max(rest // 3, rest - response))
    kept_query = _cut(turn.query, for_query)
    return replace(turn, query=kept_query, response=_cut(turn.response, rest - quarters(kept_query)))


def _cut(text: str, most: int) -> str:
    """The beginning and the end of a text, in so many quarters of a token."""
    if quarters(text) <= most:
        return text
    half = max(most - quarters(_GAP), 0) // 2
    return f"{_first(text, half)}{_GAP}{_first(text[::-1], half)[::-1]}" if half else ""


def _first(text: str, most: int) -> str:
    """As much of the beginning as there is room for. A character takes one quarter or four."""
    length = bisect_right(range(most + 1), most, key=lambda count: quarters(text[:count])) - 1
    return text[: max(length, 0)]
