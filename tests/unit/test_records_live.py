"""What the records promise of live conversations: each turn costs the same, however many there are."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import ClauseElement, Column, Table, event, select

from backstory.actions.projection.conversation_graph import change_of
from backstory.adapters.conversations.records import RecordsConversationStorage
from backstory.model.conversation import Conversation, KeptTurn, Message, Role
from backstory.model.graph import GraphKey, NodeType, RelationshipType
from backstory.model.keeping import NewMessage, key_of
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    LiveConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Where
from backstory.model.summary import Summary
from backstory.model.transcript import Title, TitleSource
from backstory.model.upkeep import Target
from backstory.ranking.turns import conversation_passage, cues_of, message_passage
from backstory.ranking.words import terms
from backstory.records import live, marks, schema
from backstory.records.records import Begin, Records, Transaction

from .plans import check_way

SHOP, BANK = Project("shop"), Project("bank")
BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
MANY = 10_000


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "backstory.db") as opened:
        yield opened


def at(turn: int) -> datetime:
    return BEGAN + timedelta(minutes=turn)


@dataclass(frozen=True)
class Chat:
    """A live conversation as a test tells it: what was said in each turn, by the user and by the agent."""

    said: Sequence[tuple[str, str]] = ()
    id: str = "chat"
    project: Project = SHOP
    title: str = ""
    room: str = "!lobby"

    @property
    def conversation(self) -> Conversation:
        title = Title(self.title, TitleSource.CUSTOM) if self.title else Title()
        return Conversation(
            self.id, self.project, "matrix", title=title, started_at=BEGAN, room=self.room, is_live=True
        )

    @property
    def key(self) -> str:
        return key_of(self.project, self.id)

    def turn(self, number: int) -> KeptTurn:
        ids = {new.message.role: new.message.id for new in self.messages(number)}
        return KeptTurn(number, at(number), at(number), messages=ids)

    def messages(self, number: int) -> list[NewMessage]:
        pairs = zip((Role.USER, Role.ASSISTANT), self.said[number - 1], strict=True)
        return [self._message(number, role, text) for role, text in pairs if text]

    def ids(self, *numbers: int) -> list[str]:
        return [new.message.id for number in numbers for new in self.messages(number)]

    def _message(self, number: int, role: Role, text: str) -> NewMessage:
        id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.id} {number} {role}"))
        message = Message(id, self.id, number, 0, role, text, at(number))
        return NewMessage(message, message_passage(message, self.conversation), cues_of(message))


def chat(turns: int) -> Chat:
    return Chat([(f"question {number}", f"answer {number}") for number in range(1, turns + 1)])


def add_in(transaction: Transaction, chat: Chat, numbers: Sequence[int], *, most_waiting: int = MANY) -> int:
    return transaction.conversations.append(
        transaction.conversations.get(ALL_PROJECTS, chat.id),
        chat.conversation,
        [chat.turn(number) for number in numbers],
        [new for number in numbers for new in chat.messages(number)],
        conversation_passage(chat.conversation, chat.key),
        most_waiting=most_waiting,
    )


def add(records: Records, chat: Chat, *numbers: int, most_waiting: int = MANY) -> int:
    with records.writing() as transaction:
        return add_in(transaction, chat, numbers, most_waiting=most_waiting)


def kept(records: Records, id: str = "chat") -> Conversation:
    with records.reading() as transaction:
        return transaction.conversations.live(ALL_PROJECTS, id)


def marked(records: Records, target: Target, place: str) -> set[str]:
    with records.reading() as transaction:
        return {mark.subject for mark in transaction.marks.pending(target, MANY) if mark.place == place}


def unmark(records: Records) -> None:
    with records.writing() as transaction:
        for target in Target:
            transaction.marks.clear(transaction.marks.pending(target, MANY))


def steps(records: Records, act: Callable[[], object]) -> int:
    """How many steps SQLite takes to do something."""
    taken: list[int] = [0]

    def count() -> int:
        taken[0] += 1
        return 0

    def watch(connection: Any, *_: object) -> None:
        connection.set_progress_handler(count, 1)

    def leave(connection: Any, *_: object) -> None:
        connection.set_progress_handler(None, 0)

    event.listen(records._engine, "checkout", watch)
    event.listen(records._engine, "checkin", leave)
    act()
    event.remove(records._engine, "checkout", watch)
    event.remove(records._engine, "checkin", leave)
    return taken[0]


def name(number: int) -> str:
    return str(uuid.UUID(int=number))


def begun(records: Records, *rooms: int) -> RecordsConversationStorage:
    with records.writing() as transaction:
        for number in rooms:
            metadata = {"is_odd": number % 2 == 1}
            transaction.live.begin(
                LiveConversation(name(number), SHOP, "matrix", f"!{number}", BEGAN, BEGAN, metadata=metadata)
            )
    return RecordsConversationStorage(records)


def said(first: int, last: int) -> list[NewTurn]:
    """Turns, of which each answers the one before it."""
    return [
        NewTurn(name(number), "question", "answer", at(number), parent=name(number - 1) if number > 1 else "")
        for number in range(first, last + 1)
    ]


def test_a_turn_is_kept_and_read_at_the_same_cost_in_a_long_conversation_as_in_a_short_one(
    records: Records,
) -> None:
    storage = begun(records, 1)

    def costs(turns: int) -> list[int]:
        newest, some = TurnWindow(newest=20), TurnWindow(ids=[name(3), name(turns)])
        return [
            steps(records, lambda: storage.append(name(1), said(turns, turns))),
            steps(records, lambda: storage.get(name(1), summaries=3)),
            steps(records, lambda: storage.turns(name(1), newest)),
            steps(records, lambda: storage.turns(name(1), TurnWindow(first=10, last=20))),
            steps(records, lambda: storage.turns(name(1), some)),
        ]

    storage.append(name(1), said(1, 49))
    for number in range(1, 11):
        storage.summarize(name(1), Summary("carts", number, number, 1, "made up"))
    short = costs(50)
    storage.append(name(1), said(51, 999))
    for number in range(11, 101):
        storage.summarize(name(1), Summary("carts", number, number, 1, "made up"))

    assert costs(1_000) == short


def test_what_was_kept_is_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    summary = Summary("They spoke of carts.", 1, 2, 5, "made up", "short", at(3))
    with Records.open(tmp_path / "backstory.db") as records:
        storage = begun(records, 1)
        kept_turns = storage.append(name(1), said(1, 3))
        assert storage.summarize(name(1), summary)

    with Records.open(tmp_path / "backstory.db") as records:
        storage = RecordsConversationStorage(records)
        found = storage.get(name(1), summaries=1)
        assert storage.turns(name(1), TurnWindow()) == kept_turns
    assert found
    assert (found.turns, found.summarized_to, found.summaries) == (3, 2, [summary])
    assert {turn.thread for turn in kept_turns} == {name(1)}


def test_what_metadata_leaves_out_makes_no_page_shorter(records: Records) -> None:
    storage = begun(records, *range(1, 1_101))
    odd = ConversationCriteria(metadata={"is_odd": True}, limit=300)

    first = storage.find(odd)
    second = storage.find(replace(odd, after=first.conversations[-1].id))

    assert [each.id for each in first.conversations] == [name(number) for number in range(1, 601, 2)]
    assert [each.id for each in second.conversations] == [name(number) for number in range(601, 1_101, 2)]
    assert (first.more, second.more) == (True, False)


def test_who_looks_for_turns_without_a_summary_does_not_read_the_conversations_that_have_none(
    records: Records,
) -> None:
    storage = begun(records, 1, 2, 3)
    storage.append(name(2), said(1, 11))
    storage.append(name(3), said(1, 11))
    storage.change(name(3), ConversationChange(BEGAN, deleted=True))
    due = ConversationCriteria(unsummarized_over=10)
    few = steps(records, lambda: storage.find(due))

    begun(records, *range(4, 200))

    assert [each.id for each in storage.find(due).conversations] == [name(2)]
    assert [each.id for each in storage.find(replace(due, deleted=None)).conversations] == [name(2), name(3)]
    assert steps(records, lambda: storage.find(due)) == few


def test_the_copy_of_a_live_conversation_is_found_like_any_other(records: Records) -> None:
    talk = Chat(
        [("why does the cart round up?", "the total is a float"), ("and the tax?", "")], title="Carts"
    )

    assert add(records, talk, 1, 2) == 2

    found = kept(records)
    assert (found.room, found.is_live, found.title.text) == ("!lobby", True, "Carts")
    assert (found.turns, found.messages, found.human_utterances) == (2, 3, 2)
    assert (found.started_at, found.ended_at) == (BEGAN, at(2))
    with records.reading() as transaction:
        conversations = transaction.conversations
        assert [each.texts for each in conversations.turns("chat", offset=0, limit=9)] == [
            {Role.USER: "why does the cart round up?", Role.ASSISTANT: "the total is a float"},
            {Role.USER: "and the tax?"},
        ]
        assert [each.place for each in conversations.own_messages("chat")] == [1, 2, 3]
        in_room = Where(SHOP, [AnyOf("room", ["!lobby"])])
        assert [each.id for each in transaction.keywords.search(Index.TURNS, terms("cart"), in_room, 9)] == [
            talk.ids(1)[0]
        ]
    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(1, 2))
    assert marked(records, Target.VECTORS, Index.SESSIONS) == {talk.key}
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION_MESSAGE) == set(talk.ids(1, 2))
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION) == {talk.key}


def test_a_conversation_in_which_nothing_was_said_is_listed(records: Records) -> None:
    assert add(records, chat(0)) == 0

    with records.reading() as transaction:
        assert transaction.conversations.page(SHOP, limit=9, offset=0, room="!lobby", live=True)[1] == 1
        assert transaction.conversations.page(SHOP, limit=9, offset=0, live=False)[1] == 0
    assert kept(records).turns == 0


def test_turns_that_are_there_are_left_alone_and_no_gap_is_made(records: Records) -> None:
    talk = chat(6)
    add(records, talk, 1, 2)
    unmark(records)

    assert add(records, talk, 1, 2) == 2
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION) == set()
    assert add(records, talk, 4, 5) == 2
    assert add(records, talk, 6, 3, 2) == 3

    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(3))
    assert (kept(records).turns, kept(records).messages) == (3, 6)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.just("q"), st.sampled_from(["", "a"])), max_size=12),
    st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12))),
)
def test_a_copy_that_grew_in_any_portions_is_the_copy_that_was_made_at_once(
    reused: Records, turns: list[tuple[str, str]], portions: list[tuple[int, int]]
) -> None:
    talk = Chat(turns)
    every = range(1, len(turns) + 1)

    add(reused, talk)
    for first, count in portions:
        add(reused, talk, *(number for number in range(first, first + count) if number in every))
    for number in every:
        add(reused, talk, number)
    grown = all_rows(reused)
    forget(reused)
    add(reused, talk, *every)

    assert all_rows(reused) == grown
    forget(reused)


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    """A store for many examples, each of which leaves nothing behind."""
    with Records.open(tmp_path_factory.mktemp("reused") / "backstory.db") as opened:
        yield opened


def forget(records: Records) -> None:
    with records.writing() as transaction:
        transaction.conversations.forget(["chat"])


def all_rows(records: Records) -> dict[str, list[str]]:
    tables = (schema.conversations, schema.turns, schema.messages, schema.passages, schema.marks)
    with records._connected(Begin.READING) as connection:
        return {
            table.name: sorted(repr(row) for row in connection.execute(select(*_lasting(table))))
            for table in tables
        }


def _lasting(table: Table) -> list[Column[Any]]:
    """Without the numbers that are given out once."""
    left_out = {"passages": "number", "marks": "revision"}
    return [column for column in table.c if column.name != left_out.get(table.name)]


def test_the_copy_grows_at_the_same_cost_however_long_it_is(records: Records) -> None:
    talk = chat(1_000)

    def cost(turn: int) -> int:
        unmark(records)
        return steps(records, lambda: add(records, talk, turn))

    add(records, talk, *range(1, 101))
    short = cost(101)
    add(records, talk, *range(102, 999))

    assert cost(999) == short


def test_the_words_of_a_long_conversation_are_marked_when_it_has_grown_by_a_tenth(records: Records) -> None:
    talk = chat(300)
    marked_at = []
    with records.writing() as transaction:
        for number in range(1, 301):
            add_in(transaction, talk, [number])
            if mark := transaction.marks.of(Target.VECTORS, [talk.key]):
                transaction.marks.clear(mark)
                marked_at.append(number)

    assert marked_at[:20] == list(range(1, 21))
    assert all(1.05 < after / before < 1.15 for before, after in pairwise(marked_at[20:]))


def test_another_title_is_found_at_once(records: Records) -> None:
    talk = chat(100)
    add(records, talk, *range(1, 101))
    unmark(records)

    add(records, replace(talk, title="Rounding of carts"))

    assert kept(records).title.text == "Rounding of carts"
    assert marked(records, Target.VECTORS, Index.SESSIONS) == {talk.key}
    assert marked(records, Target.VECTORS, Index.TURNS) == set()
    with records.reading() as transaction:
        found = transaction.keywords.search(Index.SESSIONS, terms("rounding"), Where(SHOP), 9)
    assert [each.id for each in found] == [talk.key]


def test_the_graph_joins_a_new_message_to_the_one_before_it(records: Records) -> None:
    talk = chat(2)
    add(records, talk, 1)
    unmark(records)
    add(records, talk, 2)

    with records.reading() as transaction:
        change = change_of(transaction, GraphKey(SHOP, 1), transaction.marks.pending(Target.GRAPH, 9))

    steps = [edge for edge in change.edges if edge.type is RelationshipType.FOLLOWED_BY]
    ids = talk.ids(1, 2)
    assert {(edge.start.id, edge.end.id) for edge in steps} == {(ids[1], ids[2]), (ids[2], ids[3])}


def test_a_forgotten_copy_leaves_marks_and_nothing_else(records: Records) -> None:
    talk = chat(3)
    add(records, talk, 1, 2, 3)
    unmark(records)

    forget(records)

    rows = all_rows(records)
    assert [rows[name] for name in ("conversations", "turns", "messages", "passages")] == [[]] * 4
    assert records.problems() == []
    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(1, 2, 3))
    assert marked(records, Target.VECTORS, Index.SESSIONS) == {talk.key}
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION_MESSAGE) == set(talk.ids(1, 2, 3))
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION) == {talk.key}


def test_a_copy_can_go_bit_by_bit(records: Records) -> None:
    talk = Chat([("q", "a"), ("q", ""), ("q", "a")])
    add(records, talk, 1, 2, 3)
    unmark(records)

    with records.writing() as transaction:
        assert transaction.conversations.shorten("chat", 2)
    assert (kept(records).turns, kept(records).messages, kept(records).human_utterances) == (1, 2, 1)
    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(2, 3))
    with records.writing() as transaction:
        assert not transaction.conversations.shorten("chat", 2)
        assert not transaction.conversations.shorten("chat", 2)
        assert transaction.conversations.get(SHOP, "chat") is None


def test_a_conversation_that_comes_back_is_projected_again(records: Records) -> None:
    talk = chat(2)
    add(records, talk, 1, 2)
    forget(records)

    add(records, talk, 1, 2)

    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(1, 2))
    assert marked(records, Target.VECTORS, Index.SESSIONS) == {talk.key}


def test_what_is_done_with_files_leaves_live_conversations_alone(records: Records) -> None:
    add(records, chat(1), 1)

    with records.writing() as transaction:
        conversations = transaction.conversations
        assert conversations.older_than(BEGAN + timedelta(days=999)) == []
        assert conversations.keep_titles({"": "Somebody else's"}) == []
        conversations.mark_gone("/transcripts/a.jsonl", BEGAN)
        assert conversations.live(SHOP, "chat").source_gone_at is None


def test_live_conversations_are_told_with_their_lengths(records: Records) -> None:
    for id, turns in (("a", 0), ("b", 2), ("c", 1)):
        add(records, replace(chat(turns), id=id), *range(1, turns + 1))

    with records.reading() as transaction:
        assert transaction.conversations.live_lengths("", 2) == [("a", 0), ("b", 2)]
        assert transaction.conversations.live_lengths("b", 2) == [("c", 1)]


def test_messages_that_are_too_many_to_wait_are_deferred_until_they_are_taken_up(records: Records) -> None:
    talk = chat(4)
    add(records, talk, 1, 2, 3, most_waiting=3)
    add(records, talk, 4, most_waiting=3)
    ids = talk.ids(1, 2, 3, 4)

    with records.writing() as transaction:
        marks = transaction.marks
        assert waiting(transaction) == ids[:3]
        assert (marks.count_deferred(), marks.count_refused(Target.VECTORS)) == (5, 0)
        assert marks.count()[Target.VECTORS] == 4
        assert marks.count_waiting(Target.VECTORS, Index.TURNS, MANY) == 3
        assert marks.count_waiting(Target.VECTORS, Index.TURNS, 2) == 2
        assert marks.take_up(3) == 3
        assert set(waiting(transaction)) == set(ids[:6])
        assert marks.take_up(MANY) == 2
        assert marks.take_up(MANY) == 0
        assert (set(waiting(transaction)), marks.count_deferred()) == (set(ids), 0)


def waiting(transaction: Transaction) -> list[str]:
    found = transaction.marks.pending(Target.VECTORS, MANY)
    return [mark.subject for mark in found if mark.place == Index.TURNS]


def test_a_deferred_message_is_in_the_graph_at_once_and_leaves_the_index_at_once(records: Records) -> None:
    talk = chat(1)
    add(records, talk, 1, most_waiting=0)
    assert marked(records, Target.GRAPH, NodeType.CONVERSATION_MESSAGE) == set(talk.ids(1))
    assert marked(records, Target.VECTORS, Index.TURNS) == set()

    forget(records)

    assert marked(records, Target.VECTORS, Index.TURNS) == set(talk.ids(1))


def test_deferred_marks_are_cleared_once_they_are_done_and_forgiven_like_refused_ones(
    records: Records,
) -> None:
    talk = chat(2)
    add(records, talk, 1, 2, most_waiting=1)
    ids = talk.ids(1, 2)

    with records.writing() as transaction:
        marks = transaction.marks
        marks.clear(marks.of(Target.VECTORS, ids[1:2]))
        assert marks.count_deferred() == 2
        (first,) = marks.of(Target.VECTORS, ids[:1])
        marks.refuse(first, "too long")
        assert (waiting(transaction), marks.count_refused(Target.VECTORS)) == ([], 1)
        marks.forgive()
        assert set(waiting(transaction)) == {ids[0], ids[2], ids[3]}
        assert (marks.count_deferred(), marks.count_refused(Target.VECTORS)) == (0, 0)


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        (live._GET, "live_conversations USING INDEX sqlite_autoindex_live_conversations_1 (id=?)"),
        (live._IN_ROOM, "live_rooms USING INDEX sqlite_autoindex_live_rooms_1"),
        (live._NEWEST, "live_turns USING INDEX sqlite_autoindex_live_turns_1 (conversation=? AND number>?)"),
        (live._BY_ID, "live_turns USING INDEX sqlite_autoindex_live_turns_2 (conversation=? AND id=?)"),
        (
            live._NEWEST_SUMMARIES,
            "live_summaries USING INDEX sqlite_autoindex_live_summaries_1 (conversation=?)",
        ),
        (live._FIND, "live_conversations USING INDEX sqlite_autoindex_live_conversations_1 (id>?)"),
        (
            live._FIND_UNSUMMARIZED,
            "live_conversations USING INDEX live_conversations_to_summarize (unsummarized>?)",
        ),
        (marks._PENDING, "marks USING INDEX marks_in_order (target=? AND revision>?)"),
        (marks._PENDING_IN, "marks USING INDEX marks_by_project (target=? AND project=? AND revision>?)"),
        (marks._COUNT, "marks USING INDEX marks_in_order (target=? AND revision>?)"),
        (marks._COUNT_DEFERRED, "marks USING COVERING INDEX marks_in_order (target=? AND revision<?)"),
        (marks._TAKE_UP, "marks USING INDEX marks_in_order (target=? AND revision<?)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
def test_what_is_asked_often_is_found_by_an_index(
    records: Records, statement: ClauseElement, way: str
) -> None:
    check_way(records, statement, way)
