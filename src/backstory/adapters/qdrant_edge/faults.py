"""The one place where the engine's errors, and its folder's, become ours.

The engine raises bare exceptions, so their words alone tell them apart. It notices some damage by a
panic, which is no `Exception` at all. On a full disk it dies without raising anything: whoever writes
must look at the free space first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from backstory.errors import (
    BackstoryError,
    ContentRefused,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
)

_REBUILD: Final = "it was left as it is; make it again from the records with 'backstory rebuild'"

_KINDS: Final[tuple[tuple[tuple[str, ...], type[StoreError], str, str], ...]] = (
    (("not initialized",), StoreUnavailable, "was closed or dropped meanwhile", "try again"),
    (("WouldBlock",), StoreLocked, "is open in another process", "end that process and try again"),
    (("No space left",), StoreFull, "cannot grow: the disk is full", "free some space and try again"),
    (
        ("Permission denied", "Read-only file system"),
        StoreReadOnly,
        "cannot be written",
        "check the owner and the permissions of the data folder, or set BACKSTORY_HOME to another",
    ),
    (("Inconsistent storage", "Failed to deserialize"), StoreCorrupt, "is damaged", _REBUILD),
)


@contextmanager
def translated(index: str, *, opening: bool = False) -> Iterator[None]:
    """Raise our errors in place of the engine's. What cannot be opened for no other reason is damaged."""
    try:
        yield
    except BackstoryError:
        raise
    except Exception as error:
        raise _ours(error, index, opening=opening) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise StoreCorrupt(f"the index {index} is damaged ({error})", hint=_REBUILD) from error
        raise


def _ours(error: Exception, index: str, *, opening: bool) -> StoreError:
    words = str(error)
    for needles, kind, what, hint in _KINDS:
        if any(needle in words for needle in needles):
            return kind(f"the index {index} {what} ({words})", hint=hint)
    if opening:
        return StoreCorrupt(f"the index {index} is damaged ({words})", hint=_REBUILD)
    if isinstance(error, TypeError | ValueError):
        return ContentRefused(f"the index {index} cannot take this ({words})", hint="change the content")
    return StoreUnavailable(f"the index {index} failed ({words})", hint="try again; see 'backstory doctor'")
