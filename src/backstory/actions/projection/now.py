"""Projecting what is marked: one subject at once, or all that wait.

A projection is written under its target's lock and from what the records say at that moment, so
the newest text is always the last one written. Whoever gets the lock takes along what others have
left waiting, and they find their work done: many writers at once cost little more than one.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from backstory.actions.projection import graph, vectors
from backstory.engine import Engine, Work
from backstory.errors import ContentRefused, StoreError
from backstory.model.upkeep import Mark, Target

#: What a worker takes at once: enough to embed well, so few that a writer hardly waits (about 30 ms).
BATCH: Final = 256

#: What a writer takes along for others.
COMPANY: Final = 32

_PROJECT: Final[Mapping[Target, Callable[[Engine, Sequence[Mark]], None]]] = {
    Target.VECTORS: vectors.project,
    Target.GRAPH: graph.project,
}


def project_now(engine: Engine, subject: str) -> Sequence[str]:
    """Project a subject; says what has to wait, and why. Raises `ContentRefused` if it never can be."""
    if paused := shortage(engine):
        return (paused,)
    waiting = []
    for target in Target:
        try:
            _project_with_company(engine, target, subject)
        except ContentRefused:
            raise
        except StoreError as error:
            waiting.append(f"{target.value}: {error}")
    return waiting


def project_batch(engine: Engine, target: Target) -> int:
    """Project the oldest marks of a target; how many there were."""
    with engine.locks[target]:
        with engine.records.reading() as records:
            marks = records.marks.pending(target, BATCH)
        _project(engine, target, marks)
    return len(marks)


def project_pending(engine: Engine, work: Work) -> None:
    """Project everything that waits."""
    for target in Target:
        done = 0
        while count := project_batch(engine, target):
            done += count
            work.step(done, None, f"projecting {target.value}")


def shortage(engine: Engine) -> str | None:
    """Why projection has to pause, if it has to: the vector engine dies on a full disk."""
    free = shutil.disk_usage(engine.home).free
    if free >= engine.min_free_bytes:
        return None
    return (
        f"projection is paused: {free // 2**20:,} MB are free, fewer than"
        f" BACKSTORY_MIN_FREE_MB={engine.min_free_bytes // 2**20:,}; free some space"
    )


def _project_with_company(engine: Engine, target: Target, subject: str) -> None:
    with engine.locks[target]:
        with engine.records.reading() as records:
            own = records.marks.of(target, [subject])
            others = records.marks.pending(target, COMPANY) if own else []
        refused = _project(engine, target, own + [mark for mark in others if mark not in own])
    if subject in refused:
        raise ContentRefused(refused[subject], hint="change the content and try again; nothing was stored")


def _project(engine: Engine, target: Target, marks: Sequence[Mark]) -> Mapping[str, str]:
    """Project what is marked; which subjects the engine refused, and why."""
    if not marks:
        return {}
    try:
        _PROJECT[target](engine, marks)
    except ContentRefused as refusal:
        if len(marks) > 1:  # one bad text must not hold up the others
            return {key: why for mark in marks for key, why in _project(engine, target, [mark]).items()}
        with engine.records.writing() as records:
            records.marks.refuse(marks[0], str(refusal))
        return {marks[0].subject: str(refusal)}
    with engine.records.writing() as records:
        records.marks.clear(marks)
    return {}
