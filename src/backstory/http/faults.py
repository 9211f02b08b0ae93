"""The one place of this room that catches what nobody foresaw, and makes an error of ours of it."""

from collections.abc import Iterator
from contextlib import contextmanager

from backstory.errors import BackstoryError
from backstory.http.logs import logger, origin_of

_log = logger("http")


@contextmanager
def unexpected_told(operation: str) -> Iterator[None]:
    """Let errors of ours pass; log any other, and raise one that says no more than where to look."""
    try:
        yield
    except BackstoryError:
        raise
    except Exception as error:
        _log.error("failed unexpectedly", operation=operation, context={"error": origin_of(error)})
        _log.debug("failed unexpectedly", operation=operation, context={"text": repr(error)})
        raise BackstoryError(
            f"{operation} failed unexpectedly; see the log",
            hint="try again; if it goes on, run 'backstory doctor'",
        ) from error
