"""A lock between processes, which the operating system takes back when its holder dies."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        locked = False
        while not locked:
            with suppress(OSError):  # it gives up after ten tries of a second
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                locked = True

    def _unlock(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


class FileLock:
    """The lock of a file that is made for it. Threads of one process must exclude each other themselves."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @classmethod
    def open(cls, path: Path) -> Self:
        """Make the file if need be, and open it."""
        return cls(os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock while the block runs, however long it takes to get it."""
        _lock(self._file)
        try:
            yield
        finally:
            _unlock(self._file)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
