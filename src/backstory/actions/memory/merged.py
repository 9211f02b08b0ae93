"""Which memories were made one, so that it can be undone."""

from collections.abc import Sequence

from backstory.engine import Engine
from backstory.model.merge import MergeMade
from backstory.model.project import Project


def merged_memories(engine: Engine, project: Project, limit: int) -> Sequence[MergeMade]:
    """The last merges of a project, the newest first, undone or not."""
    with engine.records.reading() as records:
        return records.merges.newest(project, limit)
