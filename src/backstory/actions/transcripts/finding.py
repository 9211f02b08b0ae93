"""Finding turns: candidates of every retriever, ranked; the messages of one turn count as one.

What a search gives back of them, and how several are merged, is left to `search` and `topics`; whether they
are good enough for a context, to those who put it together.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backstory.actions.projection.asking import Candidates, Legs, ask, candidates, check, let_through
from backstory.actions.projection.layouts import ASKED, SESSION, TEXT, WINDOW
from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.keeping import MessageCues
from backstory.model.passage import Index
from backstory.model.project import Scope
from backstory.model.search import Scored, TurnHit, TurnQuery, Where
from backstory.ranking.fusion import Fused
from backstory.ranking.snippets import snippet
from backstory.ranking.turns import CANDIDATES, SESSIONS, conditions, rank, session_conditions
from backstory.ranking.words import terms

_TURNS: Final = Legs(
    Index.TURNS,
    words={"words": TEXT, "window words": WINDOW, "answers": ASKED},
    meanings={"meaning": TEXT, "window meaning": WINDOW},
    limit=CANDIDATES,
)
_SESSIONS: Final = Legs(Index.SESSIONS, words={"session words": SESSION}, meanings={}, limit=SESSIONS)

#: What may name a file, and what makes it one: a part of a path, or an ending that begins with a letter.
_NAME: Final = re.compile(r"[\w./\\~-]+")
_IS_FILE: Final = re.compile(r"\w[/\\]\w|\.[A-Za-z]\w{0,9}$")

#: Files looked up for one question, and messages that touched each. Nobody names more by hand.
_FILES: Final = 5
_TOUCHING: Final = 50

_BEING_READ: Final = "transcripts are being read in just now; what is not read yet is not found"

#: Where a turn stands: its conversation and its number.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A turn, ranked by the best of its messages."""

    conversation: str
    turn: int
    best: Fused
    at: float  # when that message was said, in seconds since 1970


@dataclass(frozen=True, slots=True)
class RankedTurns:
    """Turns, best first, and in words what could not be asked. `lists` are what the retrievers gave."""

    turns: Sequence[RankedTurn]
    degraded: Sequence[str]
    lists: Mapping[str, Sequence[Scored]]


def ranked_turns(
    engine: Engine, scope: Scope, query: TurnQuery, *, candidates: int = CANDIDATES
) -> RankedTurns:
    """Every turn that any retriever found, best first, none from outside the scope.

    Each retriever is asked for so many candidates.
    """
    check(query)
    if query.conversation is not None:
        with engine.records.reading() as records:
            records.conversations.live(scope, query.conversation)
    found = _candidates(engine, scope, query, replace(_TURNS, limit=candidates))
    degraded = [*found.degraded, *([_BEING_READ] if engine.ingesting.locked() else [])]
    cues = _cues(engine, query, found.lists)
    places = {id: (each.conversation, each.turn) for id, each in cues.items()}
    lists = {**found.lists, "files": _whole_turns(found.lists.get("files", ()), places)}
    best: dict[Place, Fused] = {}
    for fused in rank(query, lists, cues):
        best.setdefault(places[fused.id], fused)
    turns = [RankedTurn(*key, fused, cues[fused.id].at) for key, fused in best.items()]
    return RankedTurns(turns, degraded, lists)


def _cues(
    engine: Engine, query: TurnQuery, lists: Mapping[str, Sequence[Scored]]
) -> Mapping[str, MessageCues]:
    """What is known of the messages of all lists. Those that a fork shares stand in it, if it was asked for.

    None is left out for its low scores: with the best 300 of 460 LongMemEval's any@5 is .912 and not .917.
    """
    ids = {each.id for name, scored in lists.items() if name != "session words" for each in scored}
    with engine.records.reading() as records:
        cues = dict(records.conversations.cues(ids))
        inside = query.conversation
        # A conversation may have 100,000 turns: they are read only if some of what it says is another's.
        is_shared = inside is not None and any(each.conversation != inside for each in cues.values())
        chain = records.conversations.chain(inside) if inside and is_shared else ()
    for link in chain:
        if own := cues.get(link.id):
            cues[link.id] = own._replace(conversation=query.conversation or "", turn=link.turn)
    return cues


def hits_of(engine: Engine, scope: Scope, turns: Sequence[RankedTurn], text: str) -> list[TurnHit]:
    """The turns as a caller sees them: with the conversation, the message, and where it matches the text."""
    words = terms(text)
    with engine.records.reading() as records:
        messages = records.conversations.messages([each.best.id for each in turns])
        conversations = records.conversations.find(scope, {each.conversation for each in turns})
    return [
        TurnHit(
            conversation=conversations[each.conversation],
            turn=each.turn,
            message=messages[each.best.id],
            snippet=snippet(messages[each.best.id].text, words),
            score=each.best.score,
            parts=each.best.parts,
        )
        for each in turns
        if each.best.id in messages and each.conversation in conversations  # may have gone meanwhile
    ]


def _candidates(engine: Engine, scope: Scope, query: TurnQuery, legs: Legs) -> Candidates:
    where = conditions(scope, query)
    found = candidates(engine, legs, query.text, where)
    lists, degraded = dict(found.lists), list(found.degraded)
    if "new words" in lists:  # the text under an id never changes: what the index found by it counts once
        known = {each.id for each in lists["words"]}
        lists["new words"] = [each for each in lists["new words"] if each.id not in known]
    try:
        if query.conversation is None:  # what is said in one conversation is all in that one
            lists |= _sessions(engine, session_conditions(scope, query), query.text)
        lists |= _files(engine, where, query.text)
    except StoreError as error:
        degraded = degraded or [f"found without whole conversations and files: {error}"]
    return Candidates(lists, degraded)


def _sessions(engine: Engine, where: Where, text: str) -> Mapping[str, Sequence[Scored]]:
    """The conversations whose words match, by their own ids."""
    found = ask(engine, _SESSIONS, text, where).lists["session words"]
    with engine.records.reading() as records:
        ids = records.conversations.ids_of_keys([each.id for each in found])
    return {"session words": [Scored(ids[each.id], each.score) for each in found if each.id in ids]}


def _files(engine: Engine, where: Where, text: str) -> Mapping[str, Sequence[Scored]]:
    """The messages that touched a file that the text names, the newest first."""
    words = [word.removeprefix("./").rstrip("./\\-") for word in _NAME.findall(text)]
    names = list(dict.fromkeys(word for word in words if _IS_FILE.search(word)))[:_FILES]
    if not names:
        return {}
    with engine.records.reading() as records:
        touching = dict.fromkeys(
            id for name in names for id in records.conversations.touching(where.scope, name, _TOUCHING)
        )
    if not touching:
        return {}
    allowed = let_through(engine, Index.TURNS, replace(where, ids=list(touching)))
    newest_first = [id for id in touching if id in allowed]
    return {"files": [Scored(id, -float(place)) for place, id in enumerate(newest_first)]}


def _whole_turns(touching: Sequence[Scored], places: Mapping[str, Place]) -> list[Scored]:
    """A file is touched by a turn: what its tools did counts for everything that was said in it."""
    best: dict[Place, float] = {}
    for each in touching:
        if each.id in places:
            best.setdefault(places[each.id], each.score)
    return [Scored(id, best[place]) for id, place in places.items() if place in best]
