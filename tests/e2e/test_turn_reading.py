"""Reading what was said: lists, turns, pages, days, exports, counts; through the public actions."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backstory.actions.transcripts.browse import list_conversations
from backstory.actions.transcripts.export import Exported, Place, export
from backstory.actions.transcripts.read import read_conversation, read_turn
from backstory.actions.transcripts.stats import conversation_stats
from backstory.actions.transcripts.timeline import timeline
from backstory.engine import Engine
from backstory.errors import InputError, NotFound
from backstory.model.conversation import Role, Touch
from backstory.model.keeping import FileState
from backstory.model.project import ALL_PROJECTS, Scope
from backstory.model.upkeep import Target
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .doubles import Unreliable
from .talk import BANK, MORNING, SHOP, Said, held, keep, project_all, tell


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store that tests only read."""
    settings = {"BACKSTORY_HOME": str(tmp_path_factory.mktemp("kept")), "BACKSTORY_MIN_FREE_MB": "1"}
    with open_engine(read_settings(settings)) as engine:
        keep(engine, held("s"), *(Said(f"Matter {n}.", "word " * 5_000) for n in range(4)))
        keep(engine, held("s/a1", parent="s"), Said("Look."))
        keep(engine, held("silent"))
        keep(engine, held("z"), Said("Hello."), Said("Bye."))
        keep(engine, held("b", project=BANK), Said("The vault code."))
        yield engine


def test_conversations_are_listed_the_last_one_first_with_their_number(engine: Engine) -> None:
    for day in range(3):
        keep(engine, held(f"day-{day}", began=MORNING + timedelta(days=day)), Said("Hello."))
    keep(engine, held("b", project=BANK), Said("Hello."))

    listed = list_conversations(engine, SHOP)

    assert [each.id for each in listed.conversations] == ["day-2", "day-1", "day-0"]
    assert (listed.total, listed.more) == (3, False)
    assert list_conversations(engine, ALL_PROJECTS).total == 4


def test_a_subagents_conversation_is_listed_only_when_that_of_its_parent_is_not_there(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    keep(engine, held("s/a1", parent="s"), Said("Look."))
    keep(engine, held("lost/a1", parent="lost"), Said("Look."))

    assert {each.id for each in list_conversations(engine, SHOP).conversations} == {"s", "lost/a1"}


def test_a_subagents_conversation_is_listed_where_its_parent_was_not_held(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    keep(engine, held("s/a1", parent="s", project=BANK), Said("Look."))

    listed = {
        scope: [each.id for each in list_conversations(engine, scope).conversations]
        for scope in (SHOP, BANK, ALL_PROJECTS)
    }

    assert listed == {SHOP: ["s"], BANK: ["s/a1"], ALL_PROJECTS: ["s"]}
    assert list_conversations(engine, BANK).total == 1


def test_lists_come_in_pages(engine: Engine) -> None:
    for n in range(5):
        keep(engine, held(f"s{n}"), Said("Hello."))

    pages = [list_conversations(engine, SHOP, limit=2, offset=offset) for offset in (0, 2, 4)]

    assert len({each.id for page in pages for each in page.conversations}) == 5
    assert [page.more for page in pages] == [True, True, False]


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (101, 0), (10, -1)])
def test_a_page_that_cannot_be_is_refused_with_a_hint(kept: Engine, limit: int, offset: int) -> None:
    with pytest.raises(InputError) as listing:
        list_conversations(kept, SHOP, limit=limit, offset=offset)
    with pytest.raises(InputError) as reading:
        read_conversation(kept, SHOP, "s", limit=limit, offset=offset)

    assert listing.value.hint
    assert reading.value.hint


def test_a_turn_is_read_whole(engine: Engine) -> None:
    long = "word " * 50_000
    keep(engine, held("s"), Said("Hello."), Said("Explain.", long, "Bash: ls"))

    read = read_turn(engine, SHOP, "s", 2)

    assert (read.conversation.id, read.total) == ("s", 2)
    assert read.text.texts == {Role.USER: "Explain.", Role.ASSISTANT: long, Role.TOOL: "Bash: ls"}


@pytest.mark.parametrize(("id", "number"), [("s", 0), ("s", 5), ("nowhere", 1), ("b", 1)])
def test_a_turn_that_is_not_there_is_named_with_what_to_do(kept: Engine, id: str, number: int) -> None:
    with pytest.raises(NotFound, match=id) as raised:
        read_turn(kept, SHOP, id, number)

    assert raised.value.hint


def test_a_conversation_is_read_in_pages_with_the_names_of_its_subagents(engine: Engine) -> None:
    keep(engine, held("s"), *(Said(f"Matter {n}.") for n in range(1, 13)))
    keep(engine, held("s/a1", parent="s"), Said("Look."))

    first = read_conversation(engine, SHOP, "s")
    second = read_conversation(engine, SHOP, "s", offset=10)

    assert [each.turn.number for each in first.turns] == list(range(1, 11))
    assert [each.texts[Role.USER] for each in second.turns] == ["Matter 11.", "Matter 12."]
    assert second.total == 12
    assert [each.id for each in second.subagents] == ["s/a1"]


def test_a_subagent_that_worked_in_another_project_is_not_named_here(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    keep(engine, held("s/a1", parent="s", project=BANK), Said("The vault code."))

    assert not read_conversation(engine, SHOP, "s").subagents
    assert [each.id for each in read_conversation(engine, ALL_PROJECTS, "s").subagents] == ["s/a1"]


def test_a_conversation_of_another_project_is_not_read(kept: Engine) -> None:
    with pytest.raises(NotFound):
        read_conversation(kept, SHOP, "b")
    assert read_conversation(kept, ALL_PROJECTS, "b").total == 1


def test_a_fork_is_read_with_the_turns_it_shares(engine: Engine) -> None:
    shared = Said("Shall it round up?", "It may.", key="shared")
    keep(engine, held("s"), shared, Said("Then leave it."))
    keep(engine, held("fork"), shared, Said("Then change it."))

    read = read_conversation(engine, SHOP, "fork")

    assert [each.texts for each in read.turns] == [shared.texts, {Role.USER: "Then change it."}]
    assert read_turn(engine, SHOP, "fork", 1).text.texts == shared.texts


def test_days_are_counted_back_from_today(engine: Engine) -> None:
    now = datetime.now(UTC)
    for days in (0, 2, 9):
        keep(engine, held(f"{days} ago", began=now - timedelta(days=days, minutes=1)), Said("Hello.", "Hi."))
    keep(engine, held("b", project=BANK, began=now - timedelta(minutes=1)), Said("Hello."))

    week = timeline(engine, SHOP)

    assert [each.sample_ids for each in week] == [["0 ago"], ["2 ago"]]
    assert [(each.conversations, each.messages) for each in week] == [(1, 2), (1, 2)]
    assert week[0].date == now.date().isoformat()
    assert len(timeline(engine, SHOP, days=10)) == 3
    assert timeline(engine, ALL_PROJECTS, days=1)[0].conversations == 2


def test_every_conversation_that_a_day_names_can_be_read(engine: Engine) -> None:
    now = datetime.now(UTC) - timedelta(minutes=10)
    keep(engine, held("s", began=now), Said("Hello."))
    keep(engine, held("s/a1", parent="s", began=now), Said("Look."))
    keep(engine, held("s/a2", parent="s", project=BANK, began=now), Said("Look there."))
    keep(engine, held("lost/a1", parent="lost", began=now), Said("Look."))

    named = {
        scope: {id for day in timeline(engine, scope) for id in day.sample_ids}
        for scope in (SHOP, BANK, ALL_PROJECTS)
    }

    assert named == {SHOP: {"s", "lost/a1"}, BANK: {"s/a2"}, ALL_PROJECTS: {"s", "lost/a1"}}
    assert all(read_conversation(engine, scope, id).total for scope, ids in named.items() for id in ids)


@pytest.mark.parametrize("days", [0, -1, 3_651])
def test_days_that_cannot_be_counted_are_refused(kept: Engine, days: int) -> None:
    with pytest.raises(InputError, match="days"):
        timeline(kept, SHOP, days=days)


def pages(engine: Engine, scope: Scope, limit: int, conversation: str | None = None) -> Iterator[Exported]:
    place: Place | None = None
    while True:
        page = export(engine, scope, conversation=conversation, place=place, limit=limit)
        yield page
        place = page.following
        if place is None:
            return


def given(exported: Iterable[Exported]) -> list[tuple[str, int]]:
    """The turns of pages, each by its conversation and number."""
    parts = [part for page in exported for part in page.parts]
    return [(turn.conversation, turn.turn.number) for part in parts for turn in part.turns]


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 100])
def test_an_export_holds_every_turn_once_however_it_is_paged(kept: Engine, limit: int) -> None:
    exported = list(pages(kept, SHOP, limit))

    parts = [part for page in exported for part in page.parts]
    assert given(exported) == [*(("s", n) for n in range(1, 5)), ("s/a1", 1), ("z", 1), ("z", 2)]
    assert all(sum(len(part.turns) for part in page.parts) <= limit for page in exported)
    assert parts[0].turns[0].texts[Role.ASSISTANT] == "word " * 5_000
    assert [part.conversation.id for part in parts].count("silent") == 1


def test_one_conversation_is_exported_with_its_subagents(kept: Engine) -> None:
    (page,) = pages(kept, SHOP, 10, "s")

    assert [part.conversation.id for part in page.parts] == ["s", "s/a1"]


def test_a_subagent_that_worked_in_another_project_is_exported_from_there(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    keep(engine, held("s/a1", project=BANK, parent="s"), Said("The vault code."))

    exported = {
        scope: [part.conversation.id for part in export(engine, scope, conversation="s").parts]
        for scope in (SHOP, ALL_PROJECTS)
    }

    assert exported == {SHOP: ["s"], ALL_PROJECTS: ["s", "s/a1"]}


def test_an_export_of_everything_holds_all_projects(kept: Engine) -> None:
    (page,) = pages(kept, ALL_PROJECTS, 10)

    assert {part.conversation.project for part in page.parts} == {SHOP, BANK}


def test_an_export_that_cannot_be_is_refused(kept: Engine) -> None:
    with pytest.raises(NotFound):
        export(kept, SHOP, conversation="nowhere")
    for turn, limit in ((0, 10), (1, 0), (1, 1_001)):
        with pytest.raises(InputError):
            export(kept, SHOP, place=Place("s", turn), limit=limit)


def test_an_export_goes_on_where_it_was_however_much_is_added_meanwhile(engine: Engine) -> None:
    said = [Said(f"Matter {n}.") for n in range(3)]
    for id in ("10", "50", "90"):
        keep(engine, held(id), *said)

    exporting = pages(engine, SHOP, 4)
    first = next(exporting)
    for id in ("10", "50", "90"):
        keep(engine, held(id), *said, Said("One more."))
    keep(engine, held("20"), Said("Before the place."))
    keep(engine, held("70"), Said("Behind the place."))

    assert given([first]) == [("10", 1), ("10", 2), ("10", 3), ("50", 1)]
    assert given(exporting) == [
        *(("50", n) for n in (2, 3, 4)),
        ("70", 1),
        *(("90", n) for n in (1, 2, 3, 4)),
    ]


def test_an_export_of_one_goes_on_among_its_subagents(engine: Engine) -> None:
    for id in ("s/b", "s/d", "a"):  # The last was started elsewhere, and is named like nothing of this one.
        keep(engine, held(id, parent="s"), Said("Look."))
    keep(engine, held("s"), Said("Hello."))

    exporting = pages(engine, SHOP, 3, "s")
    first = next(exporting)
    keep(engine, held("s"), Said("Hello."), Said("Bye."))
    for id in ("s/a", "s/c"):
        keep(engine, held(id, parent="s", began=MORNING - timedelta(days=1)), Said("Look."))

    assert given([first]) == [("s", 1), ("a", 1), ("s/b", 1)]
    assert given(exporting) == [("s/c", 1), ("s/d", 1)]


def test_an_export_goes_on_behind_what_was_forgotten_meanwhile(engine: Engine) -> None:
    for id in ("10", "50", "90"):
        keep(engine, held(id), Said("Hello."), Said("Bye."))

    exporting = pages(engine, SHOP, 3)
    first = next(exporting)
    with engine.records.writing() as records:
        records.conversations.forget(["50"])

    assert given([first]) == [("10", 1), ("10", 2), ("50", 1)]
    assert given(exporting) == [("90", 1), ("90", 2)]


def test_statistics_count_what_is_kept_and_where(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello.", "Hi.", "Read", [Touch("cart.py")]), Said("Bye."))
    keep(engine, held("s/a1", parent="s"), Said("Look."))
    keep(engine, held("b", project=BANK), Said("Hello."))
    project_all(engine)

    own = conversation_stats(engine, SHOP)

    assert (own.counts.conversations, own.counts.subagents, own.counts.turns) == (1, 1, 3)
    assert own.counts.messages == own.graph_messages == 5
    assert own.vectors == 6  # of the whole store
    assert own.pending == {}
    assert sum(own.storage_bytes.values()) > 0
    assert conversation_stats(engine, ALL_PROJECTS).counts.messages == 6


def test_statistics_tell_what_waits_and_what_could_not_be_read(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    state = FileState("s.jsonl", "s", 10, 1, 1, 10, "", MORNING, records=9, unreadable=1)
    broken = replace(state, path="broken.jsonl", records=0, unreadable=0, failure="no permission")
    with engine.records.writing() as records:
        records.transcript_files.put(state)
        records.transcript_files.put(broken)

    stats = conversation_stats(engine, SHOP)

    assert stats.pending["vectors"] > 0
    assert stats.refused == {}
    assert stats.capture_rate == pytest.approx(0.9)
    assert (stats.files, stats.failed) == (2, 1)


def test_statistics_tell_what_an_engine_does_not_take(engine: Engine) -> None:
    keep(engine, held("s"), Said("Hello."))
    with engine.records.writing() as records:
        records.marks.refuse(records.marks.pending(Target.VECTORS, 1)[0], "it is no Unicode")

    stats = conversation_stats(engine, SHOP)

    assert stats.refused == {"vectors": 1}
    assert stats.pending["vectors"] == 1  # the conversation's own


def test_statistics_are_given_without_the_engines_that_are_down(engine: Engine) -> None:
    tell(engine, held("s"), Said("Hello."))
    down = Unreliable(engine.vectors), Unreliable(engine.graph)
    for each in down:
        each.down = True

    stats = conversation_stats(replace(engine, vectors=down[0], graph=down[1]), SHOP)

    assert (stats.vectors, stats.graph_messages) == (None, None)
    assert stats.counts.messages == 1
