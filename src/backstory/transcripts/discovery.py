"""Finds transcript files, and says of each which session or subagent it belongs to.

Only names and places are looked at: the session is the file's name, a subagent's parent is the folder
above `subagents`. What is inside, also which agent wrote it, is left to the readers. Nothing here
raises for what the file system does: what cannot be looked into is a value like what was found.
"""

import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SESSION_FOLDER: Final = re.compile(_UUID)
#: A rollout that was gone back in is followed by one that has the id of the rollout behind its own.
_ROLLOUT: Final = re.compile(rf"rollout-.*?-({_UUID})(?:_.*)?")
_SUBAGENTS: Final = "subagents"
#: What Claude Code keeps beside transcripts: outputs of tools and notes, of which some end in .jsonl.
_OTHER_FOLDERS: Final = frozenset({"tool-results", "memory"})


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A file that holds a session, or the part of one that a subagent did."""

    path: Path
    session_id: str
    #: Of a subagent's file only.
    agent_id: str | None
    #: The session that started the subagent; None where only the file's own lines tell it.
    parent_id: str | None
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file or folder that could not be looked into, and why."""

    path: Path
    reason: str


Found = TranscriptFile | Unreadable


def find_transcripts(root: Path, inside: Path | None = None) -> Iterator[Found]:
    """Every transcript below a folder, each once, whatever linked folders lead to it.

    Linked folders come last, so that what lies inside the root is found under its own path. With `inside`
    only those below that folder of the root, if the root's own search would come there.
    """
    start = inside or root
    seen: set[tuple[int, int]] = set()
    folders, linked = deque([start] if _is_come_to(start, root) else []), deque[Path]()
    while folders or linked:
        folder = folders.popleft() if folders else linked.popleft()
        try:
            entries = _entries(folder, seen)
        except OSError as error:
            yield _unreadable(folder, error)
            continue
        if entries is None:
            yield Unreadable(folder, "a link to a folder above it")
            continue
        for entry in entries:
            if found := _looked_at(entry, folders, linked):
                yield found


def transcript_at(path: Path, root: Path) -> Found | None:
    """What the search below a root finds at one path; None where that is nothing, or no file."""
    try:
        if not os.path.lexists(path) or path.is_dir() or not _is_come_to(path.parent, root):
            return None
        return _transcript_in(path, path)
    except OSError as error:
        return _unreadable(path, error)


def _is_come_to(folder: Path, root: Path) -> bool:
    """Whether a search below a root comes to a folder under this path."""
    inside = folder.relative_to(root)
    if not all(_may_hold_transcripts(root / each) for each in (inside, *inside.parents) if each.name):
        return False
    # What a link leads to inside the root is found under its own path.
    real, real_root = Path(os.path.realpath(folder)), Path(os.path.realpath(root))
    return real == real_root / inside or not real.is_relative_to(real_root)


def _entries(folder: Path, seen: set[tuple[int, int]]) -> list[os.DirEntry[str]] | None:
    """What is in a folder, by name; nothing if it was seen before, None if it leads back up."""
    status = folder.stat()
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return None if folder.parent.resolve().is_relative_to(folder.resolve()) else []
    seen.add(identity)
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _looked_at(entry: os.DirEntry[str], folders: deque[Path], linked: deque[Path]) -> Found | None:
    """The transcript that an entry is, if it is one; a folder joins those still to be seen."""
    path = Path(entry.path)
    try:
        if entry.is_dir():
            if _may_hold_transcripts(path):
                (linked if entry.is_symlink() else folders).append(path)
            return None
        return _transcript_in(entry, path)
    except OSError as error:
        return _unreadable(path, error)


def _transcript_in(entry: os.DirEntry[str] | Path, path: Path) -> Found | None:
    """The transcript that is in a file, if the file is named like one."""
    if entry.name.endswith(".jsonl.zst"):
        return Unreadable(path, "compressed with zstd")
    if not _is_named_like_one(path):
        return None
    status = entry.stat()
    return _transcript(path, status) if stat.S_ISREG(status.st_mode) else None


def _may_hold_transcripts(folder: Path) -> bool:
    if _is_session_folder(folder.parent):
        return folder.name == _SUBAGENTS
    return folder.name not in _OTHER_FOLDERS


def _is_session_folder(folder: Path) -> bool:
    return _SESSION_FOLDER.fullmatch(folder.name) is not None


def _is_named_like_one(path: Path) -> bool:
    """Whether it is a session's file, or a subagent's: the only ones that lie in a session's folder."""
    if path.suffix != ".jsonl":
        return False
    return path.name.startswith("agent-") or not (_is_session_folder(path.parent) or _parent(path))


def _transcript(path: Path, status: os.stat_result) -> TranscriptFile:
    rollout = _ROLLOUT.fullmatch(path.stem)
    is_agent = path.name.startswith("agent-")
    return TranscriptFile(
        path,
        session_id=rollout[1] if rollout else path.stem,
        agent_id=path.stem.removeprefix("agent-") if is_agent else None,
        parent_id=_parent(path) if is_agent else None,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
    )


def _parent(path: Path) -> str | None:
    """The session in whose folder of subagents the file lies."""
    above = (folder.parent for folder in path.parents if folder.name == _SUBAGENTS)
    return next((folder.name for folder in above if _is_session_folder(folder)), None)


def _unreadable(path: Path, error: OSError) -> Unreadable:
    if isinstance(error, FileNotFoundError):
        return Unreadable(path, "not there")
    return Unreadable(path, (error.strerror or str(error)).lower())
