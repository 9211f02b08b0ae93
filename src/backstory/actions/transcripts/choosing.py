"""Which transcript files a run looks at, and in which order. Opens none of them."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from backstory.engine import TranscriptPlaces
from backstory.model.keeping import FileState
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.transcripts.discovery import (
    Found,
    TranscriptFile,
    Unreadable,
    find_transcripts,
    transcript_at,
)

#: What `recent_only` means.
RECENT: Final = timedelta(days=7)

#: The files that were read before, by their path.
Known = Mapping[str, FileState]


@dataclass(frozen=True, slots=True)
class Wish:
    """Which files to read: those changed in the last week, the `limit` changed last, those of a project."""

    recent_only: bool = False
    limit: int | None = None
    scope: Scope = ALL_PROJECTS


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files to look at, oldest change first: an original comes before the fork that copied it."""

    files: Sequence[TranscriptFile]
    missing: Sequence[FileState]  # known, and not there any more
    too_old: int
    unreadable: Sequence[Unreadable]


def choose_all(places: TranscriptPlaces, wish: Wish, known: Known, elsewhere: Set[str]) -> Chosen:
    """What to look at of everything that agents left, but for the paths `elsewhere`."""
    found = {str(each.path): each for each in _everything(places)}
    missing = [state for path, state in known.items() if path not in found and _is_missing(state)]
    chosen = _chosen(found.values(), places, known, missing)
    files = [file for file in chosen.files if str(file.path) not in elsewhere]
    if wish.recent_only:
        files = [file for file in files if not _is_older(file, RECENT)]
    if wish.limit is not None:
        files = files[max(0, len(files) - wish.limit) :]
    return Chosen(files, chosen.missing, chosen.too_old, chosen.unreadable)


def choose_at(paths: Collection[Path], places: TranscriptPlaces, known: Known) -> Chosen:
    """What to look at when something happened to these files or folders; `known` are those at them."""
    found = {each.path: each for path in paths for root in places.roots for each in _found_at(path, root)}
    missing = [state for state in known.values() if _is_missing(state)]
    return _chosen(found.values(), places, known, missing)


def _everything(places: TranscriptPlaces) -> Iterator[Found]:
    for root in places.roots:
        if os.path.lexists(root):  # not every agent is in use
            yield from find_transcripts(root)


def _found_at(path: Path, root: Path) -> Iterator[Found]:
    """What a search of a root finds at a path."""
    if path.is_relative_to(root) and path.is_dir():
        yield from find_transcripts(root, inside=path)
    elif path.is_relative_to(root) and (found := transcript_at(path, root)):
        yield found


def is_text(path: Path) -> bool:
    """Whether a path can be stored and sent: a file system takes names that are no text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_missing(state: FileState) -> bool:
    return state.gone_at is None and not os.path.lexists(state.path)


def _chosen(
    found: Iterable[Found], places: TranscriptPlaces, known: Known, missing: Sequence[FileState]
) -> Chosen:
    unreadable, files, too_old = [], [], 0
    for each in found:
        if isinstance(each, Unreadable):
            unreadable.append(each)
        elif not is_text(each.path):
            unreadable.append(Unreadable(each.path, "its name is not UTF-8"))
        elif str(each.path) not in known and _is_too_old(each, places):
            too_old += 1
        else:
            files.append(each)
    files.sort(key=lambda file: (file.modified_ns, file.path))
    return Chosen(files, missing, too_old, unreadable)


def _is_too_old(file: TranscriptFile, places: TranscriptPlaces) -> bool:
    """Whether it is not to be read, or would be forgotten at once."""
    limits = [days for days in (places.max_age_days, places.retention_days) if days is not None]
    return any(_is_older(file, timedelta(days=days)) for days in limits)


def _is_older(file: TranscriptFile, age: timedelta) -> bool:
    changed_at = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return datetime.now(UTC) - changed_at > age
