"""Moving live conversations from one place to another: nothing is lost, and nothing comes twice."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backstory.actions.conversations.change import delete_conversation, update_conversation
from backstory.actions.conversations.migrate import CHOICE, Migrated, migrate_conversations
from backstory.actions.conversations.summarizing import summarize_now
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, InputError, StoreError
from backstory.model.conversation import Role
from backstory.model.live import (
    ConversationCriteria,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .live_talk import BANK, SHOP, added, begin, found, say, settle

Holding = dict[str, tuple[LiveConversation, list[LiveTurn]]]


def fill(engine: Engine) -> None:
    """Conversations of every kind: long, empty, changed, summed up, and deleted, one room after another."""
    long = begin(engine, "long", metadata={"topic": "crates", "gone": 1})
    first = say(
        engine, long, "Crate 0?", "Here.", user_id="ada", user_name="Ada", metadata={"n": [1, {"a": 2}]}
    )
    engine.live.storage.append(
        long,
        [
            NewTurn(f"turn {number}", f"Crate {number}?", "", first.at, parent=first.id if number % 2 else "")
            for number in range(1, 230)
        ],
    )
    summarize_now(engine, SHOP, long)
    update_conversation(engine, SHOP, long, title="Crates", metadata={"gone": None})
    begin(engine, "empty", BANK)
    for words in ("The first tenant.", "The second tenant."):
        former = begin(engine, "shared")
        say(engine, former, words, "Gone.")
        summarize_now(engine, SHOP, former)
        delete_conversation(engine, SHOP, former)
    say(engine, begin(engine, "shared"), "The present tenant.")


def held(engine: Engine) -> Holding:
    """All that the present storage has; of deleted ones, what they are."""
    storage = engine.live.storage
    found = storage.find(ConversationCriteria(deleted=None)).conversations
    whole = [storage.get(each.id, summaries=1_000) or each for each in found]
    return {
        each.id: (
            replace(each, summaries=list(each.summaries)),
            [] if each.deleted_at else storage.turns(each.id, TurnWindow()),
        )
        for each in whole
    }


@pytest.mark.parametrize("way", [("jsonl", "memory", "records"), ("memory", "jsonl", "records")])
def test_everything_is_the_same_in_every_place(engine: Engine, way: Sequence[str]) -> None:
    fill(engine)
    before = held(engine)

    for place in way:
        migrate_conversations(engine, place, Work())

        assert engine.live.name == place
        assert held(engine) == before
    assert len(before) == 5


def test_a_migration_says_what_it_moved_and_moves_nothing_twice(engine: Engine) -> None:
    fill(engine)

    assert migrate_conversations(engine, "jsonl", Work()) == Migrated(5, 233, 48)
    assert migrate_conversations(engine, "jsonl", Work()) == Migrated()
    assert migrate_conversations(engine, "records", Work()) == Migrated()


def test_what_is_written_afterwards_is_in_the_new_place(engine: Engine) -> None:
    id = begin(engine, "lobby")
    say(engine, id, "The gate is open.")
    old = engine.live.storage

    migrate_conversations(engine, "jsonl", Work())
    say(engine, id, "The gate is closed.")
    settle(engine)

    assert len(old.turns(id, TurnWindow())) == 1
    assert len(engine.live.storage.turns(id, TurnWindow())) == 2
    assert found(engine, id, "gate") == {1, 2}


def test_turns_that_are_written_meanwhile_are_moved_too(engine: Engine) -> None:
    fill(engine)
    id = begin(engine, "busy")
    going = threading.Event()

    def write() -> None:
        for number in range(40):
            say(engine, id, f"Line {number}")
            going.set()

    writer = threading.Thread(target=write)
    writer.start()
    going.wait()
    migrate_conversations(engine, "jsonl", Work())
    writer.join()

    lines = [turn.query for turn in engine.live.storage.turns(id, TurnWindow())]
    assert lines == [f"Line {number}" for number in range(40)]


def test_the_choice_is_remembered_unless_it_is_memory(engine: Engine) -> None:
    migrate_conversations(engine, "jsonl", Work())
    migrate_conversations(engine, "memory", Work())

    with engine.records.reading() as records:
        assert records.store.get(CHOICE) == "jsonl"


def test_a_migration_that_is_stopped_goes_on_when_it_is_run_again(engine: Engine) -> None:
    fill(engine)
    before = held(engine)
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps > 3:
            work.cancel()

    work = Work(count)
    with pytest.raises(Cancelled):
        migrate_conversations(engine, "jsonl", work)
    assert engine.live.name == "records"
    assert held(engine) == before

    migrate_conversations(engine, "jsonl", Work())
    assert held(engine) == before


def test_what_changed_since_an_earlier_migration_is_changed_there_too(engine: Engine) -> None:
    fill(engine)
    kept, left = begin(engine, "kept", metadata={"a": 1}), begin(engine, "left")
    migrate_conversations(engine, "jsonl", Work())
    engine.live.use("records")
    say(engine, kept, "Something new.")
    update_conversation(engine, SHOP, kept, title="New", metadata={"a": None, "b": 2})
    delete_conversation(engine, SHOP, left)
    say(engine, begin(engine, "left"), "Another tenant.")
    after = held(engine)

    migrate_conversations(engine, "jsonl", Work())

    assert held(engine) == after


def test_what_the_other_place_has_beside_stays_there(engine: Engine) -> None:
    moved = begin(engine, "moved")
    now = datetime.now(UTC)
    other = engine.live.named("jsonl")
    other.create(NewConversation("beside", SHOP, "cli", "beside", now))
    other.append("beside", [NewTurn("turn", "The windmill turns.", "", now)])

    migrate_conversations(engine, "jsonl", Work())
    settle(engine)

    assert set(held(engine)) == {moved, "beside"}
    assert found(engine, "beside", "windmill") == {1}


def test_two_conversations_of_one_room_are_not_mixed(engine: Engine) -> None:
    own = begin(engine, "lobby")
    other = engine.live.named("jsonl")
    other.create(NewConversation("foreign", SHOP, "cli", "lobby", datetime.now(UTC)))

    with pytest.raises(InputError) as refused:
        migrate_conversations(engine, "jsonl", Work())

    assert own in str(refused.value)
    assert "foreign" in str(refused.value)
    assert engine.live.name == "records"


def test_two_histories_of_one_conversation_are_not_mixed(engine: Engine) -> None:
    id = begin(engine, "lobby")
    say(engine, id, "One.")
    migrate_conversations(engine, "jsonl", Work())
    say(engine, id, "Two, in the files.")
    engine.live.use("records")
    say(engine, id, "Two, in the records.")
    say(engine, id, "Three, in the records.")

    with pytest.raises(StoreError, match=id):
        migrate_conversations(engine, "jsonl", Work())

    assert len(engine.live.named("jsonl").turns(id, TurnWindow())) == 2


def test_of_two_migrations_at_once_one_stops_before_it_undoes_what_came_after_the_other(
    engine: Engine,
) -> None:
    id = begin(engine, "a")
    say(engine, id, "The first tenant.")
    steps = 0

    def overtaken(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == 1:
            migrate_conversations(engine, "jsonl", Work())
            delete_conversation(engine, SHOP, id)

    with pytest.raises(InputError, match="moved the conversations to jsonl"):
        migrate_conversations(engine, "jsonl", Work(overtaken))

    (conversation,) = engine.live.storage.find(ConversationCriteria(deleted=None)).conversations
    assert conversation.deleted_at


def test_search_knows_a_conversation_as_the_place_does_that_is_in_use(home: Path) -> None:
    def opened(place: str) -> AbstractContextManager[Engine]:
        settings = {
            "BACKSTORY_HOME": str(home),
            "BACKSTORY_MIN_FREE_MB": "1",
            "BACKSTORY_CONVERSATION_STORAGE": place,
        }
        return open_engine(read_settings(settings))

    def words(engine: Engine, id: str) -> list[str]:
        with engine.records.reading() as records:
            return [turn.texts[Role.USER] for turn in records.conversations.turns(id, offset=0, limit=9)]

    with opened("records") as engine:
        id = begin(engine, "a")
        say(engine, id, "Both know this.")
        migrate_conversations(engine, "jsonl", Work())
        say(engine, id, "The files know this.")
        settle(engine)
    with opened("records") as engine:
        assert added(engine, id, "The records know this.").waits
        settle(engine)

        assert words(engine, id) == ["Both know this.", "The records know this."]
        assert added(engine, id, "And this.").waits == ()
    with opened("jsonl") as engine:
        settle(engine)

        assert words(engine, id) == ["Both know this.", "The files know this."]


def test_an_unknown_place_is_refused(engine: Engine) -> None:
    with pytest.raises(InputError, match="no place 'moon'"):
        migrate_conversations(engine, "moon", Work())
