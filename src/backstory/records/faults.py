"""The one place where the database's errors, and the disk's, become ours."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError

from backstory.errors import (
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

CORRUPT_HINT: Final = (
    "it was left as it is: keep a copy, then restore your newest backup with 'backstory restore FILE'"
)

_KINDS: Final[tuple[tuple[tuple[str, ...], type[StoreError], str, str], ...]] = (
    (
        ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
        StoreCorrupt,
        "is damaged",
        CORRUPT_HINT,
    ),
    (
        ("SQLITE_FULL",),
        StoreFull,
        "cannot grow: the disk is full",
        "free some space and try again; nothing that was stored is lost",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"),
        StoreReadOnly,
        "cannot be written",
        "check the owner and the permissions of the data folder, or set BACKSTORY_HOME to another",
    ),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        StoreUnavailable,
        "is held by another program",
        "close the program that has it open and try again",
    ),
    (
        ("SQLITE_IOERR",),
        StoreUnavailable,
        "could not be read or written",
        "check the disk; nothing that was stored is lost",
    ),
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise our errors in place of the database's and the disk's."""
    try:
        yield
    except DBAPIError as error:
        raise _ours(error.orig, path) from error
    except sqlite3.Error as error:
        raise _ours(error, path) from error
    except OSError as error:
        raise _of_the_disk(error, path) from error


def _of_the_disk(error: OSError, path: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(
            f"{path}: the disk is full", hint="free some space and try again; nothing that was stored is lost"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(
            f"{path} cannot be written", hint="check the permissions, or choose another folder"
        )
    return StoreError(f"{path}: {error.strerror or error}", hint="check that the path exists and can be used")


def _ours(error: BaseException | None, path: Path) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefixes, kind, what, hint in _KINDS:
        if name.startswith(prefixes):
            return kind(f"{path} {what} ({error})", hint=hint)
    return StoreError(f"{path}: {error}", hint="run 'backstory doctor'")
