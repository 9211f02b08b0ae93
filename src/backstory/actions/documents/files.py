"""Documents on disk: which files below a folder are markdown, what they are called, what stands in them.

What is passed over is told with its reason. Links are not followed: what one leads to inside the folder is
read where it lies. What the texts mean is left to `analysis.documents`.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from backstory.engine import Work
from backstory.errors import InputError, NotFound
from backstory.folders import worktree_of
from backstory.model.kinds.shapes import PATH

#: The longest documents that people write have a tenth of it; what is larger was made by a program.
MAX_BYTES: Final = 2 * 1024 * 1024
#: All of them are held until the last is read, to know what moved from one to another.
MOST_FILES: Final = 5_000

_ENDINGS: Final = (".md", ".markdown")
_OF_OTHERS: Final = frozenset({"node_modules"})
#: In this order: files that are not UTF-8 come from Windows, and any bytes are Latin-1.
_ENCODINGS: Final = ("utf-8-sig", "cp1252", "latin-1")
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
#: With these in its name a file could tell lines of its own in an answer.
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file, and what it is called wherever it is spoken of."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Something that was not read, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    """What stands in a document. `encoding` is named if it is not the usual one."""

    text: str
    encoding: str | None = None


@dataclass(slots=True)
class FoundDocuments:
    """The documents at a place, in the order of their names."""

    files: list[DocumentFile] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder that is asked for, and the folder that names are relative to, if there is one."""

    path: Path
    is_folder: bool
    root: Path | None

    @classmethod
    def of(cls, path: Path, base: Path | None) -> "Place":
        """The place at a path without links; raises `NotFound` when nothing is there.

        Names are relative to the caller's repository or folder; of what is not in it, to its own repository.
        """
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            raise NotFound(
                f"there is no file or folder {path}: {(error.strerror or str(error)).lower()}",
                hint="if a document was deleted, name the folder that it was in",
            ) from error
        near = worktree_of(base).resolve() if base else None
        if near and path.is_relative_to(near):
            return cls(path, is_folder, near)
        inside = path / "document" if is_folder else path
        own = worktree_of(inside)
        return cls(path, is_folder, own if own != inside else None)  # outside of repositories it is itself

    @property
    def beginning(self) -> str:
        """How the keys of all that was read from here begin."""
        if self.path == self.root:
            return ""
        return self.name_of(self.path) + ("/" if self.is_folder else "#")

    def name_of(self, path: Path) -> str:
        """What a file is called: the same from every worktree of a repository."""
        return (path.relative_to(self.root) if self.root else path).as_posix()

    def is_gone(self, name: str) -> bool:
        """Whether there is no document of this name any more. What lies elsewhere is not looked at."""
        reach = self.root or (self.path if self.is_folder else self.path.parent)
        path = Path(os.path.normpath(reach / name))
        try:
            return path.is_relative_to(reach) and not path.is_file()
        except OSError:  # a name that no file can have, or a folder that may not be looked into
            return False


def find_documents(place: Place, work: Work) -> FoundDocuments:
    """The markdown file at a place, or all that lie below the folder there."""
    path, found = place.path, FoundDocuments()
    if place.is_folder:
        for folder, names in _walk(place, found):
            work.step(0, None, f"looking in {place.name_of(folder)}")
            _sort_out(place, folder, names, found)
    elif not path.name.lower().endswith(_ENDINGS):
        raise InputError(
            f"{path} is not markdown", hint=f"name a folder, or a file that ends in {' or '.join(_ENDINGS)}"
        )
    else:
        _sort_out(place, path.parent, [path.name], found)
    found.files.sort(key=lambda file: file.name)
    return found


def read_document(file: DocumentFile) -> DocumentText | PassedOver:
    """What stands in a document, whatever wrote it."""
    try:
        with file.path.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        return PassedOver(file.name, (error.strerror or str(error)).lower())
    if len(content) > MAX_BYTES:
        return PassedOver(file.name, f"it is larger than {MAX_BYTES // 2**20} MB")
    return _decoded(content) or PassedOver(file.name, "it is not text")


def _walk(place: Place, found: FoundDocuments) -> Iterator[tuple[Path, list[str]]]:
    """The folders below a place with their files, without those that are nobody's documents."""

    def note(error: OSError) -> None:
        name = place.name_of(Path(os.fsdecode(error.filename)))
        found.passed_over.append(PassedOver(_shown(name), (error.strerror or "unreadable").lower()))

    for folder, below, names in os.walk(place.path, onerror=note):
        here = Path(folder)
        below[:] = [name for name in sorted(below) if _is_entered(place, here / name, found)]
        yield here, sorted(names)


def _is_entered(place: Place, folder: Path, found: FoundDocuments) -> bool:
    if folder.is_symlink():
        _note_link(place, folder, found)
        return False
    why = _reason_against(folder.name)
    if why:
        found.passed_over.append(PassedOver(_shown(place.name_of(folder)), why))
    return why is None


def _sort_out(place: Place, folder: Path, names: list[str], found: FoundDocuments) -> None:
    """Take those of a folder's files that are documents."""
    for path in (folder / name for name in names if name.lower().endswith(_ENDINGS)):
        name = place.name_of(path)
        if path.is_symlink():
            _note_link(place, path, found)
        elif not path.is_file():  # a pipe would be waited for without end
            found.passed_over.append(PassedOver(_shown(name), "it is no plain file"))
        elif path != place.path and path.name.startswith("."):
            found.passed_over.append(PassedOver(_shown(name), "it is hidden"))
        elif not PATH.fits(name) or name != _shown(name):
            found.passed_over.append(PassedOver(_shown(name), "its name cannot be written down"))
        else:
            found.files.append(DocumentFile(name, path))
    if len(found.files) > MOST_FILES:
        raise InputError(
            f"there are more than {MOST_FILES:,} documents below {place.path}", hint="name a folder in it"
        )


def _note_link(place: Place, link: Path, found: FoundDocuments) -> None:
    """Tell of a link that leads out. Where another leads to is read anyway."""
    try:
        leads_out = not link.resolve().is_relative_to(place.path)
    except (OSError, RuntimeError):  # it leads to itself
        leads_out = True
    if leads_out:
        found.passed_over.append(
            PassedOver(_shown(place.name_of(link)), "it is a link that leads out of the folder")
        )


def _reason_against(folder: str) -> str | None:
    if folder.startswith("."):
        return "it is hidden"
    return "it holds the code of others" if folder in _OF_OTHERS else None


def _decoded(content: bytes) -> DocumentText | None:
    if content.startswith(_WIDE_MARKS):
        text = content.decode("utf-16", "replace")
        return None if "\0" in text else DocumentText(text, "UTF-16")
    if b"\0" in content:
        return None
    for encoding in _ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        return DocumentText(text, None if encoding == _ENCODINGS[0] else encoding)
    return None


def _shown(name: str) -> str:
    """A name that can be stored and told on one line, also where the file's own is no text."""
    return _BREAKS.sub("\N{REPLACEMENT CHARACTER}", os.fsencode(name).decode("utf-8", "replace"))
