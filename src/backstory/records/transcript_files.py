"""Transcript files: how each looked when it was last read, how far that was, and how it went."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from backstory.model.keeping import FileCounts, FileState
from backstory.records import schema

_FILES: Final = schema.transcript_files

_GET: Final = select(_FILES).where(_FILES.c.path == bindparam("wanted"))
_ALL: Final = select(_FILES).order_by(_FILES.c.path)
_OF: Final = select(_FILES).where(_FILES.c.conversation == bindparam("of")).order_by(_FILES.c.path)
_INSERT: Final = insert(_FILES)
_UPDATE: Final = update(_FILES).where(_FILES.c.path == bindparam("wanted"))
_COUNTS: Final = select(
    func.count().label("files"),
    func.count(_FILES.c.gone_at).label("gone"),
    func.count(_FILES.c.failure).label("failed"),
    func.coalesce(func.sum(_FILES.c.records), 0).label("records"),
    func.coalesce(func.sum(_FILES.c.unreadable), 0).label("unreadable"),
)


class TranscriptFiles:
    """The files that conversations were read from."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, path: str) -> FileState | None:
        """What is known of a file."""
        row = self._connection.execute(_GET, {"wanted": path}).one_or_none()
        return _state(row) if row else None

    def put(self, state: FileState) -> None:
        """Keep what is known of a file now."""
        columns = _columns(state)
        if self._connection.execute(_UPDATE, {"wanted": state.path, **columns}).rowcount == 0:
            self._connection.execute(_INSERT, columns)

    def all(self) -> Iterator[FileState]:
        """Every file that was ever read, in the order of the paths."""
        return map(_state, self._connection.execute(_ALL))

    def of(self, conversation: str) -> list[FileState]:
        """The files that a conversation was read from."""
        return [_state(row) for row in self._connection.execute(_OF, {"of": conversation})]

    def gone(self, path: str, at: datetime) -> None:
        """Note that a file is not there any more."""
        self._connection.execute(_UPDATE, {"wanted": path, "gone_at": at})

    def counts(self) -> FileCounts:
        """How many files are known, and how reading them went."""
        return FileCounts(**self._connection.execute(_COUNTS).one()._asdict())


def _columns(state: FileState) -> dict[str, Any]:
    return asdict(state) | {"inode": str(state.inode)}


def _state(row: Row[Any]) -> FileState:
    return FileState(**row._asdict() | {"inode": int(row.inode)})
