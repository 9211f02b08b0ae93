"""The file of an export: read line by line, and written so that it is there whole or not at all.

What its lines say is left to `lines`.
"""

import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeVar

from backstory.actions.portable.json_parts import BadJson
from backstory.actions.portable.lines import memories_told
from backstory.errors import InputError, StoreFull

#: A memory of the longest content has this length after a thousand updates; what is longer is no export.
MAX_LINE_BYTES: Final = 256 * 1024 * 1024

#: Memories that are read or written together. To write so many, two thirds of them naming others, takes 50 ms
#: of CPU, and 120 ms on a busy machine, for which others who write have to wait.
AT_ONCE: Final = 100

Each = TypeVar("Each")


class Line(NamedTuple):
    """A line of a file, and which one it is."""

    number: int
    text: bytes


def in_parts(all_: Iterable[Each]) -> Iterator[list[Each]]:
    """What there is, some at once."""
    left = iter(all_)
    while part := list(islice(left, AT_ONCE)):
        yield part


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to be read. What is none, such as a pipe, could keep its reader waiting for ever."""
    if not path.is_file():
        raise InputError(f"there is no file {path}", hint="name a file that export_memory wrote")
    with _told(path, "read"), path.open("rb") as file:
        yield file


def told_memories(file: BinaryIO) -> int | None:
    """How many memories an export has, by its own first line; raises `InputError` if it is no export."""
    try:
        return memories_told(file.readline(MAX_LINE_BYTES))
    except BadJson as problem:
        raise InputError(
            f"{file.name} is no export of memories: {problem}", hint="name a file that export_memory wrote"
        ) from problem


def lines(file: BinaryIO) -> Iterator[Line]:
    """The lines that are left of an export, blank ones left out."""
    number = 1
    while text := file.readline(MAX_LINE_BYTES):
        number += 1
        if not text.isspace():
            yield Line(number, text)


@contextmanager
def written(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file that is put in its place when the block ends, and not at all when it raises.

    It never takes the place of another file than an export, and of one only to overwrite it.
    """
    with _told(path, "written"):
        _check_place(path, overwrite=overwrite)
        handle, name = tempfile.mkstemp(prefix=".export-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(handle)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _check_place(path: Path, *, overwrite: bool) -> None:
    if not path.exists():
        return
    if not overwrite:
        raise InputError(f"{path} exists already", hint="name another file, or allow it to be overwritten")
    with opened(path) as file:
        told_memories(file)


@contextmanager
def _told(path: Path, how: str) -> Iterator[None]:
    """Say which file it was, and what can be done."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(f"{path}: the disk is full", hint="free some space and try again") from error
        raise InputError(
            f"{path} cannot be {how}: {error.strerror}", hint="name a file in a folder that is there"
        ) from error
