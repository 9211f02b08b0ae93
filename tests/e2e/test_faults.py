"""What is done to the store from outside: kills, full disks, read-only folders, damage."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import Added, add_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import StoreCorrupt, StoreFull, StoreLocked, StoreReadOnly
from backstory.model.memory import NewMemory
from backstory.model.project import Project
from backstory.model.search import MemoryQuery
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .conftest import Opening
from .killing import WRITER, Promises, broken_promises, write_and_kill

SHOP = Project("shop")
KILLS = 20

needs_mount = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount a small disk"
)


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_nothing_acknowledged_is_lost_however_often_the_process_is_killed(
    home: Path, opening: Opening
) -> None:
    promises = Promises()
    for seed in range(KILLS):
        write_and_kill(home, seed, promises)
        with opening() as engine:
            assert broken_promises(engine, promises) == []

    assert len(promises.kept) > KILLS


def test_a_second_process_is_told_who_has_the_store(home: Path, opening: Opening) -> None:
    command = [sys.executable, str(WRITER), str(home), "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            with pytest.raises(StoreLocked, match=str(process.pid)), opening():
                pass
        finally:
            process.kill()


def leave_free(disk: Path, megabytes: int) -> None:
    """Fill the disk with something else."""
    excess = shutil.disk_usage(disk).free - megabytes * 2**20
    with (disk / f"ballast-{megabytes}").open("wb") as ballast:
        ballast.write(bytes(excess))


def fill(engine: Engine, kept: list[Added]) -> None:
    """Keep memories until there is no room for another."""
    while True:
        content = f"memory {len(kept)} " + "words " * 5_000
        kept.append(add_memory(engine, SHOP, NewMemory("design", content)))


@needs_mount
def test_a_full_disk_is_said_plainly_and_loses_nothing(tmp_path: Path) -> None:
    kept: list[Added] = []
    with small_disk(tmp_path / "disk", 288) as disk:
        environ = {"BACKSTORY_HOME": str(disk / "home"), "BACKSTORY_MIN_FREE_MB": "80"}
        with open_engine(read_settings(environ)) as engine:
            kept.append(add_memory(engine, SHOP, NewMemory("design", "while there was room")))
            leave_free(disk, 2)
            with pytest.raises(StoreFull) as full:
                fill(engine, kept)
            assert all(get_memory(engine, SHOP, each.memory.id).memory == each.memory for each in kept)

        (disk / "ballast-2").unlink()
        with open_engine(read_settings(environ)) as engine:
            while upkeep(engine, Work()):
                pass
            assert reconcile(engine, Work()) == Reconciled(0, 0)
            assert sum(statistics(engine, SHOP).memories.values()) == len(kept)

    assert "free some space" in (full.value.hint or "")
    assert kept[0].pending == ()
    assert "BACKSTORY_MIN_FREE_MB" in kept[-1].pending[0]


@needs_mount
def test_a_read_only_disk_is_said_plainly(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 288) as disk:
        settings = read_settings({"BACKSTORY_HOME": str(disk / "home"), "BACKSTORY_MIN_FREE_MB": "1"})
        with open_engine(settings) as engine:
            add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

        with pytest.raises(StoreReadOnly) as refused, open_engine(settings):
            pass

        assert refused.value.hint
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with open_engine(settings) as engine:
            assert search_memories(engine, SHOP, MemoryQuery("jittered")).hits


def test_damaged_records_are_reported_and_never_overwritten(home: Path, opening: Opening) -> None:
    with opening() as engine:
        for number in range(50):
            add_memory(engine, SHOP, NewMemory("design", f"memory {number} " + "words " * 100))
    records = home / "backstory.db"
    damaged = bytearray(records.read_bytes())
    damaged[4096 * 4 : 4096 * 12] = b"\xff" * 4096 * 8
    records.write_bytes(damaged)

    with pytest.raises(StoreCorrupt) as refused, opening():
        pass

    assert "restore" in (refused.value.hint or "")
    assert records.read_bytes() == bytes(damaged)


@pytest.mark.parametrize("folder", ["vectors", "graph"])
def test_damaged_projections_are_made_again_from_the_records(
    home: Path, opening: Opening, folder: str
) -> None:
    with opening() as engine:
        id = add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff.")).memory.id
    for path in (home / folder).rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage" * 100)

    with opening() as engine:
        assert [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery("jittered")).hits] == [id]
        rebuild(engine, Work())
        after = search_memories(engine, SHOP, MemoryQuery("jittered"))
        assert [hit.memory.id for hit in after.hits] == [id]
        assert after.degraded == []
        assert reconcile(engine, Work()) == Reconciled(0, 0)
