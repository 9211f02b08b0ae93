"""Ids as they stand in texts: of requirements, and of decision records."""

import re
from collections.abc import Iterable
from typing import Final

# Twelve parts are more than anybody writes; with no limit a text of nothing but "REQ-" takes quadratic time.
# An underscore beside an id is markup, a letter or a digit is another word.
REQUIREMENT_ID: Final = re.compile(r"(?<![^\W_])REQ(?:-[A-Z0-9]+){1,12}-[0-9]+(?![^\W_])")

#: What its author took for an id, and a requirement may not have.
MALFORMED_ID: Final = re.compile(r"(?<![\w-])REQ-?[0-9]+(?![\w-])")

# By number, or by the file that a link leads to.
_DECISION = re.compile(
    r"(?<![^\W_])ADR[- ]?#?([0-9]{1,5})(?![^\W_])|\((?:[^()\s]{0,300}/)?([0-9]{3,5})-[^()\s/]{1,200}\.md\)",
    re.IGNORECASE,
)


def decision_id(number: int) -> str:
    """A record's id, the same however many noughts its author wrote."""
    return f"ADR-{number:04}"


def requirements_in(text: str) -> list[str]:
    """The ids of requirements in a text, each once."""
    return once(REQUIREMENT_ID.findall(text))


def decisions_in(text: str) -> list[str]:
    """The ids of decision records in a text, each once."""
    return once(decision_id(int(found[1] or found[2])) for found in _DECISION.finditer(text))


def once(ids: Iterable[str]) -> list[str]:
    """Each of them once, in the order of their first appearance."""
    return list(dict.fromkeys(ids))
