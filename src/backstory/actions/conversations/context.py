"""Putting a context together: the newest turns, their thread, what was found, and summaries.

How much of each is wanted is the strategy's affair; which of it fits, that of the ranking room.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Final

from backstory.actions.conversations.at_hand import AtHand, turns_at_hand
from backstory.actions.conversations.known import known
from backstory.actions.conversations.relevant import RelevantTurns, relevant_turns
from backstory.engine import Engine
from backstory.errors import InputError, NotFound, StoreError
from backstory.model.context import (
    Context,
    ContextQuery,
    ContextStatistics,
    ContextTurn,
    Source,
    SourceStatistics,
)
from backstory.model.live import LiveConversation, LiveTurn, TurnWindow
from backstory.model.project import Scope
from backstory.model.search import TurnQuery
from backstory.model.summary import Summary
from backstory.ranking.context import Assembled, Offered, assemble, found, recent, summarized, thread
from backstory.ranking.strategy import STRATEGIES, Classified, Strategy, classify
from backstory.ranking.turns import conditions

#: The strategy whose numbers are those of the settings.
FIXED: Final = "fixed"


def get_context(engine: Engine, scope: Scope, id: str, asked: ContextQuery) -> Context:
    """What a model should read of a conversation before it answers the text, oldest first.

    Raises `InputError` for a strategy, a threshold or a thread that there is not.
    """
    began = perf_counter()
    _check(asked)
    conversation = known(engine, scope, id, summaries=engine.tiers.summaries)
    wanted = _wanted(engine, conversation, asked)
    with ThreadPoolExecutor(max_workers=1) as beside:
        searching = beside.submit(_search, engine, scope, wanted)
        where = conditions(scope, wanted.query)
        at_hand = turns_at_hand(engine, conversation, where, wanted.strategy, wanted.named)
        searched = searching.result()
    given = _Given(at_hand, searched, wanted.summaries)
    offered = _offered(engine, given)
    assembled = assemble(id, offered, wanted.max_tokens)
    statistics = _statistics(wanted, given, Counter(each.source for each in offered), assembled)
    return Context(
        items=assembled.items,
        strategy=wanted.strategy.name,
        because=wanted.because,
        statistics=replace(statistics, took_ms=1e3 * (perf_counter() - began)),
        degraded=searched.relevant.degraded,
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a call comes to, with all that it left to the settings and to the classifier."""

    query: TurnQuery
    strategy: Strategy
    because: Sequence[str]
    threshold: float
    max_tokens: int
    named: LiveTurn | None  # the turn by which a thread was named
    summaries: Sequence[Summary]


@dataclass(frozen=True, slots=True)
class _Searched:
    relevant: RelevantTurns
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class _Given:
    """What the sources gave."""

    at_hand: AtHand
    searched: _Searched
    summaries: Sequence[Summary]


def _check(asked: ContextQuery) -> None:
    if not asked.text.strip():
        raise InputError("the query is empty", hint="say what the context is for: what was asked")
    if asked.min_score is not None and not 0 <= asked.min_score <= 1:
        raise InputError(f"the score {asked.min_score} is not between 0 and 1", hint="use 0.7")
    if asked.max_tokens is not None and asked.max_tokens < 1:
        raise InputError(f"{asked.max_tokens} tokens hold nothing", hint="use 2000")


def _wanted(engine: Engine, conversation: LiveConversation, asked: ContextQuery) -> _Wanted:
    chosen = _classified(engine, asked)
    strategy = replace(chosen.strategy, uses_thread=chosen.strategy.uses_thread or asked.thread is not None)
    now = asked.asked_at or datetime.now(UTC)
    named = _turn_named(engine, conversation, asked.thread)
    query = TurnQuery(
        asked.text,
        conversation=None if asked.everywhere else conversation.id,
        room=asked.room,
        user=asked.user_id,
        thread=named.thread if named else None,
        metadata=asked.metadata,
        since=now - strategy.span if strategy.span else None,
        asked_at=now,
    )
    # A summary holds what everybody said.
    is_for_all = not (asked.user_id is not None or named or asked.metadata) and asked.room in (
        None,
        conversation.room,
    )
    return _Wanted(
        query,
        strategy,
        chosen.because,
        engine.context.threshold if asked.min_score is None else asked.min_score,
        asked.max_tokens or engine.tiers.max_tokens,
        named,
        conversation.summaries if is_for_all else (),
    )


def _classified(engine: Engine, asked: ContextQuery) -> Classified:
    if asked.strategy is None:
        return classify(asked.text)
    if asked.strategy in STRATEGIES:
        return Classified(STRATEGIES[asked.strategy], ["it was asked for"])
    if asked.strategy == FIXED:
        limits = engine.context
        strategy = Strategy(FIXED, limits.recent, limits.semantic, uses_thread=True, span=limits.window)
        return Classified(strategy, ["it was asked for"])
    raise InputError(
        f"there is no strategy {asked.strategy!r}", hint=f"use one of: {', '.join((*STRATEGIES, FIXED))}"
    )


def _turn_named(engine: Engine, conversation: LiveConversation, id: str | None) -> LiveTurn | None:
    if id is None:
        return None
    turns = engine.live.storage.turns(conversation.id, TurnWindow(ids=[id]))
    if not turns:
        raise NotFound(
            f"there is no turn {id} in this conversation", hint="give the id of any turn of the thread"
        )
    return turns[0]


def _search(engine: Engine, scope: Scope, wanted: _Wanted) -> _Searched:
    """What search finds; when it cannot be asked, that is said, and the rest of the context stands."""
    if not wanted.strategy.semantic:
        return _Searched(RelevantTurns())
    began = perf_counter()
    try:
        relevant = relevant_turns(
            engine, scope, wanted.query, most=wanted.strategy.semantic, threshold=wanted.threshold
        )
    except StoreError as error:
        relevant = RelevantTurns(degraded=[f"without what a search would find: {error}"])
    return _Searched(relevant, 1e3 * (perf_counter() - began))


def _offered(engine: Engine, given: _Given) -> list[Offered]:
    decay = engine.tiers.decay
    return [
        *recent([ContextTurn.of(turn) for turn in given.at_hand.recent], decay),
        *thread([ContextTurn.of(turn) for turn in given.at_hand.thread], decay),
        *found(given.searched.relevant.turns),
        *summarized(given.summaries, decay, engine.tiers.active_turns),
    ]


def _statistics(
    wanted: _Wanted, given: _Given, offered: Counter[Source], assembled: Assembled
) -> ContextStatistics:
    strategy, relevant = wanted.strategy, given.searched.relevant
    was_asked = {
        Source.RECENT: strategy.recent > 0,
        Source.THREAD: strategy.uses_thread,
        Source.SEMANTIC: strategy.semantic > 0,
        Source.SUMMARY: True,
    }
    below = {Source.SEMANTIC: relevant.below}
    took_ms = {
        Source.RECENT: given.at_hand.recent_ms,
        Source.THREAD: given.at_hand.thread_ms,
        Source.SEMANTIC: given.searched.took_ms,
    }
    used = Counter(source for item in assembled.items for source in item.sources)
    return ContextStatistics(
        sources={
            source.value: SourceStatistics(
                found=offered[source] + below.get(source, 0),
                used=used[source],
                duplicates=assembled.duplicates.get(source, 0),
                below_threshold=below.get(source, 0),
                left_out=assembled.left_out.get(source, 0),
                took_ms=took_ms.get(source, 0.0),
            )
            for source in Source
            if was_asked[source]
        },
        tokens=sum(item.tokens for item in assembled.items),
        max_tokens=wanted.max_tokens,
        threshold=wanted.threshold,
        span=strategy.span,
        is_widened=relevant.is_widened,
    )
