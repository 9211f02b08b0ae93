"""Forgetting what was said longer ago than somebody wants to keep it."""

from datetime import UTC, datetime, timedelta
from typing import Final

from backstory.actions.transcripts.ingest import alone
from backstory.engine import Engine, Work
from backstory.model.live import ConversationNews

#: Conversations forgotten in one transaction, so that no other writer waits long.
_AT_ONCE: Final = 20


def forget_old(engine: Engine, days: int, work: Work) -> int:
    """Forget conversations that ended more than so many days ago; how many they were.

    Their files stay known, so that they are not read in again until they change. What was projected of
    them goes with the next upkeep.
    """
    with alone(engine, work):
        with engine.records.reading() as records:
            old = records.conversations.older_than(datetime.now(UTC) - timedelta(days=days))
        for start in range(0, len(old), _AT_ONCE):
            work.step(start, len(old), "forgetting old conversations")
            forgotten = old[start : start + _AT_ONCE]
            with engine.records.writing() as records:
                records.conversations.forget(forgotten)
            for id in forgotten:
                engine.changes.tell(ConversationNews(id, is_listed_anew=True))
    return len(old)
