"""What the store holds, how large it is and how it is doing."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from backstory.actions.projection.now import shortage
from backstory.engine import Engine
from backstory.errors import StoreError
from backstory.model.project import Scope
from backstory.model.upkeep import Statistics, Target

RECENT: Final = 10


def statistics(engine: Engine, scope: Scope) -> Statistics:
    """Counts inside the scope; storage and upkeep of the whole store."""
    with engine.records.reading() as records:
        return Statistics(
            memories=records.memories.count_by_type(scope),
            deleted=records.memories.count_deleted(scope),
            links=records.links.count(scope),
            projects=len(records.memories.projects()),
            pending={target.value: count for target, count in records.marks.count().items()},
            refused=sum(records.marks.count_refused(target) for target in Target),
            generations=records.generations.all(),
            index_entries=_entries(engine),
            storage_bytes={each.name: _size(each) for each in sorted(engine.home.iterdir())},
            free_bytes=shutil.disk_usage(engine.home).free,
            paused=shortage(engine),
            recent=records.audit.recent(scope, RECENT),
        )


def _entries(engine: Engine) -> Mapping[str, int]:
    try:
        return {name: state.entries for name, state in engine.vectors.describe().items()}
    except StoreError:
        return {}


def _size(path: Path) -> int:
    """What it takes on the disk: engines keep sparse files, whose length says little."""
    if path.is_file():
        return _on_disk(path)
    return sum(_on_disk(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _on_disk(path: Path) -> int:
    try:
        found = path.stat()
    except FileNotFoundError:  # engines drop files as they go
        return 0
    return found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
