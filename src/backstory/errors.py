"""Every error this package raises on purpose.

BackstoryError
├── InputError              the caller asked for something that cannot be done
│   ├── NotFound            the thing named is not there
│   └── StaleVersion        the thing changed since the caller read it
├── SettingsError           a setting is missing, malformed or contradicts another
├── Cancelled               the caller asked the work to stop
└── StoreError              a storage engine failed; the cause is in `__cause__`
    ├── StoreUnavailable    it cannot be reached, or not now: what waits in marks is done later
    ├── StoreLocked         another process owns the data folder
    ├── StoreFull           the disk is full or nearly so
    ├── StoreReadOnly       the data folder cannot be written
    ├── StoreCorrupt        a file is damaged; it is left as it is
    ├── StoreTooNew         the data was written by a newer version
    └── ContentRefused      the engine will never take this content, however often it is asked

Each carries a `hint`: one sentence on what a person can do next.
"""


class BackstoryError(Exception):
    """Base of all errors raised on purpose. `hint` tells a person what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class InputError(BackstoryError):
    """The request is not valid."""


class NotFound(InputError):
    """The thing named in the request is not there."""


class StaleVersion(InputError):
    """The thing was changed by somebody else since the caller read it."""


class SettingsError(BackstoryError):
    """A setting is missing, malformed or contradicts another."""


class Cancelled(BackstoryError):
    """The caller asked the work to stop; what was finished stays finished."""


class StoreError(BackstoryError):
    """A storage engine failed; the cause is in `__cause__`."""


class StoreUnavailable(StoreError):
    """The engine cannot be reached, or not now."""


class StoreLocked(StoreError):
    """Another process owns the data folder."""


class StoreFull(StoreError):
    """The disk is full or nearly so."""


class StoreReadOnly(StoreError):
    """The data folder cannot be written."""


class StoreCorrupt(StoreError):
    """A file is damaged. It is left as it is."""


class StoreTooNew(StoreError):
    """The data was written by a newer version of Backstory."""


class ContentRefused(StoreError):
    """The engine will never take this content, however often it is asked."""
