"""Putting a backup in the place of the present store, while no process has it open."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from backstory.errors import StoreCorrupt, StoreTooNew
from backstory.records.backup import read_backup
from backstory.records.faults import translated
from backstory.records.owner import owning
from backstory.records.records import Records


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: its records, its lock, and the folders of what is derived from the records."""

    records: Path
    lock: Path
    derived: Sequence[Path]


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there now, and where the store that was there before is kept."""

    memories: int
    replaced: Path | None


def restore(source: Path, place: Place) -> Restored:
    """Put a backup in place. The store that was there is kept beside it; vectors and graph are made anew."""
    home = place.records.parent
    with (
        owning(place.lock),
        translated(home),
        tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as folder,
    ):
        manifest, unpacked = read_backup(source, Path(folder))
        _forget_projections(unpacked)
        replaced = _set_aside(place.records)
        # Derived data goes first: a crash from here on leaves either store without it, and it is made anew.
        for derived in place.derived:
            shutil.rmtree(derived, ignore_errors=True)
        unpacked.replace(place.records)
    return Restored(manifest.memories, replaced)


def _forget_projections(unpacked: Path) -> None:
    with Records.open(unpacked) as records, records.writing() as transaction:
        transaction.generations.forget(transaction.generations.all())


def _set_aside(present: Path) -> Path | None:
    if not present.exists():
        return None
    kept = present.with_name(f"replaced-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
    kept.mkdir()
    try:
        Records.open(present).close()  # the last one to close it leaves one whole file
        shutil.copy2(present, kept / present.name)
    except (StoreCorrupt, StoreTooNew):
        for part in present.parent.glob(f"{present.name}*"):
            part.rename(kept / part.name)
    return kept
