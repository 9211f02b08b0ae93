"""One process owns a data folder: the lock that says so, and who holds it.

The lock is the operating system's, so it ends with its process, however that ends.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from backstory.errors import StoreLocked, StoreReadOnly

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        # A byte far behind the text, so that others can still read who holds the lock.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def owning(lock_path: Path) -> Iterator[None]:
    """Own the lock file's folder while the block runs; raises `StoreLocked` when another process does."""
    try:
        lock_path.parent.mkdir(parents=True, exist_ok=True)
        file = lock_path.open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {lock_path.parent} cannot be written: {error.strerror}",
            hint="check its permissions, or set BACKSTORY_HOME to a folder you can write",
        ) from error
    with file:
        try:
            _lock(file)
        except OSError as error:
            raise StoreLocked(
                f"the data folder {lock_path.parent} is in use by {_holder(lock_path)}",
                hint="stop that process, or use the data through it",
            ) from error
        file.truncate(0)
        json.dump({"pid": os.getpid()}, file)
        file.flush()
        yield


def _holder(lock_path: Path) -> str:
    try:
        return f"process {json.loads(lock_path.read_text('utf-8'))['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
