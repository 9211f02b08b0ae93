"""Looking through the conversations that are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.conversation import Conversation
from backstory.model.project import Scope
from backstory.model.search import MAX_LIMIT

DEFAULT_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of conversations, how many there are in all, and whether another page follows."""

    conversations: Sequence[Conversation]
    total: int
    more: bool = False


def list_conversations(
    engine: Engine, scope: Scope, *, limit: int = DEFAULT_LISTED, offset: int = 0
) -> Listed:
    """The conversations inside the scope, those held last first."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit {limit} is not between 1 and {MAX_LIMIT}", hint=f"use {DEFAULT_LISTED}")
    if offset < 0:
        raise InputError(f"offset {offset} is below 0", hint="begin at 0")
    with engine.records.reading() as records:
        page, total = records.conversations.page(scope, limit=limit, offset=offset)
    return Listed(page, total, more=offset + len(page) < total)
