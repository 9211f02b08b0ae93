"""Whether the memories that others are to be linked to are there."""

from collections.abc import Sequence

from backstory.engine import Transaction
from backstory.errors import InputError
from backstory.model.memory import Relationship
from backstory.model.project import Project


def check_ends(records: Transaction, project: Project, wishes: Sequence[Relationship]) -> None:
    """Raise `InputError` for a relationship to a memory that the project does not have."""
    ends = [wish.to for wish in wishes]
    known = records.memories.find(project, ends) if ends else {}
    for end in ends:
        if end not in known:
            raise InputError(
                f"the memory to be linked, {end}, is not in project {project}",
                hint="search for the memory first and use the id of a hit",
            )
