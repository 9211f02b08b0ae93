"""A merge that was carried out: which memories became one, and what taking it back needs to know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from backstory.model.memory import MemoryId
from backstory.model.project import Project

#: What the audit trail calls it when a memory was folded into another; `into` in its details says which.
FOLDED: Final = "folded"

#: Merges that are planned in one go, unless somebody asks for more.
DEFAULT_MERGES: Final = 20
MAX_MERGES: Final = 200


@dataclass(frozen=True, slots=True)
class MergeMade:
    """Memories that were folded into one that was kept.

    `version` is the one that the kept memory has since; `versions` are those that all of them had before.
    """

    id: str
    project: Project
    kept: MemoryId
    version: int
    folded: Sequence[MemoryId]
    versions: Mapping[str, int]
    why: str
    at: datetime
    undone_at: datetime | None = None
