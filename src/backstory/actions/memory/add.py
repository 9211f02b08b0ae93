"""Remembering something."""

from backstory.actions.memory.adding import Added as Added
from backstory.actions.memory.adding import Draft, first_version, keep_all
from backstory.engine import Engine
from backstory.errors import InputError
from backstory.model.memory import NewMemory, problems_of
from backstory.model.project import Project


def add_memory(engine: Engine, project: Project, new: NewMemory, *, key: str | None = None) -> Added:
    """Keep a memory for good; when this returns, it survives a crash and the next search finds it.

    A caller that does not know whether it was answered may ask again with the same `key`: the same
    content in the same project is then kept once.
    """
    if problems := list(problems_of(new)):
        remedies = dict.fromkeys(each.remedy for each in problems)
        raise InputError("; ".join(each.what for each in problems), hint="; ".join(remedies))
    (added,) = keep_all(engine, project, [Draft(first_version(project, new, key), new.relationships)])
    return added
