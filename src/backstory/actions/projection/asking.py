"""Asking a live index for candidates, and the records where it cannot answer.

What a question may see comes as conditions; what its candidates are worth is the ranking room's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from backstory.actions.projection.vectors import fingerprint
from backstory.engine import Engine
from backstory.errors import InputError, StoreError
from backstory.model.passage import Index
from backstory.model.search import MAX_LIMIT, MemoryQuery, Scored, TurnQuery, Where
from backstory.model.upkeep import Generation, Target
from backstory.ports import Every, Leg, Meaning, Words
from backstory.ranking.words import terms

#: Passages that wait to be projected and are found by SQLite meanwhile, the oldest ones. Reading as many
#: marks took 4 ms on a busy machine, 100 of them 1 ms; seldom do more than a handful wait.
WAITING: Final = 500

_OTHER_EMBEDDER: Final = (
    "found by words alone: the embedder was changed, and meanings are being computed anew"
)


@dataclass(frozen=True, slots=True)
class Legs:
    """What is asked of an index: names of lists, with the field or the space that each comes from."""

    index: Index
    words: Mapping[str, str]
    meanings: Mapping[str, str]
    limit: int


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
    with engine.records.reading() as records:
        marks = records.marks.pending(Target.VECTORS, WAITING)
    try:
        found = ask(engine, legs, text, where)
    except StoreError as error:
        return Candidates(
            {"words": _by_records(engine, legs, text, where)}, [f"found by words alone: {error}"]
        )
    if waiting := [mark.subject for mark in marks if mark.place == legs.index.value]:
        found.lists["new words"] = _by_records(engine, legs, text, replace(where, ids=waiting))
    return found


def ask(engine: Engine, legs: Legs, text: str, where: Where) -> Candidates:
    """The candidates of every leg in one call. An index of another embedder is asked for words alone."""
    live = _live(engine, legs.index)
    words = terms(text)
    asked: dict[str, Leg] = {name: Words(of, words, legs.limit) for name, of in legs.words.items()}
    degraded = []
    if legs.meanings and live.fingerprint == fingerprint(engine, legs.index):
        vector = engine.embedder.embed_query(text)
        asked |= {name: Meaning(space, vector, legs.limit) for name, space in legs.meanings.items()}
    elif legs.meanings:
        degraded.append(_OTHER_EMBEDDER)
    answers = engine.vectors.query(live.name, list(asked.values()), where)
    return Candidates(dict(zip(asked, answers, strict=True)), degraded)


def let_through(engine: Engine, index: Index, where: Where) -> set[str]:
    """Those of the conditions' own ids that all its other conditions let through."""
    every = Every(None, len(where.ids or ()))
    (found,) = engine.vectors.query(_live(engine, index).name, [every], where)
    return {each.id for each in found}


def _live(engine: Engine, index: Index) -> Generation:
    with engine.records.reading() as records:
        live = records.generations.live(index.value)
    if live is None:
        raise StoreError("the index is being built")
    return live


def _by_records(engine: Engine, legs: Legs, text: str, where: Where) -> list[Scored]:
    with engine.records.reading() as records:
        return records.keywords.search(legs.index, terms(text), where, legs.limit)
