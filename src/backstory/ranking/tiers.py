"""How a live conversation is told by tiers: what was said last, summaries of what was before, the archive.

Pure. Who writes the summaries, and how the tiers are printed, is left to others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from backstory.model.live import LiveConversation, LiveTurn, TieredHistory, TierLimits
from backstory.model.summary import Summary
from backstory.ranking.budget import LEAST, cost, shortened

_Said = TypeVar("_Said", LiveTurn, Summary)


@dataclass(frozen=True, slots=True)
class _Filled(Generic[_Said]):
    shown: Sequence[_Said]  # oldest first
    tokens: int


def tiers_of(
    conversation: LiveConversation, turns: Sequence[LiveTurn], limits: TierLimits, max_tokens: int
) -> TieredHistory:
    """As much of each tier as fits: what was said last first, then summaries, then the archive.

    The conversation has the summaries that may be shown; the turns are those that they do not hold, or the
    newest of them. Summaries have a third of the tokens, if they need it. The older an archived turn is, the
    smaller the part of what is left that it may take.
    """
    summaries = conversation.summaries[-limits.summaries :] if limits.summaries else ()
    said = [turn for turn in turns if not _is_in(summaries, turn.number)]
    active = [turn for turn in said if turn.number > conversation.summarized_to][-limits.active_turns :]
    archive = said[: len(said) - len(active)][-limits.archived_turns :] if limits.archived_turns else []
    kept_back = min(sum(map(cost, summaries)), max_tokens // 3)
    first = _newest(_with_last_fitted(active, max_tokens - kept_back), max_tokens - kept_back)
    second = _newest(summaries, max_tokens - first.tokens)
    third = _archived(archive, max_tokens - first.tokens - second.tokens, limits.decay)
    in_summaries = sum(each.last_turn - each.first_turn + 1 for each in summaries)
    archived = conversation.turns - in_summaries - len(active)
    return TieredHistory(
        conversation=conversation,
        archive=third.shown,
        summaries=second.shown,
        active=first.shown,
        tokens=first.tokens + second.tokens + third.tokens,
        left_out={
            "active": len(active) - len(first.shown),
            "summary": len(summaries) - len(second.shown),
            "archive": archived - len(third.shown),
        },
    )


def _is_in(summaries: Sequence[Summary], number: int) -> bool:
    return any(each.first_turn <= number <= each.last_turn for each in summaries)


def _newest(said: Sequence[_Said], rest: int) -> _Filled[_Said]:
    """As many as fit, the newest first."""
    shown: list[_Said] = []
    left = rest
    for each in reversed(said):
        if cost(each) <= left:
            shown.insert(0, each)
            left -= cost(each)
    return _Filled(shown, rest - left)


def _with_last_fitted(turns: Sequence[LiveTurn], rest: int) -> Sequence[LiveTurn]:
    """The turns, the last of them cut to half of the tokens, or to what the others leave, if it has more."""
    if not turns:
        return turns
    *others, last = turns
    most = max(rest // 2, rest - sum(map(cost, others)))
    return [*others, shortened(last, most)] if cost(last) > most >= LEAST else turns


def _archived(turns: Sequence[LiveTurn], rest: int, decay: float) -> _Filled[LiveTurn]:
    """Those that fit into their part of what is left, the newest first."""
    shown: list[LiveTurn] = []
    left = rest
    for age, turn in enumerate(reversed(turns)):
        if cost(turn) <= left * decay**age:
            shown.insert(0, turn)
            left -= cost(turn)
    return _Filled(shown, rest - left)
