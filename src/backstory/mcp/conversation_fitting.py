"""Making answers about live conversations fit: a history into its budget, the others into an answer.

What was left out is always said.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from backstory.mcp.budget import MOST_TOKENS, USUAL_TOKENS, beginning, fair_share, size, tokens, written
from backstory.mcp.conversation_answers import ContextTold, ConversationSummarized, HistoryTold, SummaryTold
from backstory.mcp.conversation_formats import Format, formatted
from backstory.mcp.wording import number
from backstory.model.context import Context
from backstory.model.live import LiveTurn, TieredHistory
from backstory.model.summary import Summary

#: Kept for what is said around a list: the notes.
_AROUND: Final = 500
#: The least that is shown of a turn, however little room there is.
_LEAST_EXCERPT: Final = 20
#: Where a text was cut.
_CUT: Final = " […]"


def fit_history(history: TieredHistory, form: Format, most: int) -> HistoryTold:
    """The history in at most so many tokens, all that the format adds counted.

    The archive gives way first, then the summaries, the oldest first in each. The newest turn stays, cut
    if it is too long by itself. So does what stands around the turns, even if it is longer than all this.
    """
    text = formatted(history, form)
    while _takes(text) > most and (smaller := _without_one(history)):
        history, text = smaller, formatted(smaller, form)
    room = most
    while _takes(text) > most and history.active and room > _LEAST_EXCERPT:
        room = room * 3 // 4
        history = replace(history, active=[_cut(history.active[0], room)])
        text = formatted(history, form)
    return HistoryTold.of(history, form, text, tokens(text))


def fit_context(context: Context, conversation: str, most: int = MOST_TOKENS) -> ContextTold:
    """The context, without those of its parts that are worth least if it is too long for an answer.

    That happens to texts alone of which every character is written as several.
    """
    items = list(context.items)
    answer = ContextTold.of(context, conversation)
    while items and size(answer) > most - _AROUND:
        items.remove(min(items, key=lambda item: item.weight))
        note = f"left out for its length: {number(len(context.items) - len(items), 'part')}"
        answer = ContextTold.of(replace(context, items=items), conversation)
        answer = answer.model_copy(update={"notes": [note]})
    return answer


def fit_summaries(
    conversation: str, made: Sequence[Summary], most: int = USUAL_TOKENS
) -> ConversationSummarized:
    """What was summed up, with as many of the newest summaries as fit into an answer."""
    told, room = [SummaryTold.of(summary) for summary in made], most - _AROUND
    while len(told) > 1 and sum(map(size, told)) > room:
        del told[0]
    left = len(made) - len(told)
    note = f"the {left} oldest summaries are left out for their length; get_conversation_history shows some"
    return ConversationSummarized(
        conversation_id=conversation, made=len(made), summaries=told, notes=[note] if left else None
    )


def _without_one(history: TieredHistory) -> TieredHistory | None:
    """The history without what is missed least; the newest turn is always missed."""
    shown = {"archive": history.archive, "summary": history.summaries, "active": history.active[:-1]}
    tier = next((tier for tier, entries in shown.items() if entries), None)
    if tier is None:
        return None
    return replace(
        history,
        archive=history.archive[tier == "archive" :],
        summaries=history.summaries[tier == "summary" :],
        active=history.active[tier == "active" :],
        left_out={**history.left_out, tier: history.left_out.get(tier, 0) + 1},
    )


def _cut(turn: LiveTurn, most: int) -> LiveTurn:
    """The turn with the beginnings of what was said, in about so many tokens, and nothing else about it."""
    share = fair_share([_takes(turn.query), _takes(turn.response)], most)
    query, response = (
        each if _takes(each) <= share else beginning(each.removesuffix(_CUT), share) + _CUT
        for each in (turn.query, turn.response)
    )
    return replace(turn, query=query, response=response, metadata={})


def _takes(text: str) -> int:
    """The tokens of a text in an answer, where some characters are written as several."""
    return tokens(written(text))
