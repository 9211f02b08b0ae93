"""What the records promise of conversations: written whole, kept once, marked where something changed."""

import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import ClauseElement, select
from sqlalchemy.dialects import postgresql

from backstory.errors import NotFound
from backstory.model.conversation import Conversation, KeptTurn, Message, Role, Touch
from backstory.model.keeping import (
    REACH,
    FileCounts,
    FileState,
    Link,
    NewMessage,
    Replaced,
    file_key,
    key_of,
    windows_in,
)
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Where
from backstory.model.transcript import FileTouch, Title, TitleSource, ToolCall, Usage
from backstory.model.upkeep import Target
from backstory.ranking.turns import conversation_passage, cues_of, message_passage
from backstory.ranking.words import terms
from backstory.records import (
    chain_reads,
    conversation_growth,
    conversation_reads,
    conversation_writes,
    conversations,
    message_reads,
    projects,
    schema,
    transcript_files,
)
from backstory.records.records import Begin, Records, Transaction

from .plans import check_way

SHOP, BANK = Project("shop"), Project("bank")
BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)

POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records.open(tmp_path / "backstory.db") as opened:
        yield opened


@dataclass(frozen=True)
class Said:
    """One turn as a test tells it. The same key and texts are the same messages, wherever they stand."""

    key: str
    user: str = ""
    assistant: str = ""
    tool: str = ""
    touches: Sequence[Touch] = ()
    at: datetime = BEGAN


@dataclass(frozen=True)
class Talk:
    """A conversation as a test tells it."""

    id: str
    said: Sequence[Said] = ()
    project: Project = SHOP
    parent: str = ""
    title: Title = field(default_factory=lambda: Title("Rounding", TitleSource.AI))
    source: str = "/transcripts/a.jsonl"

    @property
    def conversation(self) -> Conversation:
        times = [said.at for said in self.said]
        return Conversation(
            id=self.id,
            project=self.project,
            interface_type="claude-code",
            parent=self.parent,
            title=self.title,
            slug="calm-otter",
            folder="/home/me/shop",
            git_branches=["main"],
            versions=["2.1"],
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            turns=len(self.said),
            messages=sum(bool(text) for said in self.said for text in (said.user, said.assistant, said.tool)),
            human_utterances=sum(bool(said.user) for said in self.said),
            usage=Usage(10, 20, 3, 4),
            source=self.source,
        )

    @property
    def turns(self) -> list[KeptTurn]:
        return [
            KeptTurn(
                number,
                said.at,
                said.at,
                commands=["/review"],
                tool_calls=[ToolCall("t1", "Read", {"tool": "Read"}, "", [FileTouch("/a.py")])],
                usage=Usage(1, 2),
                last_uuid=f"last-{said.key}",
                messages={role: self._id(said, role, text) for role, text in _texts(said)},
            )
            for number, said in enumerate(self.said, 1)
        ]

    @property
    def messages(self) -> list[NewMessage]:
        found = []
        for turn, said in zip(self.turns, self.said, strict=True):
            for role, text in _texts(said):
                touches = said.touches if role is Role.TOOL else ()
                message = Message(
                    turn.messages[role], self.id, turn.number, 0, role, text, said.at, touches=touches
                )
                passage = message_passage(message, self.conversation)
                found.append(NewMessage(message, passage, cues_of(message)))
        return found

    def _id(self, said: Said, role: Role, text: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.project}:{said.key}:{role}:{text}"))


def _texts(said: Said) -> list[tuple[Role, str]]:
    pairs = [(Role.USER, said.user), (Role.ASSISTANT, said.assistant), (Role.TOOL, said.tool)]
    return [(role, text) for role, text in pairs if text]


def keep_in(transaction: Transaction, talk: Talk) -> Replaced:
    key = key_of(talk.project, talk.id)
    passage = conversation_passage(talk.conversation, key)
    return transaction.conversations.replace(talk.conversation, talk.turns, talk.messages, passage)


def keep(records: Records, talk: Talk) -> Replaced:
    with records.writing() as transaction:
        return keep_in(transaction, talk)


def marked(records: Records, target: Target, place: str) -> set[str]:
    with records.reading() as transaction:
        return {mark.subject for mark in transaction.marks.pending(target, 10_000) if mark.place == place}


def unmark(records: Records) -> None:
    with records.writing() as transaction:
        for target in Target:
            transaction.marks.clear(transaction.marks.pending(target, 10_000))


def chat(count: int, *, key: str = "k") -> list[Said]:
    return [Said(f"{key}{n}", f"question {n}", f"answer {n}") for n in range(1, count + 1)]


def ids(talk: Talk) -> list[str]:
    return [new.message.id for new in talk.messages]


CART = Said(
    "k1", "why does the cart round up?", "the total is a float", "Read cart.py", [Touch("src/cart.py")]
)
TAX = Said("k2", "fix the tax", "done", "Edit tax.py", [Touch("src/tax.py", changed=True)])


def test_a_conversation_comes_back_as_it_was_kept(records: Records) -> None:
    talk = Talk("s1", [CART, TAX])

    assert keep(records, talk) == Replaced(added=6)

    with records.reading() as transaction:
        kept = transaction.conversations
        assert kept.get(SHOP, "s1") == talk.conversation
        first, second = kept.turns("s1", offset=0, limit=10)
        assert [first.turn, second.turn] == talk.turns
        assert first.texts == {Role.USER: CART.user, Role.ASSISTANT: CART.assistant, Role.TOOL: CART.tool}
        assert kept.turn("s1", 2) == second
        assert kept.turn("s1", 3) is None
        assert kept.turns("s1", offset=1, limit=1) == [second]
        assert kept.turn_texts([("s1", 2), ("s1", 9)]) == {("s1", 2): second}


def test_messages_know_their_place_their_text_and_what_they_touched(records: Records) -> None:
    talk = Talk("s1", [CART, Said("k3", tool="Bash make"), TAX])
    keep(records, talk)

    with records.reading() as transaction:
        kept = transaction.conversations
        found = [kept.messages(ids(talk))[id] for id in ids(talk)]
        assert kept.own_messages("s1") == sorted(found, key=lambda each: each.turn)
        cues = kept.cues(ids(talk))

    assert [(each.role.value, each.turn, each.place) for each in found] == [
        ("user", 1, 1),
        ("assistant", 1, 2),
        ("tool", 1, 2),
        ("tool", 2, 3),
        ("user", 3, 3),
        ("assistant", 3, 4),
        ("tool", 3, 4),
    ]
    assert found[0].text == CART.user
    assert found[6].touches == [Touch("src/tax.py", changed=True)]
    first = cues[found[0].id]
    assert (first.conversation, first.turn, first.role, first.at) == ("s1", 1, "user", BEGAN.timestamp())
    assert first.own == cues_of(found[0])


def test_a_conversation_is_seen_from_its_own_project_alone(records: Records) -> None:
    keep(records, Talk("s1", [CART]))

    with records.reading() as transaction:
        kept = transaction.conversations
        assert kept.get(BANK, "s1") is None
        assert kept.find(BANK, ["s1"]) == {}
        assert kept.page(BANK, limit=10, offset=0) == ([], 0)
        assert kept.timeline(BANK, BEGAN) == []
        assert kept.touching(BANK, "cart.py", 10) == []
        assert kept.counts(BANK).conversations == 0
        assert (kept.lengths(SHOP), kept.lengths(BANK)) == ([("s1", 1)], [])
        assert (kept.lengths(SHOP, first="s1"), kept.lengths(SHOP, first="s2")) == ([("s1", 1)], [])
        with pytest.raises(NotFound, match="s1 in this project") as inside:
            kept.live(BANK, "s1")
        with pytest.raises(NotFound, match=r"s2$") as anywhere:
            kept.live(ALL_PROJECTS, "s2")
    assert "another project" in (inside.value.hint or "")
    assert (anywhere.value.hint or "").endswith("list_conversations gives")


def test_writing_the_same_again_writes_nothing(records: Records) -> None:
    talk = Talk("s1", [CART, TAX])
    keep(records, talk)
    unmark(records)
    with records.reading() as transaction:
        revision = transaction.store.revision

    assert keep(records, talk) == Replaced(kept=6)

    with records.reading() as transaction:
        assert transaction.marks.count() == {}
        assert transaction.store.revision == revision


def test_a_turn_at_the_end_changes_no_window_but_its_own(records: Records) -> None:
    talk = Talk("s1", chat(20))
    keep(records, talk)
    unmark(records)

    longer = replace(talk, said=chat(21))
    assert keep(records, longer) == Replaced(added=2, kept=40)

    assert marked(records, Target.VECTORS, "turns") == set(ids(longer)[-2:])
    assert marked(records, Target.VECTORS, "sessions") == {key_of(SHOP, "s1")}
    assert marked(records, Target.GRAPH, "ConversationMessage") == set(ids(longer)[-3:])
    assert marked(records, Target.GRAPH, "Conversation") == {key_of(SHOP, "s1")}


def test_what_a_shorter_file_lacks_is_gone_with_its_words_and_touches(records: Records) -> None:
    keep(records, Talk("s1", [CART, TAX]))
    unmark(records)

    assert keep(records, Talk("s1", [CART])) == Replaced(removed=3, kept=3)

    gone = ids(Talk("s1", [CART, TAX]))[3:]
    with records.reading() as transaction:
        assert transaction.conversations.messages(gone) == {}
        assert transaction.passages.find(gone) == {}
        assert transaction.keywords.search(Index.TURNS, terms("tax"), Where(SHOP), 10) == []
        assert transaction.conversations.touching(SHOP, "tax.py", 10) == []
    assert records.problems() == []
    assert set(gone) <= marked(records, Target.VECTORS, "turns")
    assert set(gone) <= marked(records, Target.GRAPH, "ConversationMessage")
    assert marked(records, Target.GRAPH, "File") == {file_key(SHOP, "src/tax.py")}


def test_a_fork_s_copies_are_kept_once_and_stand_in_both(records: Records) -> None:
    first = Talk("s1", [CART, TAX])
    fork = Talk("s2", [CART, Said("k9", "and now?")])
    keep(records, first)

    assert keep(records, fork) == Replaced(added=1, kept=3)

    shared, own = ids(first)[:3], ids(fork)[3]
    with records.reading() as transaction:
        kept = transaction.conversations
        assert {kept.messages(shared)[id].conversation for id in shared} == {"s1"}
        assert kept.naming([*shared, own]) == {own: ["s2"]} | {id: ["s1", "s2"] for id in shared}
        assert [link.id for link in kept.chain("s2")] == ids(fork)
        assert kept.turns("s2", offset=0, limit=1)[0].texts[Role.USER] == CART.user
        assert [message.id for message in kept.own_messages("s2")] == [own]
        assert len(kept.all_terms("s2")) == 3
        assert kept.counts(SHOP).messages == 7


def test_a_message_is_found_inside_each_conversation_that_names_it(records: Records) -> None:
    fork = Talk("s2", [CART], parent="s0")
    shared = ids(fork)
    keep(records, Talk("s1", [CART, TAX]))
    unmark(records)

    for write, expected in (
        (lambda kept: keep_in(kept, fork), ["s1", "s2", "s0"]),
        (lambda kept: keep_in(kept, replace(fork, parent="")), ["s1", "s2"]),
        (lambda kept: keep_in(kept, Talk("s1", [replace(CART, at=BEGAN + timedelta(1)), TAX])), ["s1", "s2"]),
        (lambda kept: keep_in(kept, Talk("s2", [])), ["s1"]),
        (lambda kept: keep_in(kept, fork), ["s1", "s2", "s0"]),
        (lambda kept: kept.conversations.forget(["s1"]), ["s2", "s0"]),
    ):
        with records.writing() as transaction:
            write(transaction)

        with records.reading() as transaction:
            assert [labels_of(transaction, id) for id in shared] == [expected] * 3
        assert set(shared) <= marked(records, Target.VECTORS, "turns")
        unmark(records)


@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_fork_holds_what_the_first_lets_go_of(records: Records, is_forgotten: bool) -> None:
    first = Talk("s1", [Said("k0", "hello"), CART])
    fork = Talk("s2", [CART])
    keep(records, first)
    keep(records, fork)
    unmark(records)

    with records.writing() as transaction:
        if is_forgotten:
            transaction.conversations.forget(["s1"])
        else:
            keep_in(transaction, replace(first, said=[Said("k0", "hello")]))

    with records.reading() as transaction:
        held = transaction.conversations.messages(ids(fork))
        only_s2 = Where(SHOP, [AnyOf("conversation", ["s2"])])
        found = transaction.keywords.search(Index.TURNS, terms("cart round"), only_s2, 10)
    assert {(each.conversation, each.turn) for each in held.values()} == {("s2", 1)}
    assert [held[id].place for id in ids(fork)] == [1, 2, 2]
    assert {each.id for each in found} == {ids(fork)[0], ids(fork)[2]}
    assert set(ids(fork)) <= marked(records, Target.VECTORS, "turns")
    assert set(ids(fork)) <= marked(records, Target.GRAPH, "ConversationMessage")
    assert records.problems() == []


def test_a_conversation_that_moves_to_another_project_leaves_nothing_behind(records: Records) -> None:
    talk = Talk("s1", [CART])
    keep(records, talk)
    unmark(records)

    keep(records, replace(talk, project=BANK))

    with records.reading() as transaction:
        assert transaction.conversations.get(SHOP, "s1") is None
        assert transaction.conversations.live(BANK, "s1").project == BANK
        assert transaction.passages.count(Index.TURNS) == 3
        assert transaction.passages.count(Index.SESSIONS) == 1
    assert key_of(SHOP, "s1") in marked(records, Target.GRAPH, "Conversation")
    assert records.problems() == []


def test_a_message_s_labels_follow_its_conversation_s(records: Records) -> None:
    talk = Talk("s1", [CART])
    keep(records, talk)
    unmark(records)

    keep(records, replace(talk, parent="s0"))

    with records.reading() as transaction:
        where = Where(SHOP, [AnyOf("conversation", ["s0"])])
        assert len(transaction.keywords.search(Index.TURNS, terms("cart"), where, 10)) == 2
    assert marked(records, Target.VECTORS, "turns") == set(ids(talk))


def test_forgotten_conversations_leave_marks_and_nothing_else(records: Records) -> None:
    keep(records, Talk("s1", [CART]))
    unmark(records)

    with records.writing() as transaction:
        transaction.conversations.forget(["s1", "never kept"])

    with records._connected(Begin.READING) as connection:
        for table in (schema.conversations, schema.turns, schema.messages, schema.touches, schema.passages):
            assert connection.execute(select(table)).all() == []
    assert marked(records, Target.VECTORS, "sessions") == {key_of(SHOP, "s1")}
    assert marked(records, Target.VECTORS, "turns") == set(ids(Talk("s1", [CART])))


def test_a_page_begins_with_what_ended_last_and_leaves_subagents_to_their_parents(records: Records) -> None:
    later = replace(TAX, at=BEGAN + timedelta(days=1))
    for talk in (
        Talk("old", [CART]),
        Talk("new", [later]),
        Talk("new/a1", [Said("k5", "task")], parent="new"),
        Talk("lost/a2", [Said("k6", "task")], parent="lost"),
        Talk("empty"),
    ):
        keep(records, talk)

    with records.reading() as transaction:
        kept = transaction.conversations
        page, total = kept.page(SHOP, limit=2, offset=0)
        rest, _ = kept.page(ALL_PROJECTS, limit=9, offset=2)
        assert [each.id for each in kept.subagents("new")] == ["new/a1"]
        assert kept.older_than(BEGAN + timedelta(hours=1)) == ["lost/a2", "new/a1", "old"]
        assert [each.id for each in kept.in_project(SHOP)] == ["empty", "lost/a2", "new", "new/a1", "old"]
        assert kept.of_keys([key_of(SHOP, "new")]) == {key_of(SHOP, "new"): page[0]}
    assert total == 4
    assert [each.id for each in [*page, *rest]] == ["new", "lost/a2", "old", "empty"]


def test_a_page_holds_only_what_is_asked_for(records: Records) -> None:
    keep(records, Talk("old", [CART]))
    keep(records, Talk("new", [replace(TAX, at=BEGAN + timedelta(days=1))]))
    keep(records, Talk("elsewhere", [Said("k9", "hello")], project=BANK))

    with records.reading() as transaction:
        page = transaction.conversations.page
        newest, total = page(SHOP, limit=9, offset=0, since=BEGAN + timedelta(hours=1), until=None)
        assert ([each.id for each in newest], total) == (["new"], 1)
        oldest, total = page(ALL_PROJECTS, limit=1, offset=0, until=BEGAN, interface_type="claude-code")
        assert ([each.id for each in oldest], total) == (["elsewhere"], 2)
        assert page(SHOP, limit=9, offset=0, interface_type="codex") == ([], 0)
        assert page(SHOP, limit=9, offset=0, room="lobby") == ([], 0)
        assert page(SHOP, limit=9, offset=0, live=True) == ([], 0)
        assert page(SHOP, limit=9, offset=0, live=False)[1] == 2


def test_a_day_counts_its_messages_and_names_some_conversations(records: Records) -> None:
    keep(records, Talk("s1", [CART, replace(TAX, at=BEGAN + timedelta(days=1))]))
    keep(records, Talk("s1/a", [Said("k5", "task", at=BEGAN + timedelta(hours=1))], parent="s1"))
    for number in range(6):
        at = BEGAN + timedelta(days=1, minutes=number)
        keep(records, Talk(f"t{number}", [Said(f"t{number}", "hello", at=at)]))

    with records.reading() as transaction:
        newest, oldest = transaction.conversations.timeline(SHOP, BEGAN - timedelta(days=1))
        assert transaction.conversations.timeline(ALL_PROJECTS, BEGAN + timedelta(hours=2)) == [newest]

    assert (oldest.date, oldest.conversations, oldest.messages) == ("2026-03-01", 1, 4)
    assert oldest.sample_ids == ["s1"]
    assert (newest.date, newest.conversations, newest.messages) == ("2026-03-02", 7, 9)
    assert newest.sample_ids == ["t5", "t4", "t3", "t2", "t1"]


def test_counts_say_how_much_is_kept(records: Records) -> None:
    keep(records, Talk("s1", [CART, TAX]))
    keep(
        records, Talk("s1/a", [Said("k5", "task", tool="Read", touches=[Touch("src/cart.py")])], parent="s1")
    )
    with records.writing() as transaction:
        transaction.conversations.mark_gone("/transcripts/a.jsonl", BEGAN)

    with records.reading() as transaction:
        counts = transaction.conversations.counts(SHOP)
        assert counts == transaction.conversations.counts(ALL_PROJECTS)
    assert (counts.conversations, counts.subagents, counts.turns, counts.messages) == (1, 1, 3, 8)
    assert (counts.human_utterances, counts.files_touched, counts.touches, counts.gone) == (3, 2, 3, 2)


def test_a_file_that_is_gone_is_noted_and_taken_back(records: Records) -> None:
    keep(records, Talk("s1", [CART]))

    for moment in (BEGAN, None):
        with records.writing() as transaction:
            transaction.conversations.mark_gone("/transcripts/a.jsonl", moment)
        with records.reading() as transaction:
            assert transaction.conversations.live(SHOP, "s1").source_gone_at == moment


@pytest.mark.parametrize(
    "asked",
    ["src/cart.py", "cart.py", "Cart.py", "/home/me/shop/src/cart.py", "./src/cart.py", "src\\cart.py"],
)
def test_a_touched_file_is_found_by_any_end_of_its_path(records: Records, asked: str) -> None:
    talk = Talk("s1", [CART, Said("k3", tool="Read", touches=[Touch("other/cart.py")]), TAX])
    keep(records, talk)

    with records.reading() as transaction:
        inside = transaction.conversations.touching(SHOP, asked, 10)
        assert inside == transaction.conversations.touching(ALL_PROJECTS, asked, 10)
    assert ids(talk)[2] in inside
    assert (ids(talk)[3] in inside) == (asked.lower() == "cart.py")


def test_the_newest_messages_that_touched_a_file_come_first(records: Records) -> None:
    said = [
        Said(f"k{n}", tool=f"Read {n}", touches=[Touch("a.py")], at=BEGAN + timedelta(hours=n))
        for n in range(5)
    ]
    keep(records, Talk("s1", said))

    with records.reading() as transaction:
        kept = transaction.conversations
        assert kept.touching(SHOP, "a.py", 3) == ids(Talk("s1", said))[:1:-1]
        assert kept.first_touches(SHOP) == kept.first_touches(SHOP, ["a.py", "b.py"]) == {"a.py": BEGAN}


def test_a_file_that_was_read_and_changed_was_changed(records: Records) -> None:
    touches = [Touch("a.py", changed=True), Touch("a.py")]
    keep(
        records,
        Talk("s1", [Said("k1", tool="Edit", touches=touches), Said("k2", tool="Read", touches=touches[1:])]),
    )

    with records.reading() as transaction:
        assert transaction.conversations.files("s1") == [Touch("a.py", changed=True)]


def test_a_title_told_elsewhere_is_given_where_there_is_no_better_one(records: Records) -> None:
    keep(records, Talk("plain", [CART], title=Title("why does", TitleSource.FIRST_WORDS)))
    keep(records, Talk("named", [TAX]))
    unmark(records)

    with records.writing() as transaction:
        kept = transaction.conversations
        (found,) = kept.keep_titles({"last-k1": "Rounding of carts", "last-k2": "Tax", "unknown": "Lost"})
        kept.retitle(found, conversation_passage(found, key_of(SHOP, found.id)))
        assert kept.keep_titles({"last-k1": "Rounding of carts", "unknown": "Found"}) == []

    with records.reading() as transaction:
        kept = transaction.conversations
        assert kept.live(SHOP, "plain").title == Title("Rounding of carts", TitleSource.SUMMARY)
        assert kept.live(SHOP, "named").title.source is TitleSource.AI
        assert kept.titles_elsewhere(["unknown", "never"]) == {"unknown": "Found"}
    assert marked(records, Target.VECTORS, "sessions") == {key_of(SHOP, "plain")}
    assert marked(records, Target.VECTORS, "turns") == set()


def test_what_is_known_of_a_transcript_file_comes_back(records: Records) -> None:
    state = FileState("/t/a.jsonl", "s1", 100, 2**64 - 1, -1, 90, "ab" * 16, BEGAN, records=7, unreadable=1)
    with records.writing() as transaction:
        transaction.transcript_files.put(state)
        transaction.transcript_files.put(replace(state, path="/t/b.jsonl", failure="no permission"))
        transaction.transcript_files.put(replace(state, consumed=100))
        transaction.transcript_files.gone("/t/b.jsonl", BEGAN)

    with records.reading() as transaction:
        files = transaction.transcript_files
        assert files.get("/t/a.jsonl") == replace(state, consumed=100)
        assert files.get("/t/c.jsonl") is None
        assert [each.gone_at for each in files.all()] == [None, BEGAN]
        assert [each.path for each in files.of("s1")] == ["/t/a.jsonl", "/t/b.jsonl"]
        assert files.counts() == FileCounts(files=2, gone=1, failed=1, records=14, unreadable=2)


def test_transcript_files_are_found_by_their_paths_and_by_their_folder(records: Records) -> None:
    state = FileState("", "s1", 100, 1, -1, 90, "ab" * 16, BEGAN)
    paths = ["/t/a.jsonl", "/t/a/b.jsonl", "/t/a/c/d.jsonl", "/t/a-b/e.jsonl", "/t/a0.jsonl", "/t/Ä/f.jsonl"]
    with records.writing() as transaction:
        for path in paths:
            transaction.transcript_files.put(replace(state, path=path))

    with records.reading() as transaction:
        files = transaction.transcript_files
        many = ["/t/a.jsonl", "/t/a.jsonl", "/t/Ä/f.jsonl", *(f"/no/{number}" for number in range(2500))]
        assert [each.path for each in files.at(many)] == ["/t/a.jsonl", "/t/Ä/f.jsonl"]
        assert files.at([]) == []
        assert [each.path for each in files.below("/t/a")] == ["/t/a/b.jsonl", "/t/a/c/d.jsonl"]
        assert files.below("/t/a.jsonl") == []
        assert {each.path for each in files.below("/")} == set(paths)


TURNS = [
    CART,
    TAX,
    Said("k3", "only asked"),
    Said("k4", assistant="only answered"),
    Said("k5", tool="Bash ls", touches=[Touch("src/cart.py"), Touch("notes.md")]),
    Said("k6", "again", "yes", at=BEGAN + timedelta(hours=3)),
    Said("k6", "again", "yes, and more", at=BEGAN + timedelta(hours=3)),
]
TALKS = st.builds(
    Talk,
    st.sampled_from(["s1", "s2", "s3"]),
    st.lists(st.sampled_from(TURNS), max_size=6, unique_by=lambda said: said.key),
    parent=st.sampled_from(["", "s1"]),
    title=st.sampled_from([Title("One", TitleSource.AI), Title("Two", TitleSource.CUSTOM)]),
)
#: A conversation written, one forgotten (by its id), or a pause in which everything marked is projected.
STEPS = st.lists(TALKS | st.sampled_from(["s1", "s2", "s3"]) | st.none(), max_size=12)


@dataclass
class Projected:
    """Index and graph in small: only what is marked is looked at again, as projections do it."""

    entries: dict[str, object] = field(default_factory=dict)
    nodes: dict[str, object] = field(default_factory=dict)
    edges: set[tuple[str, str, str]] = field(default_factory=set)

    def follow(self, records: Records) -> None:
        with records.writing() as transaction:
            truth = whole(transaction)
            for mark in transaction.marks.pending(Target.VECTORS, 10_000):
                self.entries.pop(mark.subject, None)
                self.entries |= {id: entry for id, entry in truth.entries.items() if id == mark.subject}
            marked = [mark.subject for mark in transaction.marks.pending(Target.GRAPH, 10_000)]
            for target in Target:
                transaction.marks.clear(transaction.marks.pending(target, 10_000))
        for subject in marked:
            self.nodes.pop(subject, None)
            self.edges = {edge for edge in self.edges if subject not in edge}
        self.nodes |= {id: truth.nodes[id] for id in marked if id in truth.nodes}
        for start, kind, end in truth.edges:
            if (start in marked or end in marked) and kind == "touches":
                self.nodes[end] = truth.nodes[end]
            if (start in marked or end in marked) and start in self.nodes and end in self.nodes:
                self.edges.add((start, kind, end))


def whole(transaction: Transaction) -> Projected:
    """Everything that there is to project, from what can be read of the records."""
    found, kept = Projected(), transaction.conversations
    for conversation in kept.in_project(SHOP):
        key, chain = key_of(SHOP, conversation.id), kept.chain(conversation.id)
        spoken = kept.all_terms(conversation.id)
        found.nodes[key] = conversation
        found.entries[key] = (transaction.passages.find([key]), spoken)
        for link, following in pairwise(chain):
            found.edges.add((link.id, "followed by", following.id))
        found.edges |= {(key, "part", link.id) for link in chain}
        found.edges |= {(key, "subagent", key_of(SHOP, each.id)) for each in kept.subagents(conversation.id)}
        found.edges |= {(key, "touches", file_key(SHOP, each.path)) for each in kept.files(conversation.id)}
        places = {link.id: link for link in chain}
        for message in kept.own_messages(conversation.id):
            window = spoken[max(message.place - 1 - REACH, 0) : message.place]
            found.entries[message.id] = (transaction.passages.find([message.id]), window)
            found.nodes[message.id] = (message.conversation, message.turn, message.role)
            assert (message.turn, message.place) == (places[message.id].turn, places[message.id].place)
            assert labels_of(transaction, message.id) == inside(transaction, message)
            for touch in message.touches:
                found.nodes[file_key(SHOP, touch.path)] = touch.path
                found.edges.add((message.id, "touches", file_key(SHOP, touch.path)))
    return found


def labels_of(transaction: Transaction, id: str) -> list[str]:
    return list(dict.fromkeys(transaction.passages.find([id])[id].labels["conversation"]))


def inside(transaction: Transaction, message: Message) -> list[str]:
    """The conversations in which a message should be found: its holder, and others, with their parents."""
    named = transaction.conversations.naming([message.id])[message.id]
    found = transaction.conversations.find(SHOP, named)
    order = [message.conversation, *(each for each in named if each != message.conversation)]
    return list(dict.fromkeys(name for id in order for name in (id, found[id].parent) if name))


def rows(records: Records) -> dict[str, list[Any]]:
    """All rows that speak of conversations, without saying which one holds a message that several name."""
    tables = (schema.conversations, schema.turns, schema.messages, schema.touches, schema.passages)
    left_out = {"messages": {"conversation", "turn", "place"}, "passages": {"number", "labels"}}
    found = {}
    with records._connected(Begin.READING) as connection:
        for table in tables:
            columns = [column for column in table.c if column.name not in left_out.get(table.name, set())]
            found[table.name] = sorted(repr(row) for row in connection.execute(select(*columns)))
    return found


def written(folder: str, name: str, steps: Iterable[Talk | str | None], projected: Projected) -> Records:
    records = Records.open(Path(folder, name))
    for step in steps:
        if step is None:
            projected.follow(records)
            continue
        with records.writing() as transaction:
            if isinstance(step, Talk):
                keep_in(transaction, step)
            else:
                transaction.conversations.forget([step])
    projected.follow(records)
    return records


@settings(max_examples=40, deadline=None)
@given(STEPS)
@example([Talk("s1", [CART]), Talk("s2", [CART]), None, "s1"])
@example([Talk("s1", [TURNS[2], CART, TAX]), None, Talk("s1", [CART, TAX])])
def test_whatever_was_written_before_the_last_state_is_what_counts(steps: list[Talk | str | None]) -> None:
    last: dict[str, Talk] = {}
    for step in steps:
        if isinstance(step, Talk):
            last[step.id] = step
        elif step:
            last.pop(step, None)
    followed = Projected()

    with (
        tempfile.TemporaryDirectory() as folder,
        written(folder, "grown.db", steps, followed) as grown,
        written(folder, "fresh.db", last.values(), Projected()) as fresh,
    ):
        assert rows(grown) == rows(fresh)
        assert grown.problems() == []
        with grown.reading() as transaction:
            assert followed == whole(transaction)
            revision = transaction.store.revision
        for talk in last.values():
            keep(grown, talk)
        with grown.reading() as transaction:
            assert transaction.marks.count() == {}
            assert transaction.store.revision == revision


#: Turns of all kinds, most of them with nothing that belongs to a window; some are said twice.
KINDS = [
    Said("", "asked", "answered", "used"),
    Said("", "asked"),
    Said("", assistant="answered", tool="used"),
    *[Said("", tool="used"), Said("")] * 5,
]
CHAINS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 15)), min_size=1, max_size=50)


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    """A store for many examples, each of which writes its conversation in place of the last one's."""
    with Records.open(tmp_path_factory.mktemp("reused") / "backstory.db") as opened:
        yield opened


@settings(max_examples=100, deadline=None)
@given(CHAINS, st.sets(st.integers(0, 49), max_size=4))
@example([(KINDS[1], 1), (KINDS[1], 2), (KINDS[1], 3)], {2})
@example([(KINDS[1], 1), *[(KINDS[3], key) for key in range(2, 20)], (KINDS[1], 20)], {2, 15})
def test_what_is_near_a_turn_is_read_as_it_stands_in_the_whole(
    reused: Records, kinds: list[tuple[Said, int]], turns: set[int]
) -> None:
    said = [replace(kind, key=str(key)) for kind, key in kinds]
    wanted = {1 + turn % len(said) for turn in turns}

    keep(reused, Talk("s1", said))
    with reused.reading() as transaction:
        chain = transaction.conversations.chain("s1")
        stretches = transaction.conversations.stretches("s1", wanted)
        standing = transaction.conversations.standing(link.id for link in chain)

    assert standing.get("s1", {}) == {link.id: link.turn for link in chain}
    near = {link.id for link in chain if link.turn in wanted}
    assert sorted(link.id for part in stretches for link in part if link.id in near) == sorted(near)
    assert [found for part in stretches for found in _around(part, near)] == _around(chain, near)


def _around(chain: Sequence[Link], ids: set[str]) -> list[object]:
    """The turn, the window and the neighbours of some messages."""
    windows = windows_in(chain)
    every = ["", *(link.id for link in chain), ""]
    return [
        (link.id, link.turn, link.role, windows[link.id], before, after)
        for link, before, after in zip(chain, every, every[2:], strict=False)
        if link.id in ids
    ]


@settings(max_examples=50, deadline=None)
@given(CHAINS)
def test_the_terms_around_a_message_are_those_of_its_window(
    reused: Records, kinds: list[tuple[Said, int]]
) -> None:
    keep(reused, Talk("s1", [replace(kind, key=str(key)) for kind, key in kinds]))

    with reused.reading() as transaction:
        windows = windows_in(transaction.conversations.chain("s1"))
        terms = {id: each.terms for id, each in transaction.passages.find(windows).items()}
        around = transaction.conversations.terms_around(windows)

    assert {id: (own, sorted(rest)) for id, (own, *rest) in around.items()} == {
        id: (terms[id], sorted(terms[each] for each in window if each != id))
        for id, window in windows.items()
    }


def test_turns_that_are_far_apart_are_read_without_those_between(records: Records) -> None:
    keep(records, Talk("s1", chat(200)))

    with records.reading() as transaction:
        first, last = transaction.conversations.stretches("s1", [100, 20, 101])

    assert {link.turn for link in first} == {18, 19, 20, 21}
    assert {link.turn for link in last} == {98, 99, 100, 101, 102}


STATEMENTS = {
    f"{module.__name__}.{name}": value
    for module in (
        chain_reads,
        conversation_growth,
        conversation_reads,
        conversation_writes,
        conversations,
        message_reads,
        projects,
        transcript_files,
    )
    for name, value in vars(module).items()
    if isinstance(value, ClauseElement) and value.supports_execution
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_can_be_said_in_postgresql(name: str) -> None:
    assert str(STATEMENTS[name].compile(dialect=POSTGRESQL))


def test_whether_a_file_was_changed_is_a_number_where_the_greatest_is_asked_for() -> None:
    # PostgreSQL has no greatest boolean.
    said = str(message_reads._FILES_OF.compile(dialect=POSTGRESQL))

    assert "max(CAST(touches.changed AS INTEGER))" in said


@pytest.mark.parametrize(
    ("statement", "way"),
    [
        (
            conversation_reads._FIND_INSIDE,
            "conversations USING INDEX sqlite_autoindex_conversations_1 (id=?)",
        ),
        (conversation_reads._PAGE_INSIDE, "conversations USING INDEX conversations_by_end (project=?)"),
        (conversation_reads._SUBAGENTS, "conversations USING INDEX conversations_by_parent (parent=?)"),
        (conversation_reads._TURNS_OF, "turns USING INDEX sqlite_autoindex_turns_1 (conversation=?)"),
        (
            conversation_reads._TURNS_AT,
            "turns USING INDEX sqlite_autoindex_turns_1 (conversation=? AND number=?)",
        ),
        (conversation_reads._DAYS, "messages USING INDEX messages_by_time (at>?)"),
        (conversations._MESSAGE_ROWS, "messages USING INDEX messages_by_place (conversation=?)"),
        (conversations._TOUCH_ROWS, "touches USING INDEX sqlite_autoindex_touches_1 (message=?)"),
        (conversations._TITLED, "turns USING INDEX turns_by_last_uuid (last_uuid=?)"),
        (
            transcript_files._AT,
            "transcript_files USING INDEX sqlite_autoindex_transcript_files_1 (path=?)",
        ),
        (
            transcript_files._BELOW,
            "transcript_files USING INDEX sqlite_autoindex_transcript_files_1 (path>? AND path<?)",
        ),
        (message_reads._CUES, "messages USING INDEX sqlite_autoindex_messages_1 (id=?)"),
        (
            message_reads._TERMS_AROUND,
            "near USING INDEX messages_by_place (conversation=? AND place>? AND place<?)",
        ),
        (chain_reads._CHAIN, "turns USING INDEX sqlite_autoindex_turns_1 (conversation=?)"),
        (chain_reads._NAMING, "turns USING INDEX turns_by_tool_message (tool_message=?)"),
        (
            chain_reads._NEAR_UP_TO,
            "turns USING INDEX sqlite_autoindex_turns_1 (conversation=? AND number>? AND number<?)",
        ),
        (chain_reads._NEAR_UP_TO, "earlier USING INDEX turns_by_user_message (user_message=?)"),
        (
            chain_reads._PROSE_BEFORE,
            "turns USING INDEX sqlite_autoindex_turns_1 (conversation=? AND number<?)",
        ),
        (chain_reads._PROSE_AFTER, "earlier USING INDEX turns_by_assistant_message (assistant_message=?)"),
        (conversation_growth._LAST_TURNS, "turns USING INDEX sqlite_autoindex_turns_1 (conversation=?)"),
        (
            conversation_growth._LIVE_LENGTHS,
            "conversations USING INDEX sqlite_autoindex_conversations_1 (id>?)",
        ),
        (message_reads._TOUCHING_INSIDE, "touches USING INDEX touches_by_name (project=? AND name=?)"),
        (message_reads._TOUCHING_ANYWHERE, "touches USING INDEX touches_by_name (project=? AND name=?)"),
    ],
    ids=lambda value: "" if isinstance(value, str) else None,
)
def test_what_is_asked_often_is_found_by_an_index(
    records: Records, statement: ClauseElement, way: str
) -> None:
    check_way(records, statement, way)
