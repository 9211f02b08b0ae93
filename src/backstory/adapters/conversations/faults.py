"""The one place where the errors of the disk become ours."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backstory.errors import StoreError, StoreFull, StoreReadOnly


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raise our errors in place of the disk's."""
    try:
        yield
    except OSError as error:
        raise _ours(error, folder) from error


def _ours(error: OSError, folder: Path) -> StoreError:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return StoreFull(
                f"the conversations in {folder} cannot grow: the disk is full",
                hint="free some space and try again; nothing that was kept is lost",
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return StoreReadOnly(
                f"the conversations in {folder} cannot be written",
                hint="check the owner and the permissions, or set CONTEXT_STORAGE_PATH to another folder",
            )
        case _:
            return StoreError(
                f"the conversations in {folder}: {error.strerror or error}",
                hint="check the disk; nothing that was kept is lost",
            )
