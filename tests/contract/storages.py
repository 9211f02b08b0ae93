"""The storages of live conversations, each opened in a folder, and made-up conversations for them."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from backstory.adapters.conversations.in_memory import InMemoryConversationStorage
from backstory.adapters.conversations.jsonl import JsonlConversationStorage
from backstory.adapters.conversations.records import RecordsConversationStorage
from backstory.model.live import LiveConversation, LiveTurn, NewConversation, NewTurn, TurnWindow
from backstory.model.project import Project
from backstory.ports import ConversationStorage
from backstory.records.records import Records

Opening = Callable[[Path], AbstractContextManager[ConversationStorage]]

SHOP, BANK = Project("shop"), Project("bank")
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERYTHING: Final = TurnWindow()


@contextmanager
def in_memory(folder: Path) -> Iterator[ConversationStorage]:
    yield InMemoryConversationStorage()


@contextmanager
def in_records(folder: Path) -> Iterator[ConversationStorage]:
    with Records.open(folder / "records.db") as records:
        yield RecordsConversationStorage(records)


@contextmanager
def in_files(folder: Path, *, max_file_bytes: int = 2_000) -> Iterator[ConversationStorage]:
    """With files so small that many tests need several."""
    with JsonlConversationStorage.open(
        folder / "context", max_file_bytes=max_file_bytes, compaction_interval_s=0
    ) as storage:
        yield storage


@contextmanager
def throwaway_folder() -> Iterator[Path]:
    """A folder for what need not reach a disk: in memory, where that is a folder, writing takes no time."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


STORAGES: dict[str, Opening] = {"in-memory": in_memory, "records": in_records, "jsonl": in_files}
LASTING: Final = ("records", "jsonl")


def id_of(number: int) -> str:
    return str(UUID(int=number))


def minutes(count: float) -> datetime:
    """So many minutes after noon."""
    return NOON + timedelta(minutes=count)


def conversation(number: int = 1, room: str = "", *, project: Project = SHOP) -> NewConversation:
    """A conversation in a room of its own, unless one is named."""
    return NewConversation(id_of(number), project, "matrix", room or f"!room-{number}", NOON)


def turn(number: int, parent: int | None = None, *, query: str = "") -> NewTurn:
    """A turn a minute after the one before it."""
    return NewTurn(
        id_of(1_000 + number),
        query or f"question {number}",
        f"answer {number}",
        minutes(number),
        parent=id_of(1_000 + parent) if parent else "",
    )


def held(storage: ConversationStorage, id: str, *, summaries: int = 0) -> LiveConversation:
    """The conversation, which is there; its summaries in a tuple, whatever they came in."""
    kept = storage.get(id, summaries=summaries)
    assert kept
    return replace(kept, summaries=tuple(kept.summaries))


def numbers(turns: list[LiveTurn]) -> list[int]:
    return [turn.number for turn in turns]
