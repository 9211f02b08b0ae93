"""Reading a live conversation by tiers: what was said last, summaries of what was before, the archive."""

from backstory.actions.conversations.known import known
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.live import LiveConversation, LiveTurn, TieredHistory, TurnWindow
from backstory.model.project import Scope
from backstory.ranking.tiers import tiers_of


def history(engine: Engine, scope: Scope, id: str, *, max_tokens: int | None = None) -> TieredHistory:
    """As much of a conversation as fits into the tokens, or into those of the settings."""
    if max_tokens is not None and max_tokens < 1:
        raise InputError(f"{max_tokens} tokens hold nothing", hint="give max_tokens, for example 2000")
    limits = engine.tiers
    conversation = known(engine, scope, id, summaries=limits.summaries)
    turns = _turns_that_no_summary_shows(engine, conversation)
    return tiers_of(conversation, turns, limits, max_tokens or limits.max_tokens)


def _turns_that_no_summary_shows(engine: Engine, conversation: LiveConversation) -> list[LiveTurn]:
    """The newest turns after the summaries, and the newest before them: as many as the tiers may show."""
    limits = engine.tiers
    storage = engine.live.storage
    after = TurnWindow(
        first=conversation.summarized_to + 1, newest=limits.active_turns + limits.archived_turns
    )
    shown = conversation.summaries
    last = shown[0].first_turn - 1 if shown else conversation.summarized_to
    before = TurnWindow(last=last, newest=limits.archived_turns)
    archived = storage.turns(conversation.id, before) if last else []
    return [*archived, *storage.turns(conversation.id, after)]
