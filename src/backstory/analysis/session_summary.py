"""A session in a few lines: what was asked, decided, fixed and done, and what is open.

Pure and English, of whole sentences. What was decided and fixed is handed in by `analysis.extraction`. It is
shorter than what a summarizer makes: that one keeps as much as fits, this one what the session was about.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from backstory.analysis.statements import Heard, Statement

_SHOWN: Final = 8  # of each kind; a long session is about what came last
_OF_A_TURN: Final = 3
_REQUESTS: Final = 5  # the first ones: later ones are about details
_SENTENCE_CHARS: Final = 240

_DONE = re.compile(
    r"\b(?:done|fixed|added|implemented|updated|renamed|changed|removed|created|converted|moved|committed|"
    r"pushed|replaced|pass(?:es)?|green|(?:is|are) gone|set up|scheduled|migrated|switched|built|wrote|"
    r"stubbed|copied|made|deleted|released|deployed|cached|is down|went from|now (?:has|have|go(?:es)?|"
    r"uses?|gets?|shows?|reads?|refuses?)|(?:has|have|is|are|goes|go)\b.{0,40} now)\b",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"^(?:let me|i'll|i will|i need|i could|i'd|you (?:can|need|should|could)|next|here(?:'s| is))\b|"
    r"\b(?:not yet|isn't|wasn't|was not|should be|must be|has to be|can be|would|might)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:still open|todo|not yet done|remaining|left to do|next steps?|follow[- ]ups?|unresolved|"
    r"left open|to be decided|tbd)\b",
    re.IGNORECASE,
)
_SMALL_TALK: Final = 3  # words up to which an opening is no request


def outcomes(turns: Sequence[Heard]) -> list[str]:
    """What the agent reported as done, in order: of each turn the last few things."""
    return [_short(each) for turn in turns for each in list(filter(_is_done, turn.agent))[-_OF_A_TURN:]]


def summary(turns: Sequence[Heard], decided: Sequence[str], fixed: Sequence[str]) -> str:
    """The session as text, a line for each thing that there is something to say of."""
    lines = (
        ("Asked", _requests(turns, decided)),
        ("Decided", list(map(_ended, decided))),
        ("Fixed", list(map(_ended, fixed))),
        ("Done", outcomes(turns)),
        ("In the end", _last_said(turns)),
        ("Open", list(_left_open(turns))),
    )
    return "\n".join(f"{label}: {' '.join(told[-_SHOWN:])}" for label, told in lines if told)


def _requests(turns: Sequence[Heard], decided: Sequence[str]) -> list[str]:
    """What the person began each turn with, if it was said at some length and is not told as decided."""
    known = " ".join(decided)
    first = (next(filter(_is_longer, turn.person), None) for turn in turns)
    texts = [_short(each) for each in first if each]
    return [text for text in texts if text.rstrip(".") not in known][:_REQUESTS]


def _is_longer(statement: Statement) -> bool:
    return len(statement.text.split()) > _SMALL_TALK and not statement.under


def _last_said(turns: Sequence[Heard]) -> list[str]:
    """What the agent ended with, if it is not told as done."""
    last = turns[-1].agent if turns else []
    telling = [
        each for each in last if not each.asks and len(each.words) > 1 and not _NOT_DONE.search(each.said)
    ]
    return [_short(each) for each in telling[-1:] if not _is_done(each) and not _OPEN.search(each.said)]


def _left_open(turns: Sequence[Heard]) -> Iterator[str]:
    for turn in turns[-1:]:
        yield from (_short(each) for each in turn.agent if _OPEN.search(each.said))


def _is_done(statement: Statement) -> bool:
    return bool(_DONE.search(statement.said)) and not statement.asks and not _NOT_DONE.search(statement.said)


def _short(statement: Statement) -> str:
    """A statement as a sentence that others can follow."""
    text = statement.text
    if len(text) > _SENTENCE_CHARS:
        return text[:_SENTENCE_CHARS].rsplit(" ", 1)[0] + "\u2026"
    return _ended(text)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":", "\u2026")) else f"{text}."
