"""What a verb of the local endpoint comes to."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: the values, and the same as a person reads it."""

    answer: dict[str, Any]
    text: str
