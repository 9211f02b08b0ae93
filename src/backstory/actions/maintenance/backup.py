"""Keeping a copy of everything, in one file."""

from dataclasses import dataclass
from pathlib import Path

from backstory.engine import Engine
from backstory.records.backup import write_backup


@dataclass(frozen=True, slots=True)
class BackedUp:
    """Where the backup is and what it holds."""

    path: Path
    memories: int
    size_bytes: int


def back_up(engine: Engine, target: Path) -> BackedUp:
    """Write the whole store into one new file and check it, while work goes on."""
    engine.records.flush_uses()
    manifest = write_backup(engine.records, target)
    return BackedUp(target, manifest.memories, target.stat().st_size)
