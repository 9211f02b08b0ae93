"""Recalling what was said: the turns that answer, and what surrounds them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from backstory.actions.transcripts.finding import Place
from backstory.actions.transcripts.search import search_turns
from backstory.actions.transcripts.surroundings import Surroundings, surroundings_of
from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.conversation import Conversation, Touch, TurnText
from backstory.model.project import Project, Scope
from backstory.model.search import TurnHit, TurnQuery

#: Other conversations named with a hit, at most.
RELATED: Final = 5

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class RecalledTurn:
    """A turn that answers, with what surrounds it.

    `around` are the turns before and after it, and those that followed it in a fork. `related` are other
    conversations that touched the same files, the last one first.
    """

    hit: TurnHit
    around: Sequence[TurnText] = ()
    files: Sequence[Touch] = ()
    related: Sequence[Conversation] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """Turns, best first, as in `FoundTurns`."""

    hits: Sequence[RecalledTurn]
    degraded: Sequence[str] = ()
    more: bool = False


def recall(engine: Engine, scope: Scope, query: TurnQuery, *, include_graph: bool = True) -> Recalled:
    """The turns that answer best, with those around them and, from the graph, what belongs to them."""
    found = search_turns(engine, scope, query)
    degraded = list(found.degraded)
    known: Mapping[Place, Surroundings] = {}
    if include_graph:
        try:
            known = _by_graph(engine, found.hits)
        except StoreError as error:
            degraded.append(f"without files and related conversations: {error}")
    return Recalled(_recalled(engine, scope, found.hits, known), degraded, found.more)


def _by_graph(engine: Engine, hits: Sequence[TurnHit]) -> Mapping[Place, Surroundings]:
    by_project: dict[Project, list[Place]] = defaultdict(list)
    for hit in hits:
        by_project[hit.conversation.project].append(_place(hit))
    known: dict[Place, Surroundings] = {}
    for project, places in by_project.items():
        with engine.records.reading() as records:
            turns = records.conversations.turn_texts(places)
        known |= surroundings_of(engine, project, list(turns.values()))
    return known


def _recalled(
    engine: Engine, scope: Scope, hits: Sequence[TurnHit], known: Mapping[Place, Surroundings]
) -> list[RecalledTurn]:
    own = {_place(hit): known.get(_place(hit), Surroundings()) for hit in hits}
    wanted = {place for hit in hits for place in _around(hit, own[_place(hit)])}
    others = {id for each in own.values() for id in each.conversations[:RELATED]}
    with engine.records.reading() as records:
        texts = records.conversations.turn_texts(sorted(wanted))
        conversations = records.conversations.find(scope, others)
    return [
        RecalledTurn(
            hit,
            around=_those(texts, _around(hit, own[_place(hit)])),
            files=own[_place(hit)].files,
            related=_those(conversations, own[_place(hit)].conversations[:RELATED]),
        )
        for hit in hits
    ]


def _place(hit: TurnHit) -> Place:
    return hit.conversation.id, hit.turn


def _around(hit: TurnHit, known: Surroundings) -> list[Place]:
    conversation, turn = _place(hit)
    return [(conversation, turn - 1), (conversation, turn + 1), *known.followed_by]


def _those(known: Mapping[_Key, _Value], keys: Iterable[_Key]) -> list[_Value]:
    return [known[key] for key in keys if key in known]
