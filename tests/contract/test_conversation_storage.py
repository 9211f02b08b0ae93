"""What every ConversationStorage promises, asked of every implementation."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from backstory.errors import InputError, NotFound
from backstory.model.live import ConversationChange, ConversationCriteria, Metadata, NewTurn, TurnWindow
from backstory.model.summary import Summary
from backstory.ports import ConversationStorage
from tests.contract.storages import (
    BANK,
    EVERYTHING,
    LASTING,
    NOON,
    SHOP,
    STORAGES,
    Opening,
    conversation,
    held,
    id_of,
    minutes,
    numbers,
    throwaway_folder,
    turn,
)

TALK = id_of(1)
NOBODY = id_of(404)


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest) -> Iterator[ConversationStorage]:
    with throwaway_folder() as folder, STORAGES[request.param](folder) as opened:
        yield opened


@pytest.fixture
def talk(storage: ConversationStorage) -> ConversationStorage:
    """A storage with one conversation of five turns."""
    storage.create(conversation())
    storage.append(TALK, [turn(number) for number in range(1, 6)])
    return storage


def summary(first: int, last: int) -> Summary:
    return Summary(f"turns {first} to {last}", first, last, 7, "extractive-1", "short", minutes(last))


def found(storage: ConversationStorage, criteria: ConversationCriteria) -> list[str]:
    return [each.id for each in storage.find(criteria).conversations]


def delete(storage: ConversationStorage, id: str, at: datetime = NOON) -> None:
    assert storage.change(id, ConversationChange(at, deleted=True))


class TestBeginning:
    def test_a_conversation_is_kept_as_it_was_begun(self, storage: ConversationStorage) -> None:
        new = replace(conversation(), title="Checkout", metadata={"team": "payments"})

        begun = storage.create(new)

        assert begun == held(storage, TALK)
        assert (begun.id, begun.project, begun.interface_type, begun.room) == (
            TALK,
            SHOP,
            "matrix",
            "!room-1",
        )
        assert (begun.title, begun.metadata) == ("Checkout", {"team": "payments"})
        assert (begun.created_at, begun.updated_at, begun.deleted_at) == (NOON, NOON, None)
        assert (begun.turns, begun.summarized_to, list(begun.summaries)) == (0, 0, [])

    def test_beginning_it_twice_is_beginning_it_once(self, talk: ConversationStorage) -> None:
        again = talk.create(replace(conversation(), title="Another", room="!elsewhere"))

        assert again == held(talk, TALK)
        assert (again.title, again.room, again.turns) == ("", "!room-1", 5)
        assert found(talk, ConversationCriteria()) == [TALK]

    def test_a_room_that_has_a_conversation_gives_that_one_back(self, talk: ConversationStorage) -> None:
        given = talk.create(replace(conversation(2, "!room-1"), title="Another"))

        assert given == held(talk, TALK)
        assert talk.get(id_of(2)) is None

    def test_rooms_of_other_projects_and_interfaces_are_other_rooms(
        self, storage: ConversationStorage
    ) -> None:
        several = [
            conversation(1, "!one"),
            conversation(2, "!one", project=BANK),
            replace(conversation(3, "!one"), interface_type="discord"),
            conversation(4, "!ONE"),
        ]

        assert [storage.create(new).id for new in several] == [new.id for new in several]

    def test_a_deleted_conversation_leaves_its_room(self, talk: ConversationStorage) -> None:
        delete(talk, TALK)

        assert talk.create(conversation(2, "!room-1")).id == id_of(2)

    def test_beginning_a_deleted_one_again_gives_it_back_deleted(self, talk: ConversationStorage) -> None:
        delete(talk, TALK)

        again = talk.create(conversation())

        assert again.deleted_at == NOON
        assert found(talk, ConversationCriteria()) == []

    def test_threads_that_want_the_same_room_get_the_same_conversation(
        self, storage: ConversationStorage
    ) -> None:
        together = threading.Barrier(8)

        def begin(number: int) -> str:
            together.wait()
            return storage.create(conversation(number, "!one")).id

        with ThreadPoolExecutor(8) as threads:
            ids = set(threads.map(begin, range(1, 9)))

        assert found(storage, ConversationCriteria()) == sorted(ids)
        assert len(ids) == 1


class TestAppending:
    def test_turns_are_numbered_from_one_on_and_kept_as_they_were_said(
        self, storage: ConversationStorage
    ) -> None:
        storage.create(conversation())
        first = replace(turn(1), user_id="@ann", user_name="Ann", metadata={"mood": "good"})

        (one,) = storage.append(TALK, [first])
        two, three = storage.append(TALK, [turn(2), turn(3)])

        assert storage.turns(TALK, EVERYTHING) == [one, two, three]
        assert numbers([one, two, three]) == [1, 2, 3]
        assert (one.id, one.conversation, one.query, one.response) == (
            first.id,
            TALK,
            "question 1",
            "answer 1",
        )
        assert (one.at, one.user_id, one.user_name, one.metadata) == (
            minutes(1),
            "@ann",
            "Ann",
            {"mood": "good"},
        )
        assert (two.parent, two.thread, two.user_id, two.metadata) == ("", two.id, "", {})

    def test_a_conversation_counts_its_turns_and_knows_its_latest(self, talk: ConversationStorage) -> None:
        talk.append(TALK, [replace(turn(6), at=minutes(-90))])

        kept = held(talk, TALK)
        assert (kept.turns, kept.created_at, kept.updated_at) == (6, NOON, minutes(5))

    def test_a_turn_whose_id_is_known_is_given_as_it_was_kept(self, talk: ConversationStorage) -> None:
        (kept,) = talk.turns(TALK, TurnWindow(2, 2))

        again = talk.append(TALK, [replace(turn(2, 404), query="something else", at=minutes(99))])

        assert again == [kept]
        assert held(talk, TALK) == replace(talk.create(conversation()), turns=5, updated_at=minutes(5))

    def test_known_and_new_turns_may_come_together(self, talk: ConversationStorage) -> None:
        assert numbers(talk.append(TALK, [turn(6), turn(2), turn(6), turn(7)])) == [6, 2, 6, 7]
        assert numbers(talk.turns(TALK, EVERYTHING)) == [1, 2, 3, 4, 5, 6, 7]

    def test_the_same_id_in_another_conversation_is_another_turn(self, talk: ConversationStorage) -> None:
        talk.create(conversation(2))

        (other,) = talk.append(id_of(2), [replace(turn(3), query="elsewhere")])

        assert (other.number, other.query) == (1, "elsewhere")

    def test_nothing_may_be_appended(self, talk: ConversationStorage) -> None:
        before = held(talk, TALK)

        assert talk.append(TALK, []) == []
        assert held(talk, TALK) == before

    def test_a_thread_is_named_by_its_first_turn(self, talk: ConversationStorage) -> None:
        six, seven = talk.append(TALK, [turn(6, 2), turn(7, 6)])
        (eight,) = talk.append(TALK, [turn(8, 7)])

        assert [each.parent for each in (six, seven, eight)] == [turn(2).id, six.id, seven.id]
        assert {each.thread for each in (six, seven, eight)} == {turn(2).id}

    @pytest.mark.parametrize("parent", [404, 7, 8], ids=["nobody", "itself", "one that comes later"])
    def test_a_parent_that_is_not_there_before_it_refuses_them_all(
        self, talk: ConversationStorage, parent: int
    ) -> None:
        before = held(talk, TALK)

        with pytest.raises(NotFound, match=id_of(1_000 + parent)) as refused:
            talk.append(TALK, [turn(6), turn(7, parent), turn(8)])

        assert "parent_turn_id" in (refused.value.hint or "")
        assert held(talk, TALK) == before
        assert numbers(talk.turns(TALK, EVERYTHING)) == [1, 2, 3, 4, 5]

    def test_a_parent_in_another_conversation_is_not_there(self, talk: ConversationStorage) -> None:
        talk.create(conversation(2))

        with pytest.raises(NotFound):
            talk.append(id_of(2), [turn(6, 1)])

    def test_turns_of_many_threads_are_numbered_without_gaps(self, storage: ConversationStorage) -> None:
        storage.create(conversation())

        with ThreadPoolExecutor(8) as threads:
            given = list(threads.map(lambda number: storage.append(TALK, [turn(number)]), range(1, 41)))

        kept = storage.turns(TALK, EVERYTHING)
        assert numbers(kept) == list(range(1, 41))
        assert sorted((one for (one,) in given), key=lambda one: one.number) == kept


class TestReading:
    @pytest.mark.parametrize(
        ("window", "expected"),
        [
            (EVERYTHING, [1, 2, 3, 4, 5]),
            (TurnWindow(2, 4), [2, 3, 4]),
            (TurnWindow(newest=2), [4, 5]),
            (TurnWindow(1, 3, newest=2), [2, 3]),
            (TurnWindow(4), [4, 5]),
            (TurnWindow(-3, 2), [1, 2]),
            (TurnWindow(4, 99), [4, 5]),
            (TurnWindow(6), []),
            (TurnWindow(4, 3), []),
            (TurnWindow(1, 0), []),
            (TurnWindow(1, -1), []),
            (TurnWindow(newest=0), []),
            (TurnWindow(ids=[turn(4).id, turn(2).id, NOBODY, turn(4).id]), [2, 4]),
            (TurnWindow(ids=[turn(number).id for number in range(1, 6)], newest=2), [4, 5]),
            (TurnWindow(3, ids=[turn(1).id, turn(3).id]), [3]),
            (TurnWindow(ids=[]), []),
        ],
    )
    def test_a_window_shows_its_turns_in_order(
        self, talk: ConversationStorage, window: TurnWindow, expected: list[int]
    ) -> None:
        assert numbers(talk.turns(TALK, window)) == expected

    def test_turns_said_at_the_same_time_stay_in_the_order_they_were_kept(
        self, storage: ConversationStorage
    ) -> None:
        storage.create(conversation())
        given = [replace(turn(number), at=NOON) for number in (9, 1, 5)]

        storage.append(TALK, given)

        assert [each.id for each in storage.turns(TALK, EVERYTHING)] == [each.id for each in given]

    def test_more_turns_than_one_file_or_page_holds_are_read(self, storage: ConversationStorage) -> None:
        storage.create(conversation())
        storage.append(TALK, [turn(number) for number in range(1, 1_201)])

        assert numbers(storage.turns(TALK, TurnWindow(newest=20))) == list(range(1_181, 1_201))
        assert len(storage.turns(TALK, EVERYTHING)) == 1_000
        every_id = [turn(number).id for number in range(1, 1_201)]
        assert len(storage.turns(TALK, TurnWindow(ids=every_id, newest=2_000))) == 1_200


class TestWhoIsNotThere:
    @pytest.fixture(params=["nobody", "deleted"])
    def absent(self, request: pytest.FixtureRequest, talk: ConversationStorage) -> str:
        if request.param == "nobody":
            return NOBODY
        delete(talk, TALK)
        return TALK

    def test_whoever_names_it_is_told(self, talk: ConversationStorage, absent: str) -> None:
        for ask in (
            lambda: talk.append(absent, [turn(6)]),
            lambda: talk.append(absent, []),
            lambda: talk.summarize(absent, summary(1, 2)),
        ):
            with pytest.raises(NotFound, match=absent) as refused:
                ask()
            assert "create_conversation" in (refused.value.hint or "")

    def test_what_was_said_in_a_deleted_one_can_still_be_read(self, talk: ConversationStorage) -> None:
        before = talk.turns(TALK, EVERYTHING)
        delete(talk, TALK)

        assert talk.turns(TALK, EVERYTHING) == before

    def test_what_was_never_there_is_neither_given_nor_changed(self, storage: ConversationStorage) -> None:
        with pytest.raises(NotFound, match=NOBODY):
            storage.turns(NOBODY, EVERYTHING)
        assert storage.get(NOBODY) is None
        assert storage.change(NOBODY, ConversationChange(NOON, title="x")) is None
        assert storage.change(NOBODY, ConversationChange(NOON, deleted=False)) is None


class TestSummaries:
    def test_summaries_follow_one_another_without_gaps(self, talk: ConversationStorage) -> None:
        assert talk.summarize(TALK, summary(1, 2))
        assert talk.summarize(TALK, summary(3, 3))

        kept = held(talk, TALK, summaries=10)
        assert kept.summarized_to == 3
        assert kept.summaries == (summary(1, 2), summary(3, 3))
        assert (kept.turns, kept.updated_at) == (5, minutes(5))

    @pytest.mark.parametrize(("first", "last"), [(1, 2), (2, 3), (4, 5), (3, 6), (3, 2), (0, 0)], ids=str)
    def test_one_that_begins_elsewhere_or_ends_beyond_is_not_kept(
        self, talk: ConversationStorage, first: int, last: int
    ) -> None:
        talk.summarize(TALK, summary(1, 2))

        assert not talk.summarize(TALK, summary(first, last))

        kept = held(talk, TALK, summaries=10)
        assert (kept.summarized_to, kept.summaries) == (2, (summary(1, 2),))

    def test_as_many_as_are_asked_for_come_the_newest_of_them_oldest_first(
        self, talk: ConversationStorage
    ) -> None:
        for number in range(1, 5):
            talk.summarize(TALK, summary(number, number))

        shown = [held(talk, TALK, summaries=count).summaries for count in (0, 2, 9)]

        assert [[each.first_turn for each in few] for few in shown] == [[], [3, 4], [1, 2, 3, 4]]

    def test_a_summary_without_a_time_or_a_note_is_kept_so(self, talk: ConversationStorage) -> None:
        plain = Summary("short", 1, 2, 1, "extractive-1")
        talk.summarize(TALK, plain)

        kept = held(talk, TALK, summaries=1)
        assert kept.summaries == (plain,)


class TestChanging:
    def test_a_title_and_metadata_become_different_and_the_rest_stays(
        self, storage: ConversationStorage
    ) -> None:
        begun = storage.create(replace(conversation(), title="Old", metadata={"a": 1, "b": 2, "c": 3}))
        change = ConversationChange(minutes(9), title="New", metadata={"b": None, "c": [4], "d": {"e": None}})

        changed = storage.change(TALK, change)

        assert changed == held(storage, TALK)
        assert changed == replace(
            begun, title="New", metadata={"a": 1, "c": [4], "d": {"e": None}}, updated_at=minutes(9)
        )

    def test_none_leaves_a_thing_as_it_is_and_an_empty_title_does_not(
        self, storage: ConversationStorage
    ) -> None:
        begun = storage.create(replace(conversation(), title="Old", metadata={"a": 1}))

        assert storage.change(TALK, ConversationChange(NOON)) == begun
        assert storage.change(TALK, ConversationChange(NOON, title="")) == replace(begun, title="")

    def test_a_change_of_the_past_leaves_the_time_of_the_latest(self, talk: ConversationStorage) -> None:
        changed = talk.change(TALK, ConversationChange(minutes(-9), title="Late"))

        assert changed
        assert (changed.title, changed.updated_at, changed.turns) == ("Late", minutes(5), 5)

    def test_a_deleted_conversation_is_still_known_and_can_be_taken_back(
        self, talk: ConversationStorage
    ) -> None:
        talk.summarize(TALK, summary(1, 2))
        before = held(talk, TALK, summaries=5)
        delete(talk, TALK, minutes(7))
        gone = held(talk, TALK, summaries=5)

        talk.change(TALK, ConversationChange(minutes(8), deleted=False))

        assert gone == replace(before, deleted_at=minutes(7), updated_at=minutes(7))
        assert held(talk, TALK, summaries=5) == replace(before, updated_at=minutes(8))
        assert numbers(talk.turns(TALK, EVERYTHING)) == [1, 2, 3, 4, 5]
        assert talk.create(conversation(2, "!room-1")).id == TALK

    def test_a_deleted_conversation_can_be_changed_and_was_deleted_when_it_was_first(
        self, talk: ConversationStorage
    ) -> None:
        delete(talk, TALK, minutes(7))
        talk.change(TALK, ConversationChange(minutes(8), title="still there"))
        delete(talk, TALK, minutes(9))

        gone = held(talk, TALK)

        assert (gone.deleted_at, gone.title, gone.updated_at) == (minutes(7), "still there", minutes(9))

    def test_one_whose_room_has_another_is_not_taken_back(self, talk: ConversationStorage) -> None:
        delete(talk, TALK)
        talk.create(conversation(2, "!room-1"))

        with pytest.raises(InputError, match=id_of(2)) as refused:
            talk.change(TALK, ConversationChange(NOON, title="New", deleted=False))

        kept = held(talk, TALK)
        assert (kept.title, kept.deleted_at) == ("", NOON)
        assert refused.value.hint
        delete(talk, id_of(2))
        assert talk.change(TALK, ConversationChange(NOON, deleted=False))


class TestFinding:
    @pytest.fixture
    def several(self, storage: ConversationStorage) -> ConversationStorage:
        storage.create(replace(conversation(3), metadata={"team": "payments", "tags": ["a", {"b": 1}]}))
        storage.create(replace(conversation(1), interface_type="discord", metadata={"team": "search"}))
        storage.create(conversation(2, project=BANK))
        storage.create(replace(conversation(4), created_at=minutes(60)))
        storage.append(id_of(1), [turn(1), turn(2), turn(3)])
        storage.summarize(id_of(1), summary(1, 2))
        storage.append(id_of(2), [turn(10)])
        storage.append(id_of(3), [turn(20), turn(21)])
        delete(storage, id_of(3), minutes(30))
        return storage

    @pytest.mark.parametrize(
        ("criteria", "expected"),
        [
            (ConversationCriteria(), [1, 2, 4]),
            (ConversationCriteria(scope=SHOP), [1, 4]),
            (ConversationCriteria(scope=BANK), [2]),
            (ConversationCriteria(interface_type="discord"), [1]),
            (ConversationCriteria(room="!room-2"), [2]),
            (ConversationCriteria(deleted=True), [3]),
            (ConversationCriteria(deleted=None), [1, 2, 3, 4]),
            (ConversationCriteria(since=minutes(10)), [2, 4]),
            (ConversationCriteria(until=minutes(10)), [1, 2]),
            (ConversationCriteria(since=minutes(3), until=minutes(3)), [1]),
            (ConversationCriteria(metadata={"team": "search"}), [1]),
            (ConversationCriteria(metadata={"team": "payments"}), []),
            (ConversationCriteria(metadata={"tags": ["a", {"b": 1}]}, deleted=None), [3]),
            (ConversationCriteria(metadata={"tags": ["a"]}, deleted=None), []),
            (ConversationCriteria(metadata={"team": "search", "tags": 1}), []),
            (ConversationCriteria(unsummarized_over=0), [1, 2]),
            (ConversationCriteria(unsummarized_over=1), []),
            (ConversationCriteria(unsummarized_over=1, deleted=None), [3]),
            (ConversationCriteria(unsummarized_over=0, deleted=True), [3]),
            (ConversationCriteria(after=id_of(1)), [2, 4]),
            (ConversationCriteria(after=id_of(4)), []),
            (ConversationCriteria(scope=SHOP, room="!room-2"), []),
        ],
    )
    def test_all_conditions_hold_and_ids_come_in_order(
        self, several: ConversationStorage, criteria: ConversationCriteria, expected: list[int]
    ) -> None:
        page = several.find(criteria)

        assert [each.id for each in page.conversations] == [id_of(number) for number in expected]
        assert not page.more

    def test_what_is_found_is_what_is_kept_but_for_the_summaries(self, several: ConversationStorage) -> None:
        page = several.find(ConversationCriteria(deleted=None))

        assert list(page.conversations) == [held(several, id_of(number)) for number in (1, 2, 3, 4)]

    def test_pages_follow_one_another_until_there_are_no_more(self, storage: ConversationStorage) -> None:
        for number in range(1, 8):
            storage.create(replace(conversation(number), metadata={"odd": number % 2 == 1}))
        pages, after, more = [], "", True
        while more:
            page = storage.find(ConversationCriteria(metadata={"odd": True}, after=after, limit=2))
            pages.append([each.id for each in page.conversations])
            after, more = pages[-1][-1], page.more

        assert pages == [[id_of(1), id_of(3)], [id_of(5), id_of(7)]]


TEXTS = {
    "unicode": "Grüße \u7528\u8fd9\u4e2a \U0001f9e0 e\u0301 \u202eabc",
    "NUL and controls": "a\0b\x01\x1f\x7f\x85\u2028c",
    "line breaks": '"one"\r\ntwo\rthree\n\n\\n',
    "a megabyte": "wörter " * 150_000,
    "nothing": "",
}


class TestWhatIsKept:
    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
    def test_texts_come_back_as_they_were_given(self, storage: ConversationStorage, text: str) -> None:
        storage.create(replace(conversation(), title=text, metadata={text: text}))
        said = replace(
            turn(1), query=text, response=text, user_id=text, user_name=text, metadata={text: [text]}
        )

        (kept,) = storage.append(TALK, [said])
        storage.summarize(TALK, replace(summary(1, 1), text=text, note=text))

        assert storage.turns(TALK, EVERYTHING) == [kept]
        assert (kept.query, kept.response, kept.user_id, kept.user_name) == (text, text, text, text)
        assert kept.metadata == {text: [text]}
        head = held(storage, TALK, summaries=1)
        assert (head.title, head.metadata) == (text, {text: text})
        assert (head.summaries[0].text, head.summaries[0].note) == (text, text)

    def test_metadata_comes_back_as_json_has_it(self, storage: ConversationStorage) -> None:
        given: Metadata = {
            "text": "x",
            "whole": 2**63 - 1,
            "least": -(2**63),
            "broken": 0.1,
            "tiny": 5e-324,
            "yes": True,
            "nothing": None,
            "list": [1, [2.5, []], {}],
            "pair": (1, 2),
            "object": {"a": {"b": [None]}},
            "": "no name",
        }
        storage.create(replace(conversation(), metadata=given))
        storage.append(TALK, [replace(turn(1), metadata=given)])

        head = held(storage, TALK)
        for kept in (head.metadata, storage.turns(TALK, EVERYTHING)[0].metadata):
            assert kept == {**given, "pair": [1, 2]}
            assert [type(kept[key]) for key in ("whole", "broken", "yes")] == [int, float, bool]

    def test_what_the_caller_does_with_its_metadata_afterwards_changes_nothing(
        self, storage: ConversationStorage
    ) -> None:
        tags = ["a"]
        metadata = {"tags": tags}
        storage.create(replace(conversation(), metadata=metadata))

        tags.append("b")
        metadata["more"] = tags

        head = held(storage, TALK)
        assert head.metadata == {"tags": ["a"]}

    def test_times_are_the_same_moments_in_whatever_zone(self, storage: ConversationStorage) -> None:
        kathmandu = timezone(timedelta(hours=5, minutes=45))
        at = datetime(2026, 3, 1, 17, 45, 0, 123_457, tzinfo=kathmandu)
        storage.create(replace(conversation(), created_at=at))
        (kept,) = storage.append(TALK, [replace(turn(1), at=at + timedelta(microseconds=1))])

        head = held(storage, TALK)
        assert head.created_at == at
        assert head.updated_at == kept.at == at + timedelta(microseconds=1)
        assert storage.turns(TALK, EVERYTHING) == [kept]
        assert found(storage, ConversationCriteria(since=kept.at.astimezone(kathmandu))) == [TALK]
        assert found(storage, ConversationCriteria(since=kept.at + timedelta(microseconds=1))) == []


def deep_list(levels: int) -> object:
    return [deep_list(levels - 1)] if levels else "deep"


def deep_object(levels: int) -> object:
    return {"a": deep_object(levels - 1)} if levels else "deep"


BAD_METADATA: dict[str, dict[object, object]] = {
    "lone surrogate": {"a": ["\ud800"]},
    "lone surrogate in a key": {"\udfff": 1},
    "not a number": {"a": float("nan")},
    "infinite": {"a": {"b": float("inf")}},
    "too large": {"a": 2**63},
    "no JSON": {"a": {1, 2}},
    "bytes": {"a": b"x"},
    "key that is no text": {"a": {1: 2}},
    "a list too deep": {"a": deep_list(500)},
    "an object too deep": {"a": deep_object(500)},
}


HALF = "half \ud83e"


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "half",
        [
            replace(turn(7), query=HALF),
            replace(turn(7), response=HALF),
            replace(turn(7), user_id=HALF),
            replace(turn(7), user_name=HALF),
        ],
        ids=["query", "response", "user_id", "user_name"],
    )
    def test_half_a_surrogate_pair_is_refused_before_anything_is_written(
        self, talk: ConversationStorage, half: NewTurn
    ) -> None:
        before = held(talk, TALK)

        with pytest.raises(InputError, match="Unicode") as refused:
            talk.append(TALK, [turn(6), half])

        assert "surrogate" in (refused.value.hint or "")
        assert held(talk, TALK) == before
        assert numbers(talk.append(TALK, [turn(7)])) == [6]

    def test_half_a_surrogate_pair_is_refused_everywhere(self, talk: ConversationStorage) -> None:
        for refused in (
            lambda: talk.create(replace(conversation(2), title=HALF)),
            lambda: talk.create(conversation(2, HALF)),
            lambda: talk.change(TALK, ConversationChange(NOON, title=HALF)),
            lambda: talk.summarize(TALK, replace(summary(1, 2), text=HALF)),
        ):
            with pytest.raises(InputError, match="Unicode"):
                refused()

        assert found(talk, ConversationCriteria()) == [TALK]

    @pytest.mark.parametrize("metadata", BAD_METADATA.values(), ids=BAD_METADATA.keys())
    def test_metadata_that_is_no_json_is_refused(self, talk: ConversationStorage, metadata: Metadata) -> None:
        before = held(talk, TALK)

        for refused in (
            lambda: talk.create(replace(conversation(2), metadata=metadata)),
            lambda: talk.append(TALK, [replace(turn(6), metadata=metadata)]),
            lambda: talk.change(TALK, ConversationChange(NOON, metadata=metadata)),
        ):
            with pytest.raises(InputError) as error:
                refused()
            assert error.value.hint

        assert held(talk, TALK) == before
        assert found(talk, ConversationCriteria()) == [TALK]

    def test_a_time_without_a_zone_is_refused(self, talk: ConversationStorage) -> None:
        bare = NOON.replace(tzinfo=None)
        for refused in (
            lambda: talk.create(replace(conversation(2), created_at=bare)),
            lambda: talk.append(TALK, [replace(turn(6), at=bare)]),
            lambda: talk.change(TALK, ConversationChange(bare, title="x")),
            lambda: talk.summarize(TALK, replace(summary(1, 2), at=bare)),
        ):
            with pytest.raises(InputError, match="zone"):
                refused()


@pytest.mark.parametrize("name", LASTING)
def test_everything_is_there_after_opening_again(name: str, tmp_path: Path) -> None:
    opening: Opening = STORAGES[name]
    with opening(tmp_path) as storage:
        storage.create(replace(conversation(), title="One", metadata={"a": [1]}))
        storage.append(TALK, [turn(1), turn(2, 1), turn(3, 2)])
        storage.summarize(TALK, summary(1, 2))
        storage.change(TALK, ConversationChange(minutes(9), title="Two"))
        storage.create(conversation(2, "!two"))
        delete(storage, id_of(2))
        storage.create(conversation(3, "!two"))
        kept = [held(storage, id_of(number), summaries=5) for number in (1, 2, 3)]
        turns = storage.turns(TALK, EVERYTHING)

    with opening(tmp_path) as storage:
        assert [held(storage, id_of(number), summaries=5) for number in (1, 2, 3)] == kept
        assert storage.turns(TALK, EVERYTHING) == turns
        assert numbers(storage.append(TALK, [turn(3), turn(4, 3)])) == [3, 4]
        assert storage.turns(TALK, TurnWindow(4))[0].thread == turn(1).id
        assert storage.create(conversation(9, "!two")).id == id_of(3)
        assert not storage.summarize(TALK, summary(1, 2))
        assert storage.summarize(TALK, summary(3, 3))
