"""Writing live conversations: through the actions, on embedded engines."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from backstory.actions.conversations import background
from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.catching_up import CaughtUp, catch_up
from backstory.actions.conversations.change import (
    delete_conversation,
    restore_conversation,
    update_conversation,
)
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.transcripts.browse import list_conversations
from backstory.engine import Engine, LiveStorages, Work
from backstory.errors import InputError, NotFound, StoreCorrupt, StoreUnavailable
from backstory.model.live import (
    ConversationChange,
    ConversationNews,
    LiveConversation,
    LiveTurn,
    NewTurn,
    TurnWindow,
)
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.ports import ConversationStorage
from backstory.records.conversations import Conversations
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .conftest import Opening
from .doubles import Unreliable
from .live_talk import BANK, SHOP, added, begin, found, kept, say, search, settle

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store in which each test has a room of its own."""
    settings = {"BACKSTORY_HOME": str(tmp_path_factory.mktemp("live")), "BACKSTORY_MIN_FREE_MB": "1"}
    with open_engine(read_settings(settings)) as engine:
        yield engine


@pytest.fixture
def room(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def said_before(room: str, query: str) -> NewTurn:
    """A turn that comes from elsewhere."""
    return NewTurn(f"{room} {query}", query, "Yes.", datetime(2026, 3, 2, 9, tzinfo=UTC))


def titles(engine: Engine, scope: Scope = SHOP) -> dict[str, str]:
    listed = list_conversations(engine, scope, limit=100)
    return {each.id: each.title.text for each in listed.conversations}


def test_a_room_has_one_conversation_in_each_interface_and_project(shared: Engine, room: str) -> None:
    first = create_conversation(shared, SHOP, Wanted("cli", room))
    again = create_conversation(shared, SHOP, Wanted("cli", room, title="Another"))
    others = {begin(shared, room, interface_type="matrix"), begin(shared, room, BANK)}

    assert (first.is_new, again.is_new) == (True, False)
    assert again.conversation == first.conversation
    assert len({first.conversation.id, *others}) == 3


def test_a_conversation_is_listed_before_anything_is_said_in_it(shared: Engine, room: str) -> None:
    id = begin(shared, room, title="Standup")

    assert titles(shared)[id] == "Standup"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Wanted("", "lobby"), "interface_type is empty"),
        (Wanted("cli", "  "), "room_id is empty"),
        (Wanted("cli", "lob\nby"), "printable"),
        (Wanted("cli", "r" * 301), "at most 300"),
        (Wanted("c" * 101, "lobby"), "at most 100"),
        (Wanted("cli", "lobby", title="t" * 201), "more than 200"),
        (Wanted("cli", f"lobby {TOKEN}"), "looks like a secret"),
        (Wanted("cli", "lobby", metadata={"a": {1, 2}}), "not JSON"),
        (Wanted("cli", "lobby", metadata={"a": "x" * 20_000}), "larger than 16,384"),
        (Wanted("cli", "lobby", metadata={"a": "\ud800"}), "not valid Unicode"),
    ],
)
def test_what_cannot_name_a_conversation_is_refused(shared: Engine, wanted: Wanted, why: str) -> None:
    with pytest.raises(InputError, match=why):
        create_conversation(shared, SHOP, wanted)


def test_a_turn_is_found_by_its_words_at_once(shared: Engine, room: str) -> None:
    id = begin(shared, room)

    say(shared, id, "Which port does the ledger use?", "The ledger listens on 7443.")

    assert found(shared, id, "ledger port") == {1}


def test_a_turn_is_found_by_its_meaning_once_the_worker_has_seen_it(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    say(shared, id, "The invoice PDF uses the Helvetica typeface.")
    say(shared, id, "Users sign in with a password and a one-time code.")

    settle(shared)

    best = search(shared, "authentication login", conversation=id).hits[0]
    assert best.turn == 2
    assert "meaning" in best.parts


def test_a_turn_is_found_by_what_was_said_before_it(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    for number in range(30):
        say(shared, id, f"Matter {number} is ordinary.", "Noted.")
    say(shared, id, "Shall we use Redis for sessions?")
    say(shared, id, "Yes, do that.")

    settle(shared)

    hits = {hit.turn: hit.parts for hit in search(shared, "Redis sessions", conversation=id).hits}
    assert "window words" in hits[32]


def test_turns_are_numbered_in_order_and_threaded_by_their_parents(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    first = say(shared, id, "Blue or green?")
    other = say(shared, id, "Unrelated.")
    answer = say(shared, id, "Blue.", parent=first.id)

    assert [turn.number for turn in (first, other, answer)] == [1, 2, 3]
    assert (answer.thread, other.thread) == (first.id, other.id)
    assert kept(shared, id) == [first, other, answer]


def test_a_search_can_be_confined_to_user_thread_metadata_room_and_interface(
    shared: Engine, room: str
) -> None:
    id = begin(shared, room)
    first = say(shared, id, "The kiln is hot.", user_id="ada", metadata={"urgent": True})
    say(shared, id, "The kiln is cold.", user_id="bob", metadata={"urgent": False, "level": 3})
    say(shared, id, "The kiln glows.", user_id="bob", parent=first.id)
    settle(shared)

    assert found(shared, id, "kiln", user="ada") == {1}
    assert found(shared, id, "kiln", thread=first.id) == {1, 3}
    assert found(shared, id, "kiln", metadata={"urgent": True}) == {1}
    assert found(shared, id, "kiln", metadata={"level": 3}) == {2}
    assert found(shared, id, "kiln", room=room, interface_type="cli") == {1, 2, 3}
    assert found(shared, id, "kiln", room="elsewhere") == set()


def test_the_same_words_under_the_same_key_are_kept_once(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    asked = Said("Deploy it.", "Done.", user_id="ada")

    first, again = (add_turn(shared, SHOP, id, asked, "request-1").turn for _ in range(2))
    other = add_turn(shared, SHOP, id, replace(asked, query="Deploy it again."), "request-1").turn

    assert first == again
    assert kept(shared, id) == [first, other]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Said("  "), "query is empty"),
        (Said("x" * 1_000_001), "more than 1,000,000"),
        (Said("Hello", "\ud800"), "not valid Unicode"),
        (Said("Hello", at=datetime(2026, 3, 2, tzinfo=UTC).replace(tzinfo=None)), "time without a zone"),
        (Said("Hello", at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))), "no year of UTC"),
        (Said("Hello", parent="nothing"), "no turn nothing"),
        (Said("Hello", user_id=TOKEN), "looks like a secret"),
        (Said("Hello", user_name="n" * 201), "more than 200"),
        (Said("Hello", metadata={"a": float("nan")}), "not JSON"),
    ],
)
def test_what_cannot_be_a_turn_is_refused_and_nothing_is_kept(
    shared: Engine, room: str, said: Said, why: str
) -> None:
    id = begin(shared, room)

    with pytest.raises(InputError, match=why):
        add_turn(shared, SHOP, id, said)

    assert kept(shared, id) == []


def test_a_turn_is_added_only_to_a_conversation_that_is_there_and_in_scope(shared: Engine, room: str) -> None:
    id = begin(shared, room, BANK)

    for scope, named in ((SHOP, id), (ALL_PROJECTS, "nothing")):
        with pytest.raises(NotFound):
            add_turn(shared, scope, named, Said("Hello"))

    assert add_turn(shared, ALL_PROJECTS, id, Said("Hello")).turn.number == 1


def test_secrets_are_nowhere_in_what_is_kept(shared: Engine, room: str) -> None:
    metadata = {"note": TOKEN, "deep": {"list": [TOKEN]}, "db_password": "hunter2-Xy77", "count": 3}
    id = begin(shared, room, title=f"Use {TOKEN}", metadata=metadata)
    say(shared, id, f"My token is {TOKEN}", f"Never show {TOKEN}", user_name=TOKEN, metadata=metadata)

    held = shared.live.storage.get(id)
    assert held is not None
    assert held.metadata == {
        "note": "[redacted: github token]",
        "deep": {"list": ["[redacted: github token]"]},
        "db_password": "[redacted: password]",
        "count": 3,
    }
    assert TOKEN not in repr((held, kept(shared, id), search(shared, "token", conversation=id).hits))


def test_whoever_listens_is_told_of_what_comes_grows_and_goes(shared: Engine, room: str) -> None:
    told: list[ConversationNews] = []
    stop = shared.changes.listen(told.append)
    id = begin(shared, room)
    say(shared, id, "Hello")
    update_conversation(shared, SHOP, id, title="Greetings")
    delete_conversation(shared, SHOP, id)
    stop()

    assert [news.is_listed_anew for news in told] == [True, False, False, True]
    assert {(news.conversation, news.room) for news in told} == {(id, room)}


def test_whoever_writes_wakes_the_worker(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    woken = shared.bell.ear()

    say(shared, id, "Hello")

    assert woken.is_set()


def test_a_conversation_without_a_title_is_named_by_its_first_words(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    say(shared, id, "Where is the attic key?")
    say(shared, id, "And the cellar key?")
    assert titles(shared)[id] == "Where is the attic key?"

    update_conversation(shared, SHOP, id, title="Keys")
    assert titles(shared)[id] == "Keys"

    update_conversation(shared, SHOP, id, title="")
    assert titles(shared)[id] == "Where is the attic key?"


def test_metadata_is_merged_and_what_is_set_to_nothing_is_removed(shared: Engine, room: str) -> None:
    id = begin(shared, room, metadata={"a": 1, "b": 2, "unset": None})

    changed = update_conversation(shared, SHOP, id, metadata={"b": None, "c": 3})

    assert changed.conversation.metadata == {"a": 1, "c": 3}
    with pytest.raises(InputError, match="nothing to change"):
        update_conversation(shared, SHOP, id)


def test_metadata_cannot_grow_beyond_its_limit_bit_by_bit(shared: Engine, room: str) -> None:
    id = begin(shared, room, metadata={"first": "x" * 10_000})

    with pytest.raises(InputError, match="larger than 16,384 bytes"):
        update_conversation(shared, SHOP, id, metadata={"second": "y" * 10_000})
    update_conversation(shared, SHOP, id, metadata={"first": None, "second": "y" * 10_000})


def test_a_deleted_conversation_is_not_found_and_leaves_its_room(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    say(shared, id, "The orchid is watered.")
    settle(shared)

    first = delete_conversation(shared, SHOP, id)
    settle(shared)

    assert search(shared, "orchid", room=room).hits == []
    assert id not in titles(shared)
    assert delete_conversation(shared, SHOP, id).conversation == first.conversation
    for refused in (
        lambda: say(shared, id, "Hello"),
        lambda: update_conversation(shared, SHOP, id, title="x"),
    ):
        with pytest.raises(NotFound, match="deleted"):
            refused()
    assert begin(shared, room) != id


def test_a_deleted_conversation_can_be_taken_back(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    settle(shared)
    shared.live.storage.append(id, [said_before(room, f"Orchid {number}") for number in range(150)])
    say(shared, id, "The last orchid is watered.")
    delete_conversation(shared, SHOP, id)
    other = begin(shared, room)

    with pytest.raises(InputError, match=f"another conversation by now: {other}"):
        restore_conversation(shared, SHOP, id)
    delete_conversation(shared, SHOP, other)
    restored = restore_conversation(shared, SHOP, id)

    assert restored.conversation.deleted_at is None
    assert restore_conversation(shared, SHOP, id).conversation == restored.conversation
    assert 151 in found(shared, id, "last orchid watered")


class _Contested:
    """A storage in which somebody deletes a conversation as soon as it is taken back."""

    def __init__(self, storage: ConversationStorage) -> None:
        self._storage = storage

    def change(self, id: str, change: ConversationChange) -> LiveConversation | None:
        changed = self._storage.change(id, change)
        if change.deleted is False:
            self._storage.change(id, replace(change, deleted=True))
        return changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def test_a_conversation_that_is_deleted_while_it_is_taken_back_is_not_found(
    shared: Engine, room: str
) -> None:
    contested = _Contested(shared.live.storage)
    engine = replace(shared, live=LiveStorages(lambda _: contested, "records"))
    id = begin(engine, room)
    say(engine, id, "The orchid is watered.")
    delete_conversation(engine, SHOP, id)

    restore_conversation(engine, SHOP, id)

    assert search(engine, "orchid watered", room=room).hits == []


def test_many_may_write_at_once(shared: Engine, room: str) -> None:
    id = begin(shared, room)

    def write(user: str) -> None:
        for number in range(10):
            say(shared, id, f"{user} says {number}", user_id=user)

    writers = [threading.Thread(target=write, args=(user,)) for user in ("ada", "bob", "cy", "di")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [turn.number for turn in kept(shared, id)] == list(range(1, 41))
    said = [turn.query for turn in kept(shared, id) if turn.user_id == "ada"]
    assert said == [f"ada says {number}" for number in range(10)]
    assert catch_up(shared, Work()) == CaughtUp()


@pytest.mark.parametrize("part", ["vectors", "embedder"])
def test_while_an_engine_is_down_turns_are_kept_and_found_by_their_words(engine: Engine, part: str) -> None:
    broken = Unreliable(getattr(engine, part))
    limping = replace(engine, **{part: broken})  # type: ignore[arg-type]  # fits by duck typing
    id = begin(limping, "lobby")
    say(limping, id, "The invoice PDF uses the Helvetica typeface.")
    settle(limping)

    broken.down = True
    outcome = added(limping, id, "Users sign in with a password and a one-time code.")
    with pytest.raises(StoreUnavailable):
        settle(limping)

    assert outcome.waits == ()
    assert 2 in found(limping, id, "one-time code")
    broken.down = False
    settle(limping)
    assert "meaning" in search(engine, "authentication login", conversation=id).hits[0].parts


@contextmanager
def copies_failing() -> Iterator[None]:
    def fail(*_: object, **__: object) -> int:
        raise StoreUnavailable("the records are busy", hint="wait")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Conversations, "append", fail)
        yield


def test_a_turn_whose_copy_fails_is_kept_and_copied_later(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    settle(shared)

    with copies_failing():
        outcome = added(shared, id, "The anvil is heavy.")

    assert outcome.waits == ("not found by search yet: the records are busy",)
    assert kept(shared, id) == [outcome.turn]
    assert found(shared, id, "anvil") == set()
    assert background.step(shared, Work())
    assert found(shared, id, "anvil") == {1}


def test_while_copies_fail_the_worker_says_so_and_tries_again(shared: Engine, room: str) -> None:
    with copies_failing():
        id = begin(shared, room, title="Anvils")
        with pytest.raises(StoreUnavailable):
            background.step(shared, Work())

    assert id not in titles(shared)
    assert background.step(shared, Work())
    assert titles(shared)[id] == "Anvils"


def test_while_copies_fail_the_worker_rests_between_its_tries(shared: Engine, room: str) -> None:
    with copies_failing():
        begin(shared, room)
        woken = shared.bell.ear()
        with pytest.raises(StoreUnavailable):
            background.step(shared, Work())

    assert not woken.is_set()
    settle(shared)


def test_a_title_that_was_taken_away_while_copies_failed_goes_later(shared: Engine, room: str) -> None:
    id = begin(shared, room, title="Anvils")
    say(shared, id, "Hammers are better.")
    with copies_failing():
        update_conversation(shared, SHOP, id, title="")

    settle(shared)

    assert titles(shared)[id] == "Hammers are better."


def test_a_turn_does_not_wait_until_thousands_before_it_are_copied(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    settle(shared)
    shared.live.storage.append(id, [said_before(room, f"Harbour {number}") for number in range(700)])

    outcome = added(shared, id, "The lighthouse is lit.")

    assert len(outcome.waits) == 1
    assert found(shared, id, "lighthouse") == set()
    settle(shared)
    assert 701 in found(shared, id, "lighthouse")


def test_the_next_turn_brings_along_what_the_copy_lacks(shared: Engine, room: str) -> None:
    id = begin(shared, room)
    with copies_failing():
        say(shared, id, "The anvil is heavy.")

    say(shared, id, "Who lifts the anvil?")

    assert found(shared, id, "anvil") == {1, 2}


def test_a_deleted_conversation_that_could_not_be_forgotten_is_forgotten_later(
    shared: Engine, room: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("the records are busy", hint="wait")

    id = begin(shared, room)
    say(shared, id, "The anvil is heavy.")
    with monkeypatch.context() as patch:
        patch.setattr(Conversations, "shorten", fail)
        outcome = delete_conversation(shared, SHOP, id)

    assert outcome.waits == ("still found by search: the records are busy",)
    assert found(shared, id, "anvil") == {1}
    assert background.step(shared, Work())
    assert search(shared, "anvil", room=room).hits == []


def test_what_others_wrote_into_the_storage_is_found_after_the_next_start(opening: Opening) -> None:
    with opening() as engine:
        grown, deleted = begin(engine, "grown"), begin(engine, "deleted")
        say(engine, deleted, "The harbour is closed.")
        engine.live.storage.append(grown, [said_before("", f"Harbour {number}") for number in range(300)])
        engine.live.storage.change(deleted, ConversationChange(datetime.now(UTC), deleted=True))

    with opening() as engine:
        settle(engine)

        assert 300 in found(engine, grown, "harbour 299")
        assert list(titles(engine)) == [grown]
        assert catch_up(engine, Work()) == CaughtUp()


def test_what_is_not_in_the_storage_any_more_is_not_found_after_the_next_start(home: object) -> None:
    settings = read_settings(
        {
            "BACKSTORY_HOME": str(home),
            "BACKSTORY_MIN_FREE_MB": "1",
            "BACKSTORY_CONVERSATION_STORAGE": "memory",
        }
    )
    with open_engine(settings) as engine:
        id = begin(engine, "lobby")
        say(engine, id, "The harbour is closed.")
        assert found(engine, id, "harbour") == {1}

    with open_engine(settings) as engine:
        settle(engine)

        assert search(engine, "harbour").hits == []
        assert titles(engine) == {}


def test_catching_up_goes_on_where_it_was_stopped(engine: Engine) -> None:
    ids: Sequence[str] = [begin(engine, room) for room in ("a", "b", "c")]
    for id in ids:
        engine.live.storage.append(id, [said_before(id, f"Harbour {number}") for number in range(150)])

    first = catch_up(engine, Work(), most_turns=200)
    second = catch_up(engine, Work())

    assert not first.is_whole
    assert first.turns < 450
    assert (first.turns + second.turns, first.conversations + second.conversations) == (450, 3)


class _Lossy:
    """A storage that has lost what was said in one conversation."""

    def __init__(self, storage: ConversationStorage) -> None:
        self._storage = storage
        self.lost = ""

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        return [] if id == self.lost else self._storage.turns(id, window)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


def test_a_conversation_that_cannot_be_read_holds_up_no_other(engine: Engine) -> None:
    lossy = _Lossy(engine.live.storage)
    limping = replace(engine, live=LiveStorages(lambda _: lossy, "records"))
    ids = [begin(limping, room) for room in ("a", "b", "c")]
    for id in ids:
        lossy.append(id, [said_before(id, "The harbour is open.")])
    lossy.lost = min(ids)

    with pytest.raises(StoreCorrupt, match=lossy.lost):
        catch_up(limping, Work())

    assert {hit.conversation.id for hit in search(limping, "harbour").hits} == {*ids} - {lossy.lost}


def test_a_conversation_that_cannot_be_read_holds_up_no_summary(engine: Engine) -> None:
    lossy = _Lossy(engine.live.storage)
    limping = replace(engine, live=LiveStorages(lambda _: lossy, "records"))
    lossy.lost, whole = begin(limping, "a"), begin(limping, "b")
    lossy.append(lossy.lost, [said_before("a", "The harbour is open.")])
    for number in range(11):
        say(limping, whole, f"Crate {number} goes to Oslo.")

    with pytest.raises(StoreCorrupt):
        settle(limping)

    assert lossy.get(whole).summarized_to == 5


def test_a_worker_with_nothing_to_do_rests(engine: Engine) -> None:
    settle(engine)

    assert not background.step(engine, Work())
