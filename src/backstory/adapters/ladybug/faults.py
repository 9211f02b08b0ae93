"""The one place where the engine's errors become ours.

The engine raises bare exceptions, so their words alone tell them apart.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from backstory.errors import (
    BackstoryError,
    ContentRefused,
    InputError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
)


class PoolExhausted(StoreUnavailable):
    """The buffer pool is full: a foreign statement holds it, and gives it back when it ends."""


class LogTorn(StoreFull):
    """A write stopped halfway into the log, and nothing may be written behind it."""


class LogRefused(StoreUnavailable):
    """The engine takes no more writes until the database is opened anew."""


_REBUILD: Final = "it was left as it is; make it again from the records with 'backstory rebuild'"
_FREE_SPACE: Final = "free some space; what could not be written is written later"

_KINDS: Final[tuple[tuple[str, type[BackstoryError], str, str], ...]] = (
    (r"Could not set lock", StoreLocked, "is open in another process", "end that process and try again"),
    (
        r"Permission denied|Read-only file system",
        StoreReadOnly,
        "cannot be written",
        "check the owner and the permissions of the data folder, or set BACKSTORY_HOME to another",
    ),
    (r"panic state", LogRefused, "takes no more writes as it is", "try again: it is opened anew"),
    # A write cut short by a full disk carries no reason: "numBytesWritten: 2392. Error: Success".
    (r"Cannot write to file\. path: \S+\.wal", LogTorn, "cannot grow: the disk is full", _FREE_SPACE),
    (
        r"No space left|quota exceeded|File too large|Cannot write to file",
        StoreFull,
        "cannot grow: the disk is full",
        _FREE_SPACE,
    ),
    (
        r"different version",
        StoreTooNew,
        "was written by another version of the engine",
        "use the Backstory that wrote it, or 'backstory rebuild'",
    ),
    (r"corrupted|not a valid Lbug|Cannot read checkpoint", StoreCorrupt, "is damaged", _REBUILD),
    (r"buffer pool is full|bad_alloc", PoolExhausted, "is short of memory", "try again in a moment"),
    (
        r"^Interrupted",
        InputError,
        "took longer over the statement than it may",
        "narrow the patterns, name labels and types, ask for fewer hops, or raise the time limit",
    ),
    (
        r"Unable to cast Python instance of type <class 'str'>|surrogates not allowed",
        ContentRefused,
        "cannot take a text that is not valid Unicode",
        "remove the lone surrogates from it",
    ),
    (r"IO exception", StoreUnavailable, "cannot be reached", "try again; see 'backstory doctor'"),
)

_OTHERWISE: Final[dict[type[BackstoryError], tuple[str, str]]] = {
    StoreCorrupt: ("is damaged", _REBUILD),
    InputError: ("cannot run the statement", "the engine's own words say where the statement is wrong"),
    StoreError: ("failed", "try again; see 'backstory doctor'"),
}


@contextmanager
def translated(otherwise: type[BackstoryError] = StoreError) -> Iterator[None]:
    """Raise our errors in place of the engine's; `otherwise` where its words tell nothing."""
    try:
        yield
    except BackstoryError:
        raise
    except Exception as error:
        raise _ours(str(error) or type(error).__name__, otherwise) from error


def _ours(words: str, otherwise: type[BackstoryError]) -> BackstoryError:
    for pattern, kind, what, hint in _KINDS:
        if re.search(pattern, words):
            return kind(f"the graph {what} ({words})", hint=hint)
    what, hint = _OTHERWISE[otherwise]
    return otherwise(f"the graph {what} ({words})", hint=hint)
