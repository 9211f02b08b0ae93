"""The turns of a live conversation that need no search: the newest, and those that they answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from typing import Final

from backstory.engine import Engine
from backstory.model.live import MOST_TURNS, LiveConversation, LiveTurn, TurnWindow
from backstory.model.search import Where
from backstory.ranking.strategy import Strategy
from backstory.ranking.turns import LIVE_LABELS, lets_through

#: So many of the newest turns are recent whenever they were said: after a break of days, what the talk was
#: about is still where it goes on.
_ALWAYS_RECENT: Final = 5


@dataclass(frozen=True, slots=True)
class AtHand:
    """The newest turns, oldest first, and what the last one answers, nearest first; with what it took."""

    recent: Sequence[LiveTurn] = ()
    thread: Sequence[LiveTurn] = ()
    recent_ms: float = 0.0
    thread_ms: float = 0.0


def turns_at_hand(
    engine: Engine,
    conversation: LiveConversation,
    where: Where,
    strategy: Strategy,
    named: LiveTurn | None = None,
) -> AtHand:
    """The turns that a strategy wants, of those that meet the conditions.

    They are looked for among the newest thousand; if none is there, the one that was named is taken.
    """
    began = perf_counter()
    is_filtered = any(each.label in LIVE_LABELS for each in where.labels)
    window = TurnWindow(newest=MOST_TURNS if is_filtered else max(strategy.recent, 1))
    newest = engine.live.storage.turns(conversation.id, window)
    allowed = _allowed(newest, where, conversation)
    if not allowed and named:
        allowed = _allowed([named], where, conversation)
    recent = _recent(allowed[-strategy.recent :] if strategy.recent else [], strategy.span)
    read = perf_counter()
    thread = _thread(engine, newest, allowed[-1], strategy.recent) if strategy.uses_thread and allowed else []
    thread = _allowed(thread, where, conversation)
    return AtHand(recent, thread, 1e3 * (read - began), 1e3 * (perf_counter() - read))


def _allowed(turns: Sequence[LiveTurn], where: Where, conversation: LiveConversation) -> list[LiveTurn]:
    return [turn for turn in turns if lets_through(where, turn, conversation.room)]


def _recent(turns: Sequence[LiveTurn], span: timedelta | None) -> Sequence[LiveTurn]:
    """Those that were said not too long before the newest."""
    if span is None or not turns:
        return turns
    newest = turns[-1].at
    return [
        turn
        for age, turn in enumerate(turns, -len(turns))
        if age >= -_ALWAYS_RECENT or newest - turn.at <= span
    ]


def _thread(engine: Engine, read: Sequence[LiveTurn], last: LiveTurn, most: int) -> list[LiveTurn]:
    """The turn that one answers, the one that this answers, and so on."""
    known = {turn.id: turn for turn in read}
    thread: list[LiveTurn] = []
    parent = last.parent
    while parent and len(thread) < most:
        if parent not in known:
            (known[parent],) = engine.live.storage.turns(last.conversation, TurnWindow(ids=[parent]))
        thread.append(known[parent])
        parent = thread[-1].parent
    return thread
