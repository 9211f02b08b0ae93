"""What the store holds, how large it is and how it is doing."""

import shutil
from collections.abc import Mapping
from typing import Final

from backstory.actions.projection.disk import used_bytes
from backstory.actions.projection.now import vectors_wait
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
            storage_bytes=used_bytes(engine),
            free_bytes=shutil.disk_usage(engine.home).free,
            paused=vectors_wait(engine),
            recent=records.audit.recent(scope, RECENT),
        )


def _entries(engine: Engine) -> Mapping[str, int]:
    try:
        return {name: state.entries for name, state in engine.vectors.describe().items()}
    except StoreError:
        return {}
