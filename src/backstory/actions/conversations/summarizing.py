"""Short texts in place of turns that are too many to be read as they were said. No turn is ever lost by it.

A summary is made without holding anybody up: if somebody else was faster, it is thrown away.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from backstory.actions.conversations.known import known
from backstory.engine import Engine, Work
from backstory.errors import NotFound, StoreError
from backstory.model.live import ConversationCriteria, ConversationNews, LiveConversation, TurnWindow
from backstory.model.project import Scope
from backstory.model.summary import SaidTurn, Summary

#: Conversations tried in one step until a summary succeeds: one that fails must not hold up the others.
_TRIED: Final = 10


def summarize_due(engine: Engine, work: Work) -> bool:
    """Sum up the oldest turns of one conversation that has too many at hand; False if none has.

    Raises `StoreError` if no summary could be made of any that was tried.
    """
    most = engine.tiers.active_turns
    due = engine.live.storage.find(ConversationCriteria(unsummarized_over=most, limit=_TRIED)).conversations
    failures = []
    for conversation in due:
        work.step(0, None, "summing up conversations")
        try:
            # The newest turn stays as it was said, even if a summary takes more turns than are at hand.
            waiting = conversation.turns - conversation.summarized_to
            _summarize(engine, conversation, min(engine.tiers.summary_turns, waiting - 1))
        except NotFound:  # it was deleted meanwhile
            continue
        except StoreError as error:
            failures.append(error)
        else:
            return True
    if failures:
        raise failures[0]
    return False


def summarize_now(engine: Engine, scope: Scope, id: str, work: Work | None = None) -> list[Summary]:
    """Sum up what has no summary yet, in groups as large as the settings say; the summaries made.

    What is left over is fewer turns than a group. If there are no more than that in all, they are summed up.
    """
    made: list[Summary] = []
    while groups := _groups(engine, conversation := known(engine, scope, id), made):
        if work:
            work.step(len(made), len(made) + groups[0], "summing up")
        if summary := _summarize(engine, conversation, groups[1]):
            made.append(summary)
    return made


def _groups(
    engine: Engine, conversation: LiveConversation, made: Sequence[Summary]
) -> tuple[int, int] | None:
    """How many groups are left to be summed up, and how many turns the next has."""
    size = engine.tiers.summary_turns
    waiting = conversation.turns - conversation.summarized_to
    if waiting >= size:
        return waiting // size, size
    return (1, waiting) if waiting and not made else None


def _summarize(engine: Engine, conversation: LiveConversation, turns: int) -> Summary | None:
    """Sum up the oldest turns that have no summary; None if somebody was faster."""
    first = conversation.summarized_to + 1
    last = first + turns - 1
    said = [
        SaidTurn(turn.number, turn.query, turn.response, turn.user_name, turn.at)
        for turn in engine.live.storage.turns(conversation.id, TurnWindow(first, last, newest=turns))
    ]
    made = engine.summarizer.summarize(said, max_tokens=engine.tiers.summary_tokens)
    summary = replace(made, first_turn=first, last_turn=last, at=datetime.now(UTC))
    with engine.live.writing() as storage:
        if not storage.summarize(conversation.id, summary):
            return None
    engine.changes.tell(ConversationNews(conversation.id, conversation.room))
    return summary
