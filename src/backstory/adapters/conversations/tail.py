"""The last of the JSONL files, which alone is written, and only at its end."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal


class Tail:
    """A file that grows. What was written is on the disk, or it is not there."""

    def __init__(self, path: Path, file: int, end: int) -> None:
        self.file = file
        self.end = end  # of what was taken in, moved by whoever does that
        self._path = path
        self._opened = opened(path, "r+b")

    def has_news(self) -> bool:
        """Whether the file ends elsewhere; raises `FileNotFoundError` if it was rewritten since."""
        return self._path.stat().st_size != self.end

    def write(self, data: bytes) -> None:
        """Write behind the end, all or nothing."""
        try:
            self._opened.seek(self.end)
            write_all(self._opened, data)
        except OSError:
            with suppress(OSError):  # then whoever reads the file next cuts it
                self.cut()
            raise

    def cut(self) -> None:
        """Take away what lies behind the end."""
        self._opened.truncate(self.end)
        os.fsync(self._opened.fileno())

    def close(self) -> None:
        """Close the file."""
        self._opened.close()


def opened(path: Path, mode: Literal["xb", "wb", "r+b"]) -> io.FileIO:
    """Open a file that is, if it is made now, its owner's alone."""
    return io.FileIO(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def write_all(file: io.FileIO, data: bytes) -> None:
    """Write to the disk itself; a disk that fills up may take a part before it says so."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make sure that the files' names outlive a power cut as their contents do."""
    if sys.platform != "win32":  # where folders cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
