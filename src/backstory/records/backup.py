"""A backup: the whole store in one file, checked before it is called one.

The file is a ZIP archive with the records, the files that hold live conversations where those are not in
the records, and a manifest. Vectors, graph and caches are not in it: they are made again from the records.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from backstory import __version__
from backstory.errors import InputError, StoreCorrupt, StoreTooNew
from backstory.model.project import ALL_PROJECTS
from backstory.records.faults import translated
from backstory.records.migrations import SCHEMA_VERSION
from backstory.records.records import Records

_FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_RECORDS: Final = "records.db"
_FILES: Final = "conversations"
_BLOCK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds, as it says itself."""

    format: int
    written_by: str
    created_at: str
    schema_version: int
    memories: int
    records_sha256: str
    files_sha256: Mapping[str, str] = field(default_factory=dict)  # by name

    @property
    def parts(self) -> Mapping[str, str]:
        """What every part of the archive hashes to, by its name there."""
        files = {f"{_FILES}/{name}": found for name, found in self.files_sha256.items()}
        return {_RECORDS: self.records_sha256, **files}


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The parts of a backup, in a folder where they can be looked at before they are put in place."""

    manifest: Manifest
    records: Path
    files: Path


def conversation_files(folder: Path) -> list[Path]:
    """The files of live conversations in a folder, which may hold others too; none if it is not there.

    They are numbered by whoever writes them.
    """
    return sorted(folder.glob("[0-9]*.jsonl"))


def write_backup(records: Records, target: Path, copy_files: Callable[[Path], None]) -> Manifest:
    """Write the whole store into one new file, while others read and write.

    `copy_files` is given a folder for what does not stand in the records; it is called once these were
    copied, so that what it puts there is no older than they are.
    """
    if target.exists():
        raise InputError(
            f"{target} exists already", hint="choose another name; a backup never overwrites a file"
        )
    with translated(target), _workshop(target.parent) as folder:
        packed = folder / "backup.zip"
        (folder / _FILES).mkdir()
        records.copy_to(folder / _RECORDS)
        copy_files(folder / _FILES)
        manifest = _describe(folder)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=1))
            for part in manifest.parts:
                archive.write(folder / part, part)
        _verify(packed)
        _to_disk(packed)
        packed.rename(target)
    return manifest


def read_backup(source: Path, folder: Path) -> Unpacked:
    """Unpack a backup into a folder, checked, and its records brought to the present schema."""
    unpacked = folder / _RECORDS
    with translated(source):
        manifest = _verify(source)
        (folder / _FILES).mkdir()
        with zipfile.ZipFile(source) as archive:
            for part in manifest.parts:
                with archive.open(part) as packed, (folder / part).open("wb") as plain:
                    shutil.copyfileobj(packed, plain, _BLOCK_BYTES)
    with Records.open(unpacked) as records:
        if problems := records.problems():
            raise StoreCorrupt(
                f"the records in {source} are damaged: {problems[0]}", hint="use another backup"
            )
    return Unpacked(manifest, unpacked, folder / _FILES)


def _describe(folder: Path) -> Manifest:
    with Records.open(folder / _RECORDS) as records:
        if problems := records.problems():
            raise StoreCorrupt(
                f"no backup was written, because the records are damaged: {problems[0]}",
                hint="run 'backstory doctor'; an older backup may be sound",
            )
        with records.reading() as transaction:
            memories = sum(transaction.memories.count_by_type(ALL_PROJECTS).values())
    return Manifest(
        _FORMAT,
        __version__,
        datetime.now(UTC).isoformat(),
        SCHEMA_VERSION,
        memories,
        _sha256(folder / _RECORDS),
        {each.name: _sha256(each) for each in sorted((folder / _FILES).iterdir())},
    )


def _verify(backup: Path) -> Manifest:
    """Read a backup from end to end; what it says of itself if that is true."""
    try:
        with zipfile.ZipFile(backup) as archive:
            manifest = Manifest(**json.loads(archive.read(_MANIFEST)))
            if manifest.format > _FORMAT or manifest.schema_version > SCHEMA_VERSION:
                raise StoreTooNew(
                    f"{backup} was written by version {manifest.written_by}", hint="upgrade Backstory"
                )
            _check_names(manifest)
            damaged = [part for part, hashed in manifest.parts.items() if _packed(archive, part) != hashed]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        raise StoreCorrupt(f"{backup} is not a whole backup: {error}", hint="use another backup") from error
    if damaged:
        raise StoreCorrupt(
            f"{backup} is damaged: {damaged[0]} is not what it was made with", hint="use another backup"
        )
    return manifest


def _check_names(manifest: Manifest) -> None:
    """A file's name is only a name: nothing may be written elsewhere by a backup that somebody made up."""
    for name in manifest.files_sha256:
        if name != Path(name).name or name in {"", ".", ".."}:
            raise ValueError(f"it names the file {name!r}")


def _packed(archive: zipfile.ZipFile, part: str) -> str:
    with archive.open(part) as file:
        return _hash(file)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return _hash(file)


def _hash(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(_BLOCK_BYTES):
        digest.update(block)
    return digest.hexdigest()


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def _workshop(parent: Path) -> Iterator[Path]:
    """A folder on the target's own disk, so that the finished file can be moved in one step."""
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=parent) as folder:
        yield Path(folder)
