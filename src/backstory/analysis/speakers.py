"""A text as a talk: who said what, where the text says so.

Pure. People paste talks with a label before each message, as in "User: …" and "Assistant: …". A text without
labels is what one person said.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from backstory.model.summary import SaidTurn

_LABEL: Final = re.compile(
    r"^[ \t]*[#>*_]*[ \t]*(?:(?P<person>user|human|person|me)|assistant|agent|ai|claude|codex|bot)"
    r"[*_]*[ \t]*:[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


def turns_in(text: str) -> list[SaidTurn]:
    """The turns of a talk, numbered from 1: each begins where the person speaks after the agent."""
    turns: list[SaidTurn] = []
    for is_person, messages in groupby(_messages(text), key=lambda each: each[0]):
        said = "\n\n".join(message for _, message in messages)
        if is_person:
            turns.append(SaidTurn(len(turns) + 1, said, ""))
        elif turns:
            turns[-1] = replace(turns[-1], assistant=said)
        else:
            turns.append(SaidTurn(1, "", said))
    return turns


def _messages(text: str) -> Iterator[tuple[bool, str]]:
    """What was said, one message after the other, and whether a person said it."""
    labels = list(_LABEL.finditer(text))
    ends = [label.start() for label in labels] + [len(text)]
    pieces = [(True, text[: ends[0]])]
    pieces += [
        (bool(label["person"]), text[label.end() : end]) for label, end in zip(labels, ends[1:], strict=True)
    ]
    for is_person, piece in pieces:
        if message := piece.strip():
            yield is_person, message
