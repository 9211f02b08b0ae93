"""The turns that answer a question well enough for a context, by meaning, by words and by files."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from backstory.actions.transcripts.finding import RankedTurn, RankedTurns, ranked_turns
from backstory.engine import Engine
from backstory.errors import NotFound
from backstory.model.context import ContextTurn
from backstory.model.conversation import Role, TurnText
from backstory.model.live import TurnWindow
from backstory.model.project import Scope
from backstory.model.search import TurnQuery
from backstory.ranking.relevance import JUDGED, Evidence, relevances
from backstory.ranking.words import terms

#: Candidates asked of each retriever: a context shows 15 turns at most. One of a conversation of 10,000 turns
#: took 20.6 ms with 100 candidates and 17.7 with 60. With 40 a right turn is shown for .767 and .803 of
#: LoCoMo's questions (odd and even chats) and .900 of LongMemEval's; with 100 for .756, .778 and .887. In a
#: chat that has no answer 1.0 and 2.6 turns are shown, with 100 .8 and 2.3.
_CANDIDATES: Final = 40

_MEANINGS: Final = ("meaning", "window meaning")


@dataclass(frozen=True, slots=True)
class RelevantTurns:
    """Turns with their relevance, best ranked first; how many before the last of them were not good enough.

    `is_widened`: none was between the times asked for, and so all times were asked.
    """

    turns: Sequence[tuple[ContextTurn, float]] = ()
    below: int = 0
    is_widened: bool = False
    degraded: Sequence[str] = ()


def relevant_turns(
    engine: Engine, scope: Scope, query: TurnQuery, *, most: int, threshold: float
) -> RelevantTurns:
    """The best turns that reach the threshold, none from outside the scope."""
    try:
        with engine.records.one_snapshot():
            found = _found(engine, scope, query, most, threshold)
            turns = _texts(engine, scope, [turn for turn, _ in found.places])
    except NotFound:  # the storage has the conversation: search will have it in a moment
        return RelevantTurns(degraded=["nothing was found: search does not know this conversation yet"])
    return RelevantTurns(
        [(turns[_place(turn)], relevance) for turn, relevance in found.places if _place(turn) in turns],
        found.below,
        found.is_widened,
        found.degraded,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    places: Sequence[tuple[RankedTurn, float]]
    below: int
    degraded: Sequence[str]
    is_widened: bool = False


def _found(engine: Engine, scope: Scope, query: TurnQuery, most: int, threshold: float) -> _Found:
    """What is good enough in the span that was asked for; if nothing is, what is good enough at any time.

    Inside one conversation it is looked for once, and the span is cut out of what was found: three in ten
    contexts are widened, and 150 of 150 held the same turns either way. Elsewhere 28 of 150 did not.
    """
    judging = _Judging(engine, terms(query.text), most, threshold)
    always = replace(query, since=None)
    if query.since is None or query.conversation is None:
        ranked = ranked_turns(engine, scope, query, candidates=_CANDIDATES)
        found = judging.good_enough(ranked)
        if found.places or query.since is None:
            return found
        ranked = ranked_turns(engine, scope, always, candidates=_CANDIDATES)
    else:
        ranked = ranked_turns(engine, scope, always, candidates=_CANDIDATES)
        since = query.since.timestamp()
        found = judging.good_enough(
            replace(ranked, turns=[turn for turn in ranked.turns if turn.at >= since])
        )
        if found.places:
            return found
    return replace(judging.good_enough(ranked), is_widened=True)


class _Judging:
    """Chooses what is good enough for a question. What it has read of a turn it does not read again."""

    def __init__(self, engine: Engine, words: str, most: int, threshold: float) -> None:
        self._engine = engine
        self._words = words
        self._most = most
        self._threshold = threshold
        self._around: dict[str, Sequence[str]] = {}

    def good_enough(self, ranked: RankedTurns) -> _Found:
        """The best of the turns that reach the threshold, and how many before the last of them do not."""
        judged = ranked.turns[:JUDGED]
        good: list[tuple[RankedTurn, float]] = []
        below = 0
        for turn, relevance in zip(judged, relevances(self._words, self._evidence(ranked)), strict=True):
            if len(good) == self._most:
                break
            if relevance >= self._threshold:
                good.append((turn, relevance))
            else:
                below += 1
        return _Found(good, below, ranked.degraded)

    def _evidence(self, ranked: RankedTurns) -> list[Evidence]:
        ids = [turn.best.id for turn in ranked.turns[:JUDGED]]
        with self._engine.records.reading() as records:
            self._around |= records.conversations.terms_around(id for id in ids if id not in self._around)
        meanings = _meanings(ids, ranked)
        return [
            Evidence(meanings[id], own, " ".join((own, *before)))
            for id in ids
            for own, *before in [self._around.get(id, ("",))]
        ]


def _meanings(ids: Sequence[str], ranked: RankedTurns) -> Mapping[str, float | None]:
    """How near each is, on average of the lists; none for what is not in the index yet.

    What a list lacks is farther away than all that it has.
    """
    lists = [ranked.lists[name] for name in _MEANINGS if ranked.lists.get(name)]
    known = [({each.id: each.score for each in scored}, scored[-1].score) for scored in lists]
    waiting = {each.id for each in ranked.lists.get("new words", ())}
    return {
        id: None
        if id in waiting or not known
        else sum(scores.get(id, least) for scores, least in known) / len(known)
        for id in ids
    }


def _place(turn: RankedTurn) -> tuple[str, int]:
    return turn.conversation, turn.turn


def _texts(
    engine: Engine, scope: Scope, turns: Sequence[RankedTurn]
) -> Mapping[tuple[str, int], ContextTurn]:
    """What was said in each turn: of a live conversation as the storage has it, else as the records do."""
    places = [_place(turn) for turn in turns]
    with engine.records.reading() as records:
        conversations = records.conversations.find(scope, {id for id, _ in places})
        kept = records.conversations.turn_texts(place for place in places if place[0] in conversations)
    live: dict[str, list[str]] = defaultdict(list)
    for (id, _), text in kept.items():
        if conversations[id].is_live:
            live[id].append(text.turn.last_uuid)
    texts = {place: _of_records(text) for place, text in kept.items()}
    for id, turn_ids in live.items():
        with suppress(NotFound):  # deleted meanwhile
            for turn in engine.live.storage.turns(id, TurnWindow(ids=turn_ids)):
                texts[id, turn.number] = ContextTurn.of(turn)
    return texts


def _of_records(text: TurnText) -> ContextTurn:
    said = text.texts
    response = said.get(Role.ASSISTANT) or said.get(Role.TOOL, "")
    return ContextTurn(
        text.conversation, text.turn.number, said.get(Role.USER, ""), response, text.turn.started_at
    )
