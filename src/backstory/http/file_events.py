"""What the system tells of changes below some folders: the library that listens, and its limits.

The library is asked for everything below a folder at once. It says nothing when it loses events, and
does not follow links; whoever must not miss anything looks for himself now and then (`file_looks`).
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from watchdog.events import (
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from backstory.http.file_looks import SUFFIX, identity_of

if sys.platform == "linux":
    from watchdog.observers.inotify_c import InotifyConstants, inotify_add_watch, inotify_init

# Not those of opening and closing: reading a file would be told as a change of it.
_KINDS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]


#: Is told what was written, made, moved or deleted: transcript files, and folders that went. It is called
#: in a thread of the library; it must be quick and must not raise.
Tell = Callable[[Sequence[Path]], None]


class FileEvents:
    """Listens from `watch` to `close`.

    On Linux each root takes two threads and three file handles, and all of them one more thread. A
    root with 5,000 folders is listened to after 100 ms.
    """

    def __init__(self, tell: Tell, make_observer: Callable[[], BaseObserver] = Observer) -> None:
        self._telling = _Telling(tell)
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._watched: Mapping[Path, tuple[int, int] | None] = {}

    def watch(self, roots: Sequence[Path], folders: Sequence[str]) -> None:
        """Listen to these roots alone, as far as they are there; `folders` are all that are below them.

        Raises OSError when the system does not allow it.
        """
        self.close()
        watched = {root: identity_of(root) for root in roots}
        _check_room(folders)
        self._observer = observer = self._make_observer()
        try:
            for root in (root for root, identity in watched.items() if identity):
                observer.schedule(self._telling, str(root), recursive=True, event_filter=_KINDS)
            observer.start()
        except OSError:
            self.close()
            raise
        self._watched = watched

    def is_watching(self, roots: Sequence[Path]) -> bool:
        """Whether each of these roots that is there is listened to, and nothing broke."""
        if self._observer is None or not self._observer.is_alive():
            return False
        if not all(emitter.is_alive() for emitter in self._observer.emitters):
            return False
        return {root: identity_of(root) for root in roots} == self._watched

    def close(self) -> None:
        """Stop listening."""
        if self._observer:
            self._observer.stop()
            if self._observer.is_alive():
                self._observer.join()
        self._observer = None
        self._watched = {}


class _Telling(FileSystemEventHandler):
    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def dispatch(self, event: FileSystemEvent) -> None:
        names = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if paths := [Path(name) for name in names if event.is_directory or name.endswith(SUFFIX)]:
            self._tell(paths)


def _check_room(folders: Sequence[str]) -> None:
    """Raise OSError when there are not enough watches for these folders; 5,000 take 20 ms.

    The library would raise it too, but would keep all the watches that it got, and no other program of
    the user could have any until the process ends.
    """
    if sys.platform == "linux":
        trial = inotify_init()
        if trial == -1:
            raise OSError(ctypes.get_errno(), "inotify cannot be had")
        try:
            for folder in folders:
                if (
                    inotify_add_watch(trial, os.fsencode(folder), InotifyConstants.IN_DELETE_SELF) == -1
                    and ctypes.get_errno() == errno.ENOSPC
                ):
                    raise OSError(errno.ENOSPC, "there are not enough inotify watches")
        finally:
            os.close(trial)
