"""Keeping a copy of everything, in one file."""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backstory.engine import Engine
from backstory.records.backup import conversation_files as conversation_files
from backstory.records.backup import write_backup


@dataclass(frozen=True, slots=True)
class BackedUp:
    """Where the backup is and what it holds."""

    path: Path
    memories: int
    conversation_files: int
    size_bytes: int


def back_up(engine: Engine, target: Path, folder: Path) -> BackedUp:
    """Write the whole store into one new file and check it, while work goes on.

    The files of live conversations that lie in the folder go along, also if those are kept elsewhere by now.
    """
    engine.records.flush_uses()
    manifest = write_backup(engine.records, target, partial(_copy, engine, folder))
    return BackedUp(target, manifest.memories, len(manifest.files_sha256), target.stat().st_size)


def _copy(engine: Engine, folder: Path, into: Path) -> None:
    # Nobody writes meanwhile: a compaction in between would leave out what it moves.
    with engine.live.writing():
        for file in conversation_files(folder):
            shutil.copyfile(file, into / file.name)
