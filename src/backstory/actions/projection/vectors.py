"""Passages become entries of every generation in use.

What an entry holds is the affair of `entries`; which generations there are, of `generations`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from backstory.actions.projection.entries import entries_of
from backstory.actions.projection.layouts import LAYOUTS, TEXT
from backstory.engine import Engine
from backstory.model.passage import Index, Passage
from backstory.model.project import ALL_PROJECTS
from backstory.model.search import Where
from backstory.model.upkeep import Generation, GenerationState, Mark
from backstory.ports import IndexSpec

#: The one dense space and the one word field that a memory has.
SPACE: Final = TEXT
FIELD: Final = TEXT


def fingerprint(engine: Engine, index: Index) -> str:
    """What a generation of the index is made with; one with another cannot be asked by meaning."""
    layout = LAYOUTS[index]
    return f"{engine.embedder.fingerprint if layout.spaces else 'words'} {layout.digest}"


def specification(generation: Generation, dimension: int) -> IndexSpec:
    """The index that holds a generation."""
    made_for = LAYOUTS[Index(generation.target)]
    return IndexSpec(
        generation.name,
        dimension,
        made_for.spaces,
        made_for.fields,
        made_for.labels,
        made_for.numbers,
        made_for.single,
    )


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
    """Write passages of one index into its generations. One made by another embedder gets words alone."""
    own = [each for each in generations if each.fingerprint == fingerprint(engine, Index(each.target))]
    for portion in entries_of(engine, passages, with_meaning=bool(own)):
        for generation in generations:
            known = portion if generation in own else [replace(entry, vectors={}) for entry in portion]
            engine.vectors.upsert(generation.name, known)
