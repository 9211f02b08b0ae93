"""Taking a merge back: one memory becomes several again."""

from collections.abc import Sequence
from dataclasses import dataclass

from backstory.actions.memory.merging import TakenBack, project_all, take_back
from backstory.engine import Engine
from backstory.model.project import Project


@dataclass(frozen=True, slots=True)
class Unmerged:
    """What is as it was before. `pending` says what search cannot see of it yet, and why."""

    taken_back: TakenBack
    pending: Sequence[str]


def unmerge(engine: Engine, project: Project, id: str) -> Unmerged:
    """Undo a merge: texts, links and those who were folded are as before, and the history tells of both.

    Raises `StaleVersion`, and changes nothing, when the memory that was kept was changed since.
    """
    with engine.records.writing() as records:
        taken_back = take_back(records, project, id)
    return Unmerged(taken_back, project_all(engine, [taken_back.kept.id, *taken_back.restored]))
