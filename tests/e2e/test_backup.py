"""The whole store in one file, and back."""

import json
import sqlite3
import threading
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.maintenance import backup as backing
from backstory.actions.maintenance.restore import Place, restore
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.errors import InputError, StoreCorrupt, StoreError, StoreLocked, StoreTooNew
from backstory.model.graph import GraphKey
from backstory.model.live import TurnWindow
from backstory.model.memory import NewMemory
from backstory.model.project import Project
from backstory.model.search import MemoryQuery
from backstory.records.migrations import SCHEMA_VERSION
from backstory.settings import Settings
from backstory.wiring import open_engine

from .conftest import Opening
from .hosting import settings_for

SHOP = Project("shop")


@pytest.fixture
def place(settings: Settings) -> Place:
    where = settings.whereabouts
    return Place(where.records, settings.context.storage_path, where.owner_lock, [where.vectors, where.graph])


def back_up(engine: Engine, target: Path) -> backing.BackedUp:
    """A backup of a store whose conversations lie where they do by default."""
    return backing.back_up(engine, target, engine.home / "data" / "context")


def remember(engine: Engine, content: str) -> str:
    return add_memory(engine, SHOP, NewMemory("design", content)).memory.id


def repacked(backup: Path, parts: Mapping[str, bytes]) -> None:
    """Make the backup one with other parts in it."""
    with zipfile.ZipFile(backup) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(backup, "w") as archive:
        for name, content in {**kept, **parts}.items():
            archive.writestr(name, content)


def found(engine: Engine, text: str) -> list[str]:
    while upkeep(engine, Work()):
        pass
    return [hit.memory.id for hit in search_memories(engine, SHOP, MemoryQuery(text)).hits]


def test_a_restored_backup_answers_as_the_store_did(opening: Opening, place: Place, tmp_path: Path) -> None:
    with opening() as engine:
        kept = remember(engine, "Retries use jittered backoff.")
        backed_up = back_up(engine, tmp_path / "monday.backup")
        later = remember(engine, "Written after the backup.")
    assert backed_up.memories == 1

    restored = restore(tmp_path / "monday.backup", place)

    assert restored.memories == 1
    with opening() as engine:
        assert found(engine, "jittered") == [kept]
        assert later not in found(engine, "written after")
        with engine.records.reading() as records:
            generation = records.generations.live("graph")
        assert generation is not None
        assert sum(engine.graph.describe(GraphKey(SHOP, generation.number)).nodes.values()) == 1


def test_what_a_restore_replaces_is_kept(opening: Opening, place: Place, tmp_path: Path) -> None:
    with opening() as engine:
        back_up(engine, tmp_path / "empty.backup")
        remember(engine, "Written after the backup.")

    restored = restore(tmp_path / "empty.backup", place)

    assert restored.replaced is not None
    with sqlite3.connect(restored.replaced / "backstory.db") as old:
        assert old.execute("SELECT text FROM passages").fetchall() == [("Written after the backup.",)]
    old.close()


def test_a_damaged_store_is_replaced_and_its_files_are_kept(
    opening: Opening, place: Place, tmp_path: Path
) -> None:
    with opening() as engine:
        kept = remember(engine, "Retries use jittered backoff.")
        back_up(engine, tmp_path / "monday.backup")
    place.records.write_bytes(b"garbage" * 1000)

    restored = restore(tmp_path / "monday.backup", place)

    assert restored.replaced is not None
    assert (restored.replaced / "backstory.db").read_bytes() == b"garbage" * 1000
    with opening() as engine:
        assert found(engine, "jittered") == [kept]


def test_a_backup_can_be_restored_where_there_was_nothing(opening: Opening, tmp_path: Path) -> None:
    with opening() as engine:
        remember(engine, "Retries use jittered backoff.")
        back_up(engine, tmp_path / "monday.backup")
    elsewhere = tmp_path / "elsewhere"

    restored = restore(
        tmp_path / "monday.backup",
        Place(elsewhere / "backstory.db", elsewhere / "context", elsewhere / "owner.lock", []),
    )

    assert restored.replaced is None
    assert restored.memories == 1


def test_a_backup_is_taken_while_others_write(opening: Opening, place: Place, tmp_path: Path) -> None:
    with opening() as engine:
        stop = threading.Event()
        first = remember(engine, "the first of many")
        written: list[str] = []

        def write() -> None:
            while not stop.is_set():
                written.append(remember(engine, "one of many"))

        writer = threading.Thread(target=write)
        writer.start()
        backed_up = back_up(engine, tmp_path / "busy.backup")
        stop.set()
        writer.join()
    assert 1 <= backed_up.memories <= 1 + len(written)

    restore(tmp_path / "busy.backup", place)

    with opening() as engine:
        assert first in found(engine, "first")


def test_a_backup_never_overwrites_a_file(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")

    with pytest.raises(InputError, match="exists already"):
        back_up(engine, tmp_path / "mine.txt")

    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_backup_into_a_folder_that_is_not_there_says_so(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(StoreError) as refused:
        back_up(engine, tmp_path / "nowhere" / "x.backup")

    assert refused.value.hint


def test_a_store_in_use_is_not_replaced(opening: Opening, place: Place, tmp_path: Path) -> None:
    with opening() as engine:
        remember(engine, "in use")
        back_up(engine, tmp_path / "x.backup")

        with pytest.raises(StoreLocked):
            restore(tmp_path / "x.backup", place)

        assert found(engine, "use")


@pytest.mark.parametrize("damage", ["cut", "flipped", "no backup", "empty"])
def test_a_damaged_backup_is_refused_and_the_store_stays(
    opening: Opening, place: Place, tmp_path: Path, damage: str
) -> None:
    backup = tmp_path / "x.backup"
    with opening() as engine:
        for number in range(20):
            kept = remember(engine, f"memory {number}")
        back_up(engine, backup)
    good = backup.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0xFF
    backup.write_bytes(
        {"cut": good[: len(good) // 2], "flipped": bytes(flipped), "no backup": b"x" * 999, "empty": b""}[
            damage
        ]
    )

    with pytest.raises(StoreCorrupt) as refused:
        restore(backup, place)

    assert refused.value.hint
    with opening() as engine:
        assert kept in found(engine, "memory 19")


def test_a_backup_of_a_newer_version_is_refused(opening: Opening, place: Place, tmp_path: Path) -> None:
    with opening() as engine:
        back_up(engine, tmp_path / "x.backup")
    with zipfile.ZipFile(tmp_path / "x.backup") as archive:
        told = json.loads(archive.read("manifest.json"))
    manifest = json.dumps({**told, "schema_version": SCHEMA_VERSION + 1})
    repacked(tmp_path / "x.backup", {"manifest.json": manifest.encode()})

    with pytest.raises(StoreTooNew):
        restore(tmp_path / "x.backup", place)


class TestConversationFiles:
    """Live conversations that are kept in files of their own go into the backup, and come back."""

    @pytest.fixture
    def files(self, place: Place) -> Path:
        place.conversations.mkdir(parents=True)
        return place.conversations

    def test_they_are_as_they_were(self, opening: Opening, place: Place, files: Path, tmp_path: Path) -> None:
        (files / "1.jsonl").write_bytes(b'{"said": "then"}\n')
        with opening() as engine:
            back_up(engine, tmp_path / "x.backup")
        (files / "1.jsonl").write_bytes(b'{"said": "since"}\n')
        (files / "2.jsonl").write_bytes(b'{"said": "later"}\n')
        (files / "notes.txt").write_text("not ours")

        restored = restore(tmp_path / "x.backup", place)

        assert restored.conversation_files == 1
        assert {each.name for each in files.iterdir()} == {"1.jsonl", "notes.txt"}
        assert (files / "1.jsonl").read_bytes() == b'{"said": "then"}\n'
        assert (files / "1.jsonl").stat().st_mode & 0o077 == 0
        assert restored.replaced is not None
        assert (restored.replaced / "context" / "1.jsonl").read_bytes() == b'{"said": "since"}\n'
        assert (restored.replaced / "context" / "2.jsonl").read_bytes() == b'{"said": "later"}\n'

    def test_what_was_said_until_then_is_read_from_them_again(self, home: Path, tmp_path: Path) -> None:
        settings = settings_for(home, BACKSTORY_CONVERSATION_STORAGE="jsonl")
        where, files = settings.whereabouts, settings.context.storage_path
        with open_engine(settings) as engine:
            id = create_conversation(engine, SHOP, Wanted("cli", "kitchen")).conversation.id
            add_turn(engine, SHOP, id, Said("How many onions?"))
            back_up(engine, tmp_path / "x.backup")
            add_turn(engine, SHOP, id, Said("How much salt?"))

        restore(
            tmp_path / "x.backup",
            Place(where.records, files, where.owner_lock, [where.vectors, where.graph]),
        )

        with open_engine(settings) as engine:
            said = [turn.query for turn in engine.live.storage.turns(id, TurnWindow())]
            add_turn(engine, SHOP, id, Said("How much pepper?"))
            now = engine.live.storage.get(id)
        assert said == ["How many onions?"]
        assert now is not None
        assert now.turns == 2

    def test_a_backup_without_any_leaves_none(
        self, opening: Opening, place: Place, files: Path, tmp_path: Path
    ) -> None:
        with opening() as engine:
            back_up(engine, tmp_path / "x.backup")
        (files / "1.jsonl").write_bytes(b"{}\n")

        restore(tmp_path / "x.backup", place)

        assert list(files.iterdir()) == []

    def test_a_damaged_one_is_noticed(
        self, opening: Opening, place: Place, files: Path, tmp_path: Path
    ) -> None:
        (files / "1.jsonl").write_bytes(b"{}\n")
        with opening() as engine:
            back_up(engine, tmp_path / "x.backup")
        repacked(tmp_path / "x.backup", {"conversations/1.jsonl": b"[]\n"})

        with pytest.raises(StoreCorrupt, match=r"1\.jsonl"):
            restore(tmp_path / "x.backup", place)

        assert (files / "1.jsonl").read_bytes() == b"{}\n"

    @pytest.mark.parametrize("name", ["../token", "/etc/passwd", "..", "a/b.jsonl"])
    def test_a_backup_cannot_write_elsewhere(
        self, opening: Opening, place: Place, tmp_path: Path, name: str
    ) -> None:
        with opening() as engine:
            back_up(engine, tmp_path / "x.backup")
        with zipfile.ZipFile(tmp_path / "x.backup") as archive:
            told = json.loads(archive.read("manifest.json"))
        told["files_sha256"] = {name: sha256(b"x").hexdigest()}
        repacked(
            tmp_path / "x.backup",
            {"manifest.json": json.dumps(told).encode(), f"conversations/{name}": b"x"},
        )

        with pytest.raises(StoreCorrupt):
            restore(tmp_path / "x.backup", place)
