"""The storages of live conversations give the same answers, whatever is asked of them in whatever order.

The files are open twice, as two processes would have them, and both are asked and written.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from backstory.errors import BackstoryError
from backstory.model.live import (
    ConversationChange,
    ConversationCriteria,
    ConversationPage,
    LiveConversation,
    LiveTurn,
    NewConversation,
    NewTurn,
    TurnWindow,
)
from backstory.model.project import ALL_PROJECTS
from backstory.model.summary import Summary
from backstory.ports import ConversationStorage
from tests.contract.storages import (
    BANK,
    SHOP,
    conversation,
    id_of,
    in_files,
    in_memory,
    in_records,
    minutes,
    throwaway_folder,
    turn,
)

Ask = Callable[[ConversationStorage], object]

Value = TypeVar("Value")


def mostly(usual: st.SearchStrategy[Value], odd: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    """What is refused teaches little, so that it comes once in a while."""
    return st.integers(1, 40).flatmap(lambda number: odd if number == 40 else usual)


ids = st.sampled_from([id_of(number) for number in (1, 1, 1, 2, 3)])
turn_ids = st.integers(1_000, 1_020).map(id_of)
zones = st.sampled_from([0, 345, -720]).map(lambda offset: timezone(timedelta(minutes=offset)))
times: st.SearchStrategy[datetime] = st.builds(
    lambda minute, zone: minutes(minute).astimezone(zone), st.integers(-3, 12), zones
)
texts = mostly(
    st.sampled_from(["", "words", "Gr\u00fc\u00dfe", "a\0b\r\n"]), st.text() | st.just("half \ud83e")
)
keys = st.sampled_from(["team", "tags", "n\u00e9"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | mostly(st.floats(-1, 1), st.floats()) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=3,
)
metadatas = st.dictionaries(keys, values, max_size=2)
rooms = st.sampled_from(["!a", "!a", "!b"])
interfaces = mostly(st.just("cli"), st.just("matrix"))
projects = mostly(st.just(SHOP), st.just(BANK))

conversations = st.builds(
    NewConversation, st.integers(1, 3).map(id_of), projects, interfaces, rooms, times, texts, metadatas
)
turns = st.builds(
    NewTurn, turn_ids, texts, texts, times, texts, texts, mostly(st.just(""), turn_ids), metadatas
)
windows = st.builds(
    TurnWindow,
    st.integers(-1, 5),
    st.none() | st.integers(-1, 15),
    st.none() | st.lists(turn_ids, max_size=8),
    st.integers(0, 9),
)
#: Of how many turns, its last turn says; which they are is said when it is used.
summaries = st.builds(
    Summary, texts, st.just(1), st.integers(0, 3), st.integers(0, 9), texts, texts, st.none() | times
)
changes = st.builds(ConversationChange, times, st.none() | texts, st.none() | metadatas)
criteria = st.builds(
    ConversationCriteria,
    scope=st.just(ALL_PROJECTS) | projects,
    interface_type=st.none() | interfaces,
    room=st.none() | rooms,
    since=st.none() | times,
    until=st.none() | times,
    metadata=st.just({}) | st.dictionaries(keys, st.none() | texts | st.integers(-1, 1), max_size=1),
    deleted=st.none() | st.booleans(),
    unsummarized_over=st.none() | st.integers(0, 3),
    after=st.just("") | ids,
    limit=st.integers(1, 3),
)


def plain(answer: object) -> object:
    """An answer as it can be compared: one list is as good as another, but true is not 1."""
    match answer:
        case LiveConversation():
            said = json.dumps(answer.metadata, sort_keys=True)
            return replace(answer, metadata={}, summaries=()), said, list(answer.summaries)
        case LiveTurn():
            return replace(answer, metadata={}), json.dumps(answer.metadata, sort_keys=True)
        case ConversationPage():
            return [plain(each) for each in answer.conversations], answer.more
        case list():
            return [plain(each) for each in answer]
        case _:
            return answer


def outcome(ask: Ask, storage: ConversationStorage) -> object:
    try:
        return plain(ask(storage))
    except BackstoryError as error:
        return type(error), str(error), error.hint


class Storages(RuleBasedStateMachine):
    """All of them, asked the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.folder = self.stack.enter_context(throwaway_folder())
        self.memory = self.stack.enter_context(in_memory(self.folder))
        self.open()

    def open(self) -> None:
        self.opened = ExitStack()
        self.lasting = {
            "records": self.opened.enter_context(in_records(self.folder)),
            "files": self.opened.enter_context(in_files(self.folder, max_file_bytes=500)),
            "files, elsewhere": self.opened.enter_context(in_files(self.folder, max_file_bytes=500)),
        }

    def teardown(self) -> None:
        self.opened.close()
        self.stack.close()

    def ask(self, ask: Ask) -> None:
        expected = outcome(ask, self.memory)
        answers = {name: outcome(ask, storage) for name, storage in self.lasting.items()}
        assert answers == dict.fromkeys(answers, expected)

    def write(self, write: Ask, *, elsewhere: bool) -> None:
        """Write once to each; to the files by one of those who have them open."""
        writer = "files, elsewhere" if elsewhere else "files"
        expected = outcome(write, self.memory)
        answers = {name: outcome(write, self.lasting[name]) for name in ("records", writer)}
        assert answers == dict.fromkeys(answers, expected)

    @initialize(turns=st.integers(0, 8))
    def begin(self, turns: int) -> None:
        self.write(lambda storage: storage.create(conversation(1, "!a")), elsewhere=False)
        self.write(
            lambda storage: storage.append(id_of(1), [turn(number) for number in range(turns)]),
            elsewhere=True,
        )

    @rule(new=conversations, elsewhere=st.booleans())
    def create(self, new: NewConversation, elsewhere: bool) -> None:
        self.write(lambda storage: storage.create(new), elsewhere=elsewhere)

    @rule(id=ids, new=st.lists(turns, min_size=1, max_size=4), elsewhere=st.booleans())
    def append(self, id: str, new: list[NewTurn], elsewhere: bool) -> None:
        self.write(lambda storage: storage.append(id, new), elsewhere=elsewhere)

    @rule(id=ids, new=turns, parent=st.integers(1, 20), elsewhere=st.booleans())
    def answer(self, id: str, new: NewTurn, parent: int, elsewhere: bool) -> None:
        """Append a turn that has a parent, where there is one."""
        kept = self.memory.get(id)
        if kept and kept.turns and not kept.deleted_at:
            (above,) = self.memory.turns(id, TurnWindow(newest=1, last=min(parent, kept.turns)))
            new = replace(new, parent=above.id)
        self.write(lambda storage: storage.append(id, [new]), elsewhere=elsewhere)

    @rule(id=ids, summary=summaries, gap=mostly(st.just(0), st.integers(-2, 2)), elsewhere=st.booleans())
    def summarize(self, id: str, summary: Summary, gap: int, elsewhere: bool) -> None:
        """Sum up the next turns, or others."""
        kept = self.memory.get(id)
        first = (kept.summarized_to if kept else 0) + 1 + gap
        summary = replace(summary, first_turn=first, last_turn=first + summary.last_turn)
        self.write(lambda storage: storage.summarize(id, summary), elsewhere=elsewhere)

    @rule(id=ids, at=times, elsewhere=st.booleans())
    def delete(self, id: str, at: datetime, elsewhere: bool) -> None:
        change = ConversationChange(at, deleted=True)
        self.write(lambda storage: storage.change(id, change), elsewhere=elsewhere)

    @rule(id=ids, at=times, elsewhere=st.booleans())
    def restore(self, id: str, at: datetime, elsewhere: bool) -> None:
        change = ConversationChange(at, deleted=False)
        self.write(lambda storage: storage.change(id, change), elsewhere=elsewhere)

    @rule(id=ids, change=changes, elsewhere=st.booleans())
    def change(self, id: str, change: ConversationChange, elsewhere: bool) -> None:
        self.write(lambda storage: storage.change(id, change), elsewhere=elsewhere)

    @invariant()
    def each_stands_as_the_others_say(self) -> None:
        self.ask(lambda storage: [storage.get(id_of(number), summaries=2) for number in (1, 2, 3)])

    @rule(id=ids, summaries=st.integers(0, 3))
    def get(self, id: str, summaries: int) -> None:
        self.ask(lambda storage: storage.get(id, summaries=summaries))

    @rule(id=ids, window=windows)
    def read(self, id: str, window: TurnWindow) -> None:
        self.ask(lambda storage: storage.turns(id, window))

    @rule(wanted=criteria)
    def find(self, wanted: ConversationCriteria) -> None:
        self.ask(lambda storage: storage.find(wanted))

    @rule()
    def open_again(self) -> None:
        self.opened.close()
        self.open()
        self.ask(lambda storage: storage.find(ConversationCriteria(deleted=None)))


Storages.TestCase.settings = settings(max_examples=30, stateful_step_count=50, deadline=None)
test_every_storage_gives_the_same_answers = Storages.TestCase
