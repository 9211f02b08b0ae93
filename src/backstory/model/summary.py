"""Values that pass through a summarizer: what was said, and what is left of it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """What the two sides said in one turn. Either may be empty."""

    number: int
    user: str
    assistant: str
    user_name: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What some turns came to. `note` tells why it is not what was asked for; mostly it is empty.

    `first_turn` and `last_turn` are 0 if there were no turns.
    """

    text: str
    first_turn: int
    last_turn: int
    tokens: int
    made_by: str  # the fingerprint of the summarizer
    note: str = ""
    at: datetime | None = None  # when it was kept
