"""Asking a live index for candidates, and the records where it cannot answer.

What a question may see comes as conditions; what its candidates are worth is the ranking room's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backstory.actions.projection.vectors import fingerprint
from backstory.engine import Engine
from backstory.errors import InputError, StoreError
from backstory.model.passage import Index
from backstory.model.search import MAX_LIMIT, MemoryQuery, Scored, TurnQuery, Where
from backstory.model.upkeep import Generation
from backstory.ports import Every, Leg, Meaning, Vector, Words
from backstory.ranking.words import terms

_BY_WORDS: Final = "found by words alone"
_SWITCHED_OFF: Final = "search by meaning is switched off (ENABLE_SEMANTIC_SEARCH)"
_OTHER_EMBEDDER: Final = "the embedder was changed, and meanings are being computed anew"


@dataclass(frozen=True, slots=True)
class Legs:
    """What is asked of an index: names of lists, with the field or the space that each comes from.

    `by_document` asks with a text of the kind that is kept, not with a question about such texts.
    """

    index: Index
    words: Mapping[str, str]
    meanings: Mapping[str, str]
    limit: int
    by_document: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """The lists that the retrievers gave, and in words what could not be asked."""

    lists: dict[str, Sequence[Scored]] = field(default_factory=dict)
    degraded: Sequence[str] = ()


def check(query: MemoryQuery | TurnQuery) -> None:
    """Raise `InputError` for a question that cannot be asked."""
    if not query.text.strip():
        raise InputError("the query is empty", hint="say in a few words what you are looking for")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise InputError(f"limit {query.limit} is not between 1 and {MAX_LIMIT}", hint="use 10")
    if query.offset < 0:
        raise InputError(f"offset {query.offset} is below 0", hint="begin at 0")
    for moment in (query.since, query.until):
        if moment is not None and moment.tzinfo is None:
            raise InputError(f"the time {moment} has no zone", hint="give it one, for example +00:00")
    if query.since and query.until and query.since > query.until:
        raise InputError(f"nothing lies between {query.since} and {query.until}", hint="exchange the times")


def candidates(engine: Engine, legs: Legs, text: str, where: Where) -> Candidates:
    """The candidates of every leg, and "new words": those that wait to be projected.

    When the index cannot be asked, one list comes from the records, under the name "words".
    """
    words = terms(text)
    # First, or what is projected meanwhile would be missed by both.
    with engine.records.reading() as records:
        waiting = records.keywords.search_waiting(legs.index, words, where, legs.limit)
    try:
        found = ask(engine, legs, text, where)
    except StoreError as error:
        with engine.records.reading() as records:
            by_words = records.keywords.search(legs.index, words, where, legs.limit)
        return Candidates({"words": by_words}, [f"{_BY_WORDS}: {error}"])
    if waiting:
        found.lists["new words"] = waiting
    return found


def ask(engine: Engine, legs: Legs, text: str, where: Where) -> Candidates:
    """The candidates of every leg in one call; by words alone where meaning cannot or must not be asked."""
    live = _live(engine, legs.index)
    words = terms(text)
    asked: dict[str, Leg] = {name: Words(of, words, legs.limit) for name, of in legs.words.items()}
    degraded = _without_meaning(engine, live) if legs.meanings else None
    if legs.meanings and not degraded:
        vector = _embedded(engine, text, by_document=legs.by_document)
        asked |= {name: Meaning(space, vector, legs.limit) for name, space in legs.meanings.items()}
    answers = engine.vectors.query(live.name, list(asked.values()), where)
    notes = [f"{_BY_WORDS}: {degraded}"] if degraded else []
    return Candidates(dict(zip(asked, answers, strict=True)), notes)


def index_of_meanings(engine: Engine, index: Index) -> str:
    """The index to be asked by meaning alone; raises `StoreError` when it cannot or must not be."""
    live = _live(engine, index)
    if why := _without_meaning(engine, live):
        raise StoreError(why)
    return live.name


def let_through(engine: Engine, index: Index, where: Where) -> set[str]:
    """Those of the conditions' own ids that all its other conditions let through."""
    every = Every(None, len(where.ids or ()))
    (found,) = engine.vectors.query(_live(engine, index).name, [every], where)
    return {each.id for each in found}


def _embedded(engine: Engine, text: str, *, by_document: bool) -> Vector:
    if not by_document:
        return engine.embedder.embed_query(text)
    vector: Vector = engine.embedder.embed_documents([text])[0]
    return vector


def _live(engine: Engine, index: Index) -> Generation:
    with engine.records.reading() as records:
        live = records.generations.live(index.value)
    if live is None:
        raise StoreError("the index is being built")
    return live


def _without_meaning(engine: Engine, live: Generation) -> str | None:
    """Why an index is not asked by meaning, if it is not."""
    if not engine.switches().semantic_search:
        return _SWITCHED_OFF
    return None if live.fingerprint == fingerprint(engine, Index(live.target)) else _OTHER_EMBEDDER
