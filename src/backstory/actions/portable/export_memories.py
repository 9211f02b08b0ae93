"""Writing memories to a file, with everything that belongs to them, to be read in by another store."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from backstory.actions.portable.files import in_parts, written
from backstory.actions.portable.lines import header_line, line_of
from backstory.engine import Engine, Transaction, Work
from backstory.model.portable import Selection, WholeMemory
from backstory.ranking.labels import metadata_label, metadata_labels

#: Where exports go that are given no path, below the data folder.
FOLDER: Final = "exports"


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the file is, and what it holds. Deleted memories are among the memories."""

    path: Path
    memories: int
    deleted: int
    versions: int
    links: int
    size_bytes: int


def export_folder(engine: Engine) -> Path:
    """The folder for exports that are given no path."""
    return engine.home / FOLDER


def export_memories(
    engine: Engine, selection: Selection, path: Path | None, work: Work, *, overwrite: bool = False
) -> Exported:
    """Write memories as they are at one moment to a file, which is there whole or not at all.

    The same memories give the same bytes, in whatever store they are.
    """
    engine.records.flush_uses()
    path = path or _own_place(engine)
    counts = Counter({"memories": 0, "deleted": 0, "versions": 0, "links": 0})
    with engine.records.reading() as records, written(path, overwrite=overwrite) as file:
        ids = _chosen(records, selection)
        file.write(header_line(len(ids)))
        for part in in_parts(ids):
            work.step(counts["memories"], len(ids), "exporting memories")
            for whole in records.portable.whole(part):
                file.write(line_of(whole))
                counts.update(_counted(whole))
    work.step(len(ids), len(ids), "exported")
    return Exported(path, **counts, size_bytes=path.stat().st_size)


def _counted(whole: WholeMemory) -> Mapping[str, int]:
    return {
        "memories": 1,
        "deleted": int(whole.memory.deleted_at is not None),
        "versions": len(whole.versions),
        "links": len(whole.links),
    }


def _own_place(engine: Engine) -> Path:
    folder = export_folder(engine)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / f"memories-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.jsonl"


def _chosen(records: Transaction, selection: Selection) -> list[str]:
    """The ids alone are held, 9 MB for 100,000."""
    wanted = {metadata_label(key, value) for key, value in selection.metadata.items()}
    return [
        id for id, metadata in records.portable.chosen(selection) if wanted <= set(metadata_labels(metadata))
    ]
