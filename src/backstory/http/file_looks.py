"""How transcript files look from outside: which are there, how large, changed when.

Comparing two looks finds every change, also where the system tells nothing: behind links, on a
network's disk, or when it has run out of watches. What is in a file is left to others.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SUFFIX: Final = ".jsonl"

_Folder = Path | os.DirEntry[str]
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Looks:
    """The transcript files below some folders, and the folders themselves."""

    #: By path: inode, size and time of the last change.
    files: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)

    def changed_since(self, before: "Looks") -> set[Path]:
        """The files that are new, gone, or look different."""
        return {Path(path) for path, _ in self.files.items() ^ before.files.items()}


def look_below(roots: Sequence[Path]) -> Looks:
    """Look at everything below these folders; 10,000 files in 5,000 folders take 100 ms.

    A folder that cannot be looked into counts as empty. Links to folders are followed at last, so that
    what lies below a root is found there, and each folder once.
    """
    looks, seen = Looks(), set[_Identity | None]()
    waiting, linked = list[_Folder](roots), list[_Folder]()
    while waiting or linked:
        folder = waiting.pop() if waiting else linked.pop()
        if (identity := identity_of(folder)) not in seen:
            seen.add(identity)
            with suppress(OSError):
                for deeper in _look_into(folder, looks):
                    (linked if deeper.is_symlink() else waiting).append(deeper)
    return looks


def identity_of(folder: _Folder) -> _Identity | None:
    """What distinguishes a folder from another one in its place; None if it is not there."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _look_into(folder: _Folder, looks: Looks) -> list[os.DirEntry[str]]:
    """Add what is in a folder; the folders in it."""
    deeper = list[os.DirEntry[str]]()
    with os.scandir(folder) as entries:
        looks.folders.append(os.fspath(folder))
        for entry in entries:
            with suppress(OSError):  # it went away meanwhile
                if entry.is_dir():
                    deeper.append(entry)
                elif entry.name.endswith(SUFFIX):
                    status = entry.stat()
                    looks.files[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return deeper
