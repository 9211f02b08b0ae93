"""Giving conversations away whole, a page of turns at a time."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from backstory.engine import Engine, Transaction
from backstory.errors import InputError
from backstory.model.conversation import Conversation, TurnText
from backstory.model.project import ALL_PROJECTS, Scope

DEFAULT_TURNS: Final = 100
MAX_TURNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """Turns of one conversation, each whole; a long one goes on in the next page."""

    conversation: Conversation
    turns: Sequence[TurnText]


@dataclass(frozen=True, slots=True)
class Exported:
    """A page of turns. `next_offset` is where the next page begins, if one follows."""

    parts: Sequence[ExportedPart]
    next_offset: int | None = None


def export(
    engine: Engine,
    scope: Scope,
    *,
    conversation: str | None = None,
    offset: int = 0,
    limit: int = DEFAULT_TURNS,
) -> Exported:
    """One conversation with those of its subagents, or all of them; nothing of any turn is left out.

    Offset and limit count turns over all that is exported, in the order of projects and conversations' ids.
    """
    if offset < 0 or not 1 <= limit <= MAX_TURNS:
        raise InputError(
            f"offset {offset} and limit {limit} give no page", hint=f"use 0 and up to {MAX_TURNS} turns"
        )
    end = offset + limit
    with engine.records.reading() as records:
        pieces = list(_pieces(_lengths(records, scope, conversation)))
        wanted = [each for each in pieces if each.begins < end and not each.is_before(offset)]
        conversations = records.conversations.find(scope, [each.conversation for each in wanted])
        parts = [
            ExportedPart(conversations[each.conversation], _turns(records, each, offset, end))
            for each in wanted
        ]
    return Exported(parts, end if any(not each.is_before(end) for each in pieces) else None)


class _Piece(NamedTuple):
    """A conversation among all that are exported: how many turns come before its own, and before its end."""

    conversation: str
    begins: int
    ends: int

    def is_before(self, offset: int) -> bool:
        """Whether nothing of it is left for a page that begins there."""
        return self.ends <= offset and self.begins < offset


def _pieces(lengths: Iterable[tuple[str, int]]) -> Iterator[_Piece]:
    begins = 0
    for conversation, turns in lengths:
        yield _Piece(conversation, begins, begins + turns)
        begins += turns


def _lengths(records: Transaction, scope: Scope, conversation: str | None) -> list[tuple[str, int]]:
    if conversation is None:
        return records.conversations.lengths(scope)
    whole = [records.conversations.live(scope, conversation), *records.conversations.subagents(conversation)]
    return [(each.id, each.turns) for each in whole if scope in (ALL_PROJECTS, each.project)]


def _turns(records: Transaction, piece: _Piece, offset: int, end: int) -> list[TurnText]:
    first = max(offset, piece.begins)
    return records.conversations.turns(piece.conversation, offset=first - piece.begins, limit=end - first)
