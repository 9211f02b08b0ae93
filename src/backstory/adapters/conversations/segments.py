"""The JSONL files together: numbered, written only at the end of the last, read from any place.

A write is whole or it is not there. What a process that died left unfinished is cut off by the next that
looks; any other damage is reported, and the file stays as it is. Several processes may have the files open:
each reads in what the others have written before it writes or answers. What lines say is left to `lines`.
"""

import io
import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from backstory.adapters.conversations.index import Place
from backstory.adapters.conversations.lines import Content, Header, Line, encoded, parsed
from backstory.adapters.conversations.tail import Tail, opened, sync_folder, write_all
from backstory.bridge.locking import waiting_lock
from backstory.errors import StoreCorrupt

_log = logging.getLogger(__name__)

_HEADER: Final = encoded(Header())
_SUFFIX: Final = ".jsonl"
_UNFINISHED: Final = ".new"
_NAME: Final = re.compile(r"\d{6,}\.\d+" + re.escape(_SUFFIX))

Take = Callable[[Content, Place], None]


class _Name(NamedTuple):
    """A file's number, and how often it was rewritten."""

    number: int
    revision: int = 0

    def __str__(self) -> str:
        return f"{self.number:06}.{self.revision}{_SUFFIX}"


class Segments:
    """The files of a folder. All but `has_news` and `read` is done inside `exclusive`."""

    def __init__(self, folder: Path, max_file_bytes: int) -> None:
        self._folder = folder
        self._max_file_bytes = max_file_bytes
        self._threads = threading.Lock()
        self._lock_path = folder / "lock"
        self._names: list[_Name] = []  # of every file that was ever read; places go by it
        self._current: dict[int, int] = {}  # by a file's number, which of these it is now
        self._listed: frozenset[str] = frozenset()
        self._tail: Tail | None = None

    def close(self) -> None:
        """Close what is open."""
        if self._tail:
            self._tail.close()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads and processes out while the block runs."""
        with self._threads, waiting_lock(self._lock_path):
            yield

    def has_news(self) -> bool:
        """Whether another process has written; raises `FileNotFoundError` if it is just rewriting."""
        return self._list() != self._listed or (self._tail is not None and self._tail.has_news())

    def read_in(self, take: Take) -> None:
        """Give every line that was not given yet, in order, and mend the end of the last file."""
        listed = self._list()
        newest = _newest(listed)
        if lost := self._current.keys() - newest.keys():
            raise _damage(self._path(self._current[min(lost)]), "is not there any more")
        for name in sorted(newest.values()):
            start = self._read_to(name)
            if start is not None:
                self._read_from(name, start, take, is_last=name.number == max(newest))
        self._listed = listed

    def append(self, contents: Sequence[Content], take: Take) -> None:
        """Write lines at the end, all or none, and give them; they are on the disk when this returns."""
        lines = [encoded(each, len(contents) - count) for count, each in enumerate(contents, start=1)]
        tail = self._tail
        if tail is None or (tail.end and tail.end + sum(map(len, lines)) > self._max_file_bytes):
            tail = self._begin_next()
        data = b"".join(lines if tail.end else [_HEADER, *lines])
        tail.write(data)
        # By the way of what others wrote: if this is interrupted, the next `read_in` goes on with it.
        tail.end = self._take(data, Place(tail.file, tail.end, 0), take)

    def read(self, places: Sequence[Place]) -> list[Content]:
        """What the lines at these places say; raises `FileNotFoundError` if a file was rewritten since."""
        found = []
        for file, there in groupby(places, key=lambda place: place.file):
            with self._path(file).open("rb") as reading:
                for place in there:
                    reading.seek(place.offset)
                    found.append(self._parsed(reading.read(place.length), place).content)
        return found

    def finished(self) -> Mapping[int, int]:
        """The files that are not written any more, with their sizes."""
        files = [self._current[number] for number in sorted(self._current)[:-1]]
        return {file: self._path(file).stat().st_size for file in files}

    def rewrite(self, file: int, is_needed: Callable[[Content], bool]) -> None:
        """Write a file anew, beside the old one, without what is not needed. `read_in` goes over to it."""
        lines = _split(self._path(file).read_bytes(), Place(file, 0, 0))
        needed = [raw for raw, place in lines if is_needed(self._parsed(raw, place).content)]
        old = self._names[file]
        path = self._folder / str(old._replace(revision=old.revision + 1))
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            with opened(unfinished, "wb") as writing:
                write_all(writing, b"".join(needed))
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        sync_folder(self._folder)

    def tidy(self) -> None:
        """Remove files that were rewritten, and those that nobody finished."""
        listed = self._list()
        for name in listed - {str(name) for name in _newest(listed).values()}:
            (self._folder / name).unlink()
        for unfinished in self._folder.glob(f"*{_UNFINISHED}"):
            unfinished.unlink()
        self._listed = self._list()

    def _path(self, file: int) -> Path:
        return self._folder / str(self._names[file])

    def _list(self) -> frozenset[str]:
        with os.scandir(self._folder) as entries:
            return frozenset(entry.name for entry in entries if _NAME.fullmatch(entry.name))

    def _known(self, name: _Name) -> int | None:
        file = self._current.get(name.number)
        return file if file is not None and self._names[file] == name else None

    def _read_to(self, name: _Name) -> int | None:
        """How far a file was read, None if to its end for ever: only the last one grows."""
        file = self._known(name)
        if file is None:
            return 0
        return self._tail.end if self._tail and self._tail.file == file else None

    def _read_from(self, name: _Name, start: int, take: Take, *, is_last: bool) -> None:
        file = self._known(name)
        if file is None:
            file = len(self._names)
            self._names.append(name)
        data = self._unread(file, start)
        end = self._take(data, Place(file, start, 0), take)
        unfinished = data[end - start :]
        if unfinished and not is_last:
            raise self._damaged(Place(file, end, 0), "the file ends within it")
        self._current[name.number] = file
        if is_last:
            self._mend(self._go_on(file, end), data, unfinished)

    def _unread(self, file: int, start: int) -> bytes:
        with self._path(file).open("rb") as reading:
            if reading.seek(0, os.SEEK_END) < start:
                raise _damage(self._path(file), "is shorter than it was")
            reading.seek(start)
            return reading.read()

    def _take(self, data: bytes, start: Place, take: Take) -> int:
        """Give the lines of those writes that are whole; where the last of them ends."""
        end = start.offset
        write: list[tuple[Content, Place]] = []
        for raw, place in _split(data, start):
            if place.end == start.offset + len(data) and _is_torn(raw):
                break
            line = self._parsed(raw, place)
            write.append((line.content, place))
            if not line.rest:
                self._give(write, take)
                write.clear()
                end = place.end
        return end

    def _give(self, write: Sequence[tuple[Content, Place]], take: Take) -> None:
        for content, place in write:
            try:
                take(content, place)
            except (ValueError, TypeError) as error:
                raise self._damaged(place, error) from error

    def _parsed(self, raw: bytes, place: Place) -> Line:
        try:
            return parsed(raw)
        except ValueError as error:
            raise self._damaged(place, error) from error

    def _go_on(self, file: int, end: int) -> Tail:
        """Write to this file from now on, behind this end."""
        if self._tail and self._tail.file == file:
            self._tail.end = end
            return self._tail
        if self._tail:
            self._tail.close()
        self._tail = Tail(self._path(file), file, end)
        return self._tail

    def _begin_next(self) -> Tail:
        name = _Name(max(self._current, default=0) + 1)
        opened(self._folder / str(name), "xb").close()
        sync_folder(self._folder)
        self._names.append(name)
        self._current[name.number] = len(self._names) - 1
        self._listed |= {str(name)}
        return self._go_on(self._current[name.number], 0)

    def _mend(self, tail: Tail, data: bytes, unfinished: bytes) -> None:
        """Cut off what was not written to its end; a line that lacks nothing but its line break gets it."""
        if unfinished:
            cut = len(unfinished)
            _log.warning("cut %d bytes of an unfinished write off %s", cut, self._path(tail.file))
            tail.cut()
        elif data and not data.endswith(b"\n"):
            tail.write(b"\n")
            tail.end += 1

    def _damaged(self, place: Place, why: object) -> StoreCorrupt:
        path = self._path(place.file)
        with path.open("rb") as reading:
            line = reading.read(place.offset).count(b"\n") + 1
        return _damage(path, f"is damaged in line {line}: {why}")


def _newest(listed: Iterable[str]) -> dict[int, _Name]:
    """Of each number, the file that was rewritten last."""
    names = sorted(_Name(*map(int, name.split(".")[:2])) for name in listed)
    return {name.number: name for name in names}


def _split(data: bytes, start: Place) -> Iterator[tuple[bytes, Place]]:
    offset = start.offset
    for raw in io.BytesIO(data):
        yield raw, Place(start.file, offset, len(raw))
        offset += len(raw)


def _is_torn(raw: bytes) -> bool:
    """Whether the last line was not written to its end; one that lacks nothing but its line break was.

    After a power cut, what never reached the disk reads as zeros, which JSON has nowhere.
    """
    if raw.endswith(b"\n"):
        return b"\0" in raw
    try:
        parsed(raw)
    except ValueError:
        return True
    return False


def _damage(path: Path, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"{path} {what}",
        hint="it was left as it is: restore your newest backup, or mend the file by hand and start again",
    )
