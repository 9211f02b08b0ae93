"""Passages become entries of an index."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.passage import Index, Passage
from backstory.model.project import ALL_PROJECTS
from backstory.model.search import Where
from backstory.model.upkeep import Generation, GenerationState, Mark
from backstory.ports import Entry, IndexSpec, Matrix, WordField
from backstory.ranking.chunks import chunks

#: The one dense space and the one word field that a memory has.
SPACE: Final = "text"
FIELD: Final = "text"

#: What can be filtered, for each index that is in use.
_LABELS: Final = {Index.MEMORIES: ("type", "metadata")}
_NUMBERS: Final = {Index.MEMORIES: ("created_at", "updated_at", "importance")}

#: k1 and b for short texts: on LoCoMo turns .4 to .9 and .2 to .4 are alike, 1.5 and .75 cost .010 nDCG@10.
#: The average lies between the 16 terms of a memory of 134 characters and the 44 of one of 390.
_WORDS: Final = WordField(FIELD, k1=0.9, b=0.4, average_words=30)


def layout(index: Index) -> str:
    """What an index is made for, in short. Nothing can be added later: another layout is a new index."""
    made_for = ((SPACE,), (_WORDS,), _LABELS[index], _NUMBERS[index])
    return hashlib.sha256(repr(made_for).encode()).hexdigest()[:8]


def fingerprint(engine: Engine, index: Index) -> str:
    """What a generation of the index is made with; one with another cannot be asked by meaning."""
    return f"{engine.embedder.fingerprint} {layout(index)}"


def specification(generation: Generation, dimension: int) -> IndexSpec:
    """The index that holds a generation."""
    index = Index(generation.target)
    return IndexSpec(generation.name, dimension, (SPACE,), (_WORDS,), _LABELS[index], _NUMBERS[index])


def project(engine: Engine, marks: Sequence[Mark]) -> None:
    """Bring what is marked into every generation in use, as the records have it now."""
    for index in {Index(mark.place) for mark in marks}:
        subjects = [mark.subject for mark in marks if mark.place == index.value]
        with engine.records.reading() as records:
            passages = records.passages.find(subjects)
            generations = records.generations.of(index.value, GenerationState.LIVE, GenerationState.BUILDING)
        write(engine, generations, list(passages.values()))
        gone = [subject for subject in subjects if subject not in passages]
        for generation in generations if gone else ():
            engine.vectors.remove(generation.name, Where(ALL_PROJECTS, ids=gone))


def write(engine: Engine, generations: Sequence[Generation], passages: Sequence[Passage]) -> None:
    """Write passages into generations. One made by another embedder gets their words alone."""
    if not passages:
        return
    own = [each for each in generations if each.fingerprint == fingerprint(engine, Index(each.target))]
    vectors = embedded(engine, passages) if own else {}
    for generation in generations:
        known = vectors if generation in own else {}
        engine.vectors.upsert(generation.name, [_entry(passage, known) for passage in passages])


def embedded(engine: Engine, passages: Sequence[Passage]) -> Mapping[str, Matrix]:
    """A row for each chunk of each passage, embedded in one call."""
    pieces = [chunks(passage.text) for passage in passages]
    matrix = engine.embedder.embed_documents([piece for each in pieces for piece in each])
    if not np.isfinite(matrix).all():
        raise StoreError(
            "the embedder gave numbers that are not finite", hint="check the embedder with 'backstory doctor'"
        )
    ends = np.cumsum([len(each) for each in pieces])
    rows = np.split(matrix, ends[:-1])
    return {passage.id: part for passage, part in zip(passages, rows, strict=True)}


def _entry(passage: Passage, vectors: Mapping[str, Matrix]) -> Entry:
    return Entry(
        id=passage.id,
        project=passage.project,
        vectors={SPACE: vectors[passage.id]} if passage.id in vectors else {},
        words={FIELD: passage.terms},
        labels=passage.labels,
        numbers=passage.numbers,
    )
