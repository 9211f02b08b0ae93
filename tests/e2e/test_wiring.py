"""What is opened for which settings."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backstory.actions.conversations.migrate import CHOICE
from backstory.actions.maintenance.statistics import statistics
from backstory.actions.memory.add import add_memory
from backstory.errors import InputError, SettingsError, StoreCorrupt
from backstory.model.live import ConversationChange, ConversationCriteria, NewConversation, TurnWindow
from backstory.model.memory import NewMemory
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.summary import Summary
from backstory.ports import ConversationStorage
from backstory.records.records import Records
from backstory.settings import read_settings
from backstory.wiring import open_engine

SHOP = Project("shop")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "variables",
    [
        {"QDRANT_URL": "http://localhost:6333"},
        {"NEO4J_URI": "bolt://localhost:7687"},
        {"BACKSTORY_DATABASE_URL": "postgresql://localhost/backstory"},
        {"BACKSTORY_EMBEDDER": "ollama"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_an_engine_this_version_cannot_use_is_refused_with_what_to_do(
    variables: dict[str, str], home: Path
) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), **variables})

    with pytest.raises(SettingsError) as refused, open_engine(settings):
        pass

    assert refused.value.hint


def test_without_a_cache_everything_works_as_well(home: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), "EMBEDDING_CACHE_SIZE": "0"})

    with open_engine(settings) as engine:
        assert statistics(engine, ALL_PROJECTS).memories == {}

    assert not (home / "cache").exists()


def test_an_empty_store_is_ready_and_closed_without_a_trace_of_a_crash(home: Path) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home)})

    for _ in range(2):
        with open_engine(settings) as engine, engine.records.reading() as records:
            assert not records.store.get("suspect")


@pytest.mark.parametrize(
    ("moved_to", "setting", "used"),
    [
        (None, None, "records"),
        (None, "jsonl", "jsonl"),
        ("jsonl", None, "jsonl"),
        ("jsonl", "records", "records"),
        ("jsonl", "memory", "memory"),
    ],
)
def test_live_conversations_are_where_a_setting_says_else_where_they_were_moved_to(
    home: Path, moved_to: str | None, setting: str | None, used: str
) -> None:
    chosen = {"BACKSTORY_CONVERSATION_STORAGE": setting} if setting else {}
    _remember_that_they_were_moved(home, moved_to)

    with open_engine(read_settings({"BACKSTORY_HOME": str(home), **chosen})) as engine:
        assert engine.live.name == used


def test_conversations_in_a_place_of_another_version_are_not_left_behind_in_silence(home: Path) -> None:
    _remember_that_they_were_moved(home, "paper")

    with (
        pytest.raises(InputError, match="cannot be kept in paper"),
        open_engine(read_settings({"BACKSTORY_HOME": str(home)})),
    ):
        pass


def _remember_that_they_were_moved(home: Path, to: str | None) -> None:
    with Records.open(home / "backstory.db") as records, records.writing() as transaction:
        if to:
            transaction.store.put(CHOICE, to)


@pytest.mark.parametrize(
    "ask",
    [
        lambda storage: storage.create(NewConversation("a", SHOP, "bot", "room", NOON)),
        lambda storage: storage.append("a", []),
        lambda storage: storage.get("a"),
        lambda storage: storage.turns("a", TurnWindow()),
        lambda storage: storage.summarize("a", Summary("", 1, 1, 0, "nobody")),
        lambda storage: storage.change("a", ConversationChange(NOON)),
        lambda storage: storage.find(ConversationCriteria()),
    ],
    ids=["create", "append", "get", "turns", "summarize", "change", "find"],
)
def test_damaged_files_of_conversations_keep_nothing_else_from_opening(
    home: Path, ask: Callable[[ConversationStorage], object]
) -> None:
    settings = read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_CONVERSATION_STORAGE": "jsonl"})
    settings.context.storage_path.mkdir(parents=True)
    (settings.context.storage_path / "000001.0.jsonl").write_text('{"format":1}\nthis is no line\n')

    with open_engine(settings) as engine:
        add_memory(engine, SHOP, NewMemory("design", "Retries use jittered backoff."))
        with pytest.raises(StoreCorrupt, match=r"000001\.0\.jsonl") as refused:
            ask(engine.live.storage)

    assert refused.value.hint
