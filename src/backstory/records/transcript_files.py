"""Transcript files: how each looked when it was last read, how far that was, and how it went."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from backstory.model.keeping import FileCounts, FileState
from backstory.records import schema

_FILES: Final = schema.transcript_files

#: Paths asked for in one statement; SQLite takes up to 32,766 values.
_AT_ONCE: Final = 1000

_GET: Final = select(_FILES).where(_FILES.c.path == bindparam("wanted"))
_AT: Final = select(_FILES).where(_FILES.c.path.in_(bindparam("paths", expanding=True)))
# "0" comes next after "/": no other way to say "begins with" is answered by the index everywhere.
_BELOW: Final = (
    select(_FILES)
    .where(_FILES.c.path >= bindparam("first"), _FILES.c.path < bindparam("behind"))
    .order_by(_FILES.c.path)
)
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

    def at(self, paths: Iterable[str]) -> list[FileState]:
        """What is known of these files."""
        wanted = list(dict.fromkeys(paths))
        parts = (wanted[start : start + _AT_ONCE] for start in range(0, len(wanted), _AT_ONCE))
        return [_state(row) for part in parts for row in self._connection.execute(_AT, {"paths": part})]

    def below(self, folder: str) -> list[FileState]:
        """What is known of all files in a folder and in those below it, in the order of the paths."""
        inside = folder.rstrip("/")
        bounds = {"first": f"{inside}/", "behind": f"{inside}0"}
        return [_state(row) for row in self._connection.execute(_BELOW, bounds)]

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
