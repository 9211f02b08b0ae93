"""Giving conversations away whole, a page of turns at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from backstory.engine import Engine, Transaction
from backstory.errors import InputError
from backstory.model.conversation import Conversation, TurnText
from backstory.model.project import Scope, is_inside

DEFAULT_TURNS: Final = 100
MAX_TURNS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ExportedPart:
    """Turns of one conversation, each whole; a long one goes on in the next page."""

    conversation: Conversation
    turns: Sequence[TurnText]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an export goes on: at a turn of a conversation, or with what follows where that is not there.

    It names no number of all turns, since conversations grow while they are exported.
    """

    conversation: str
    turn: int = 1


@dataclass(frozen=True, slots=True)
class Exported:
    """A page of turns. `following` is where the next page begins, if one follows."""

    parts: Sequence[ExportedPart]
    following: Place | None = None


def export(
    engine: Engine,
    scope: Scope,
    *,
    conversation: str | None = None,
    place: Place | None = None,
    limit: int = DEFAULT_TURNS,
) -> Exported:
    """One conversation with those of its subagents, or all of them; nothing of any turn is left out.

    They come in the order of their ids, the one that was asked for before its subagents. What is added
    behind a place is given by the pages from there on; what is added before it is not.
    """
    if not 1 <= limit <= MAX_TURNS or (place and place.turn < 1):
        raise InputError(
            f"limit {limit} and place {place} give no page",
            hint=f"use 1 to {MAX_TURNS} turns, counted from 1 in each conversation",
        )
    with engine.records.reading() as records:
        lengths = _lengths(records, scope, conversation, place)
        stretches, following = _stretches(lengths, place, limit)
        conversations = records.conversations.find(scope, [each.conversation for each in stretches])
        parts = [ExportedPart(conversations[each.conversation], _turns(records, each)) for each in stretches]
    return Exported(parts, following)


class _Stretch(NamedTuple):
    """Some turns of a conversation, one after the other; none where nothing was said in it."""

    conversation: str
    first: int
    turns: int

    @property
    def end(self) -> Place:
        return Place(self.conversation, self.first + self.turns)


def _stretches(
    lengths: Iterable[tuple[str, int]], place: Place | None, limit: int
) -> tuple[list[_Stretch], Place | None]:
    """What is on a page, and where the next one begins, if something is left for it."""
    stretches: list[_Stretch] = []
    left = limit
    for conversation, turns in lengths:
        first = place.turn if place and place.conversation == conversation else 1
        if first > max(turns, 1):
            continue
        if not left:
            return stretches, stretches[-1].end
        count = min(turns - first + 1, left)
        stretches.append(_Stretch(conversation, first, count))
        left -= count
        if first + count <= turns:
            return stretches, stretches[-1].end
    return stretches, None


def _lengths(
    records: Transaction, scope: Scope, conversation: str | None, place: Place | None
) -> list[tuple[str, int]]:
    """The conversations from a place on, in order, and how many turns each has."""
    first = place.conversation if place else ""
    if conversation is None:
        return records.conversations.lengths(scope, first=first)
    asked = records.conversations.live(scope, conversation)
    subagents = sorted(records.conversations.subagents(conversation), key=attrgetter("id"))
    if first in ("", asked.id):
        left = [asked, *subagents]
    else:
        left = [each for each in subagents if each.id >= first]
    return [(each.id, each.turns) for each in left if is_inside(scope, each.project)]


def _turns(records: Transaction, stretch: _Stretch) -> list[TurnText]:
    return records.conversations.turns(stretch.conversation, offset=stretch.first - 1, limit=stretch.turns)
