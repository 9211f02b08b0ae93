"""One process owns a data folder: the lock that says so, and who holds it.

The lock itself is the operating system's; see `bridge.locking`.
"""

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from backstory.bridge.locking import try_lock
from backstory.errors import StoreLocked, StoreReadOnly

#: Who wants to know whether the data is owned looks by taking the lock, for some microseconds.
PATIENCE_S: Final = 0.1


@contextmanager
def owning(lock_path: Path) -> Iterator[str]:
    """Own the lock file's folder while the block runs, under an id of its own.

    Raises `StoreLocked` when another process owns it.
    """
    try:
        # Memories are nobody else's business: a new data folder is its user's alone.
        lock_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = lock_path.open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {lock_path.parent} cannot be written: {error.strerror}",
            hint="check its permissions, or set BACKSTORY_HOME to a folder you can write",
        ) from error
    with file:
        deadline = time.monotonic() + PATIENCE_S
        while not try_lock(file):
            if time.monotonic() > deadline:
                raise StoreLocked(
                    f"the data folder {lock_path.parent} is in use by {_holder(lock_path)}",
                    hint="stop that process with `backstory stop`, or use the data through it",
                )
            time.sleep(PATIENCE_S / 10)
        owner = uuid.uuid4().hex
        file.truncate(0)
        json.dump({"pid": os.getpid(), "id": owner}, file)
        file.flush()
        yield owner


def _holder(lock_path: Path) -> str:
    try:
        held = json.loads(lock_path.read_text("utf-8"))
        return f"process {held['pid']} (owner {held['id']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
