"""What the store takes on the disk."""

import os
from collections.abc import Mapping
from pathlib import Path

from backstory.engine import Engine


def used_bytes(engine: Engine) -> Mapping[str, int]:
    """What each part of the data folder takes, by its name."""
    return {each.name: _size(each) for each in sorted(engine.home.iterdir())}


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
