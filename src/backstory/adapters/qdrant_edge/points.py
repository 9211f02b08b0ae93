"""Our values as the engine wants them: entries as points, conditions as filters, legs as requests.

An engine's point id is a number or a UUID, so an entry's id is a UUID in its usual form. The order
of such ids as texts is their order in the engine, and nothing has to be looked up to give them back.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from uuid import UUID

import numpy as np
from qdrant_edge import (
    Bm25,
    FieldCondition,
    Filter,
    HasIdCondition,
    IdfParams,
    MatchAny,
    MatchValue,
    Point,
    QuantizationSearchParams,
    Query,
    QueryRequest,
    RangeFloat,
    ScrollRequest,
    SearchParams,
    SparseVector,
)

from backstory.errors import ContentRefused
from backstory.model.project import ALL_PROJECTS, Project, Scope
from backstory.model.search import Where
from backstory.ports import Entry, Every, IndexSpec, Matrix, Meaning, Vector, Words

#: Under these names the engine keeps an index's dense and sparse vectors, which share one namespace.
SPACE: Final = "space-{}"
FIELD: Final = "field-{}"

#: Under these names it keeps what can be filtered. They are not nested: that would take a third longer
#: to hand over (38 against 24 µs an entry).
PROJECT: Final = "project"
LABEL: Final = "label-{}"
NUMBER: Final = "number-{}"

#: From so many entries on, the engine counts how often a word occurs in all projects. To have just the
#: present entries counted takes 2 ms of CPU a leg at 100,000 entries, and 0.4 at so many.
_MANY: Final = 20_000

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LAST_ID: Final = UUID(int=2**128 - 1)

#: The codes find, the kept vectors score: scores are then those of an exact search but for the rounding
#: of 16-bit floats. Without it they are off by up to 0.006; it costs 0.1 to 0.5 ms at 100,000 entries.
_RESCORED: Final = SearchParams(quantization=QuantizationSearchParams(rescore=True))


def check(spec: IndexSpec, entries: Sequence[Entry]) -> None:
    """Raise `ContentRefused` if one of the entries cannot be stored as it is."""
    fields = [field.name for field in spec.fields]
    for entry in entries:
        if not _ID.fullmatch(entry.id):
            raise ContentRefused(f"{entry.id!r} is no UUID in its usual form", hint="name entries by UUIDs")
        _check_names("space", entry.vectors, spec.spaces)
        _check_names("field", entry.words, fields)
        _check_names("label", entry.labels, spec.labels)
        _check_names("number", entry.numbers, spec.numbers)
        for space, matrix in entry.vectors.items():
            _check_vectors(spec, matrix)
            _check_single(spec, space, matrix)
        if not all(map(math.isfinite, entry.numbers.values())):
            raise ContentRefused(f"entry {entry.id} has a number that is not finite", hint="leave it out")
        for text in (*entry.words.values(), *(value for values in entry.labels.values() for value in values)):
            _check_text(text)


def point(spec: IndexSpec, entry: Entry, weighing: Mapping[str, Bm25]) -> Point:
    """A checked entry as a point; each field has its own weighing of terms."""
    vectors: dict[str, list[float] | list[list[float]] | SparseVector] = {}
    for space, matrix in entry.vectors.items():
        if rows := matrix[matrix.any(axis=1)].tolist():  # a cosine with zeros means nothing
            vectors[SPACE.format(space)] = rows[0] if space in spec.single else rows
    for field, text in entry.words.items():
        if text and not text.isspace():
            vectors[FIELD.format(field)] = weighing[field].embed_document(text)
    payload = {
        PROJECT: entry.project.name,
        **{LABEL.format(name): list(values) for name, values in entry.labels.items()},
        **{NUMBER.format(name): float(value) for name, value in entry.numbers.items()},
    }
    return Point(entry.id, vectors, payload)


def conditions(where: Where) -> Filter | None:
    """A filter that lets through what the conditions let through; None when that is everything.

    An empty filter costs 1 to 2 ms a leg at 100,000 entries: each of them is looked at.
    """
    must = _scope(where.scope)
    for condition in where.labels:
        must.append(FieldCondition(LABEL.format(condition.label), match=MatchAny(list(condition.values))))
    for name, bounds in where.numbers.items():
        span = RangeFloat(gte=bounds.at_least, lte=bounds.at_most)
        must.append(FieldCondition(NUMBER.format(name), range=span))
    if where.ids is not None:
        return Filter(must=[*must, HasIdCondition({id for id in where.ids if _ID.fullmatch(id)})])
    return Filter(must=[*must]) if must else None


def corpus(scope: Scope, entries: int) -> IdfParams:
    """Which entries decide how rare a word is: those of the scope, in an index that has so many.

    For all projects of a large index it is the engine that counts. It counts removed entries too, until
    their segment is written anew, but those are fewer than the others, and each word has its share of them.
    """
    if scope is ALL_PROJECTS and entries >= _MANY:
        return IdfParams()
    return IdfParams(corpus=Filter(must=[*_scope(scope)]))


def meaning(spec: IndexSpec, leg: Meaning, allowed: Filter | None) -> QueryRequest | None:
    """The request for a leg; None if its vector means nothing."""
    _check_names("space", [leg.space], spec.spaces)
    _check_vectors(spec, leg.vector[np.newaxis])
    if not leg.vector.any():
        return None
    query = Query.Nearest(leg.vector.tolist(), using=SPACE.format(leg.space))
    return QueryRequest(limit=leg.limit, query=query, filter=allowed, params=_RESCORED)


def words(
    leg: Words, weighing: Mapping[str, Bm25], rarity: IdfParams, allowed: Filter | None
) -> QueryRequest | None:
    """The request for a leg; None if it has no terms."""
    _check_names("field", [leg.field], weighing)
    _check_text(leg.terms)
    terms = weighing[leg.field].embed_query(leg.terms)
    if not terms.indices:
        return None
    query = Query.Nearest(terms, using=FIELD.format(leg.field))
    return QueryRequest(limit=leg.limit, query=query, filter=allowed, params=SearchParams(idf=rarity))


def page(leg: Every, allowed: Filter | None) -> ScrollRequest | None:
    """The request for a leg; None if no id can follow."""
    after = UUID(leg.after) if leg.after else None
    if after == _LAST_ID or leg.limit < 1:
        return None
    first = UUID(int=after.int + 1) if after else None
    return ScrollRequest(offset=first, limit=leg.limit, filter=allowed, with_payload=False, with_vector=False)


def _scope(scope: Scope) -> list[FieldCondition]:
    return [FieldCondition(PROJECT, match=MatchValue(scope.name))] if isinstance(scope, Project) else []


def _check_names(kind: str, given: Collection[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise ContentRefused(f"the index has no {kind} {name!r}", hint=f"it has: {', '.join(known)}")


def _check_vectors(spec: IndexSpec, rows: Matrix | Vector) -> None:
    if rows.ndim != 2 or rows.shape[1] != spec.dimension:
        raise ContentRefused(
            f"vectors of shape {rows.shape} do not fit the {spec.dimension} dimensions of {spec.name}",
            hint="embed with the embedder that the index was made for",
        )
    if not np.isfinite(rows).all():
        raise ContentRefused("a vector holds numbers that are not finite", hint="check the embedder")


def _check_single(spec: IndexSpec, space: str, rows: Matrix) -> None:
    if len(rows) > 1 and space in spec.single:
        raise ContentRefused(
            f"there are {len(rows)} vectors for the space {space!r}, which takes one", hint="give their mean"
        )


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ContentRefused(
            f"a text is no Unicode ({error.reason})", hint="remove what is damaged"
        ) from error
