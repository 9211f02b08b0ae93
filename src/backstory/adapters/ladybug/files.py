"""Where the graphs lie on disk. Nothing here opens one.

`<root>/<generation>/<name>-<hash>/<number>.lbug`: the project's name made readable, the hash that
tells two projects apart, and the number of times the graph was loaded anew. The highest number is
the graph; a half-made one has another ending.
"""

import hashlib
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backstory.errors import StoreFull
from backstory.model.graph import GraphKey

_SUFFIX: Final = ".lbug"
_UNFINISHED: Final = ".unfinished"
_DROPPED: Final = ".dropped-"


def folder_of(root: Path, key: GraphKey) -> Path:
    """Give the folder of a graph, whether it is there or not."""
    name = key.project.name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return root / str(key.generation) / f"{readable}-{digest}".lstrip("-")


def newest(folder: Path) -> Path | None:
    """Give the database in the folder, None if there is none."""
    return max(folder.glob(f"*{_SUFFIX}"), key=_number, default=None)


def first(folder: Path) -> Path:
    """Give the place of a graph's first database, in a folder that is there now."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"1{_SUFFIX}"


def has_log(database: Path) -> bool:
    """Say whether a file beside the database holds changes that are not yet in it."""
    log = database.with_name(f"{database.name}.wal")
    return log.exists() and log.stat().st_size > 0


@contextmanager
def place_to_build(folder: Path) -> Iterator[Path]:
    """Lend an empty folder for making the next database of a graph; what stays in it is removed."""
    place = folder / _UNFINISHED
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def take_over(folder: Path, built: Path) -> None:
    """Make a finished database the graph, in one step, and remove those before it."""
    old = newest(folder)
    current = folder / f"{_number(old) + 1 if old else 1}{_SUFFIX}"
    built.rename(current)
    for file in folder.iterdir():
        if file.is_file() and file != current:
            file.unlink()


def check_room(folder: Path, needed_bytes: int) -> None:
    """Refuse to go on when the disk has less room than is needed.

    The engine does not survive a full disk, so it is not let near one.
    """
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise StoreFull(
            f"the disk has {free >> 20} MB left, and the graph needs {needed_bytes >> 20}",
            hint="free some space; what could not be written is written later",
        )


def discard(folder: Path) -> None:
    """Remove a graph: gone in one step, whatever happens while its files are deleted."""
    if folder.exists():
        shutil.rmtree(folder.rename(folder.with_name(f"{_DROPPED}{uuid.uuid4().hex}")))


def sweep(root: Path) -> None:
    """Remove what a dropped graph left behind when its process died."""
    for leftover in root.glob(f"*/{_DROPPED}*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _number(database: Path) -> int:
    return int(database.stem)
