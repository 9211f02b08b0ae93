"""A backup: the whole store in one file, checked before it is called one.

The file is a ZIP archive with the records and a manifest. Vectors, graph and caches are not in it:
they are made again from the records.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
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


def write_backup(records: Records, target: Path) -> Manifest:
    """Write the whole store into one new file, while others read and write."""
    if target.exists():
        raise InputError(
            f"{target} exists already", hint="choose another name; a backup never overwrites a file"
        )
    with translated(target), _workshop(target.parent) as folder:
        copy, packed = folder / _RECORDS, folder / "backup.zip"
        records.copy_to(copy)
        manifest = _describe(copy)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_MANIFEST, json.dumps(asdict(manifest), indent=1))
            archive.write(copy, _RECORDS)
        _verify(packed)
        _to_disk(packed)
        packed.rename(target)
    return manifest


def read_backup(source: Path, folder: Path) -> tuple[Manifest, Path]:
    """Unpack a backup's records into a folder, checked and brought to the present schema."""
    with translated(source):
        manifest = _verify(source)
        unpacked = folder / _RECORDS
        with (
            zipfile.ZipFile(source) as archive,
            archive.open(_RECORDS) as packed,
            unpacked.open("wb") as plain,
        ):
            while block := packed.read(_BLOCK_BYTES):
                plain.write(block)
    with Records.open(unpacked) as records:
        if problems := records.problems():
            raise StoreCorrupt(
                f"the records in {source} are damaged: {problems[0]}", hint="use another backup"
            )
    return manifest, unpacked


def _describe(copy: Path) -> Manifest:
    with Records.open(copy) as records:
        if problems := records.problems():
            raise StoreCorrupt(
                f"no backup was written, because the records are damaged: {problems[0]}",
                hint="run 'backstory doctor'; an older backup may be sound",
            )
        with records.reading() as transaction:
            memories = sum(transaction.memories.count_by_type(ALL_PROJECTS).values())
    return Manifest(
        _FORMAT, __version__, datetime.now(UTC).isoformat(), SCHEMA_VERSION, memories, _sha256(copy)
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
            with archive.open(_RECORDS) as records:
                found = _hash(records)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        raise StoreCorrupt(f"{backup} is not a whole backup: {error}", hint="use another backup") from error
    if found != manifest.records_sha256:
        raise StoreCorrupt(
            f"{backup} is damaged: its records are not those it was made with", hint="use another backup"
        )
    return manifest


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
