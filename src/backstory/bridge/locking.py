"""Locks that the operating system holds: they end with their process, however that ends.

What a lock stands for, and what is said when somebody else has it, is left to who takes it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    #: A byte far behind the text, so that others can still read what the file says.
    _FAR = 1 << 20

    def _lock(file: IO[str], *, wait: bool) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[str], *, wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def try_lock(file: IO[str]) -> bool:
    """Take the lock of an open file, until it is closed; False when somebody else has it."""
    try:
        _lock(file, wait=False)
    except OSError:
        return False
    return True


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def waiting_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a file while the block runs, however long it takes to get it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(path, "a+", encoding="utf-8", opener=_for_owner) as file:
        while True:
            try:
                _lock(file, wait=True)
                break
            except OSError:  # Windows gives up after ten tries of a second
                if os.name != "nt":
                    raise
        yield
