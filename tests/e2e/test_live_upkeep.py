"""What the worker does for live conversations by itself, and what may be asked of it: summaries, backfill."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from backstory.actions.conversations import background
from backstory.actions.conversations.backfill import Backfilled, Pace, backfill
from backstory.actions.conversations.change import delete_conversation
from backstory.actions.conversations.summarizing import summarize_due, summarize_now
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, InputError, NotFound, StoreFull, StoreUnavailable
from backstory.model.live import NewTurn, TierLimits
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS
from backstory.model.summary import SaidTurn, Summary
from backstory.model.tokens import tokens
from backstory.model.upkeep import Target
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .doubles import Unreliable
from .live_talk import BANK, SHOP, begin, found, kept, say, search, settle


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store in which each test has a room of its own, and leaves nothing to be summed up."""
    settings = {"BACKSTORY_HOME": str(tmp_path_factory.mktemp("live")), "BACKSTORY_MIN_FREE_MB": "1"}
    with open_engine(read_settings(settings)) as engine:
        yield engine


@pytest.fixture
def room(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def talk(engine: Engine, room: str, turns: int) -> str:
    """A conversation of so many turns."""
    id = begin(engine, room)
    for number in range(1, turns + 1):
        say(engine, id, f"We decided that crate {number} goes to Oslo.", f"Crate {number} is on its way.")
    return id


def spans(summaries: Sequence[Summary]) -> list[tuple[int, int]]:
    return [(each.first_turn, each.last_turn) for each in summaries]


def summaries(engine: Engine, id: str) -> Sequence[Summary]:
    held = engine.live.storage.get(id, summaries=100)
    assert held is not None
    return held.summaries


def summarize_all_due(engine: Engine) -> None:
    while summarize_due(engine, Work()):
        pass


def test_the_oldest_turns_are_summed_up_once_there_are_too_many(shared: Engine, room: str) -> None:
    id = talk(shared, room, 10)
    summarize_all_due(shared)
    assert spans(summaries(shared, id)) == []

    say(shared, id, "One more.")
    summarize_all_due(shared)
    assert spans(summaries(shared, id)) == [(1, 5)]
    assert len(kept(shared, id)) == 11


def test_summaries_follow_each_other_and_each_keeps_to_its_tokens(shared: Engine, room: str) -> None:
    id = talk(shared, room, 33)
    summarize_all_due(shared)

    made = summaries(shared, id)
    assert spans(made) == [(1, 5), (6, 10), (11, 15), (16, 20), (21, 25)]
    for each in made:
        assert "Oslo" in each.text
        assert each.tokens == tokens(each.text) <= shared.tiers.summary_tokens
        assert each.at


def test_the_newest_turn_stays_as_it_was_said(shared: Engine, room: str) -> None:
    narrow = replace(shared, tiers=TierLimits(active_turns=2, summary_turns=5))
    id = talk(narrow, room, 3)

    summarize_all_due(narrow)

    assert spans(summaries(narrow, id)) == [(1, 2)]


def test_on_demand_whole_groups_are_summed_up_and_then_what_is_left(shared: Engine, room: str) -> None:
    id = talk(shared, room, 8)

    assert spans(summarize_now(shared, SHOP, id)) == [(1, 5)]
    assert spans(summarize_now(shared, SHOP, id)) == [(6, 8)]
    assert summarize_now(shared, SHOP, id) == []
    assert spans(summaries(shared, id)) == [(1, 5), (6, 8)]


def test_only_what_is_in_the_scope_and_there_is_summed_up(shared: Engine, room: str) -> None:
    id = talk(shared, room, 1)

    with pytest.raises(NotFound):
        summarize_now(shared, BANK, id)
    delete_conversation(shared, SHOP, id)
    with pytest.raises(NotFound):
        summarize_now(shared, SHOP, id)


class _Moody:
    """A summarizer that fails for turns with a certain word."""

    fingerprint = "moody"

    def summarize(self, turns: Sequence[SaidTurn], *, max_tokens: int) -> Summary:
        if any("sulk" in turn.user for turn in turns):
            raise StoreUnavailable("the summarizer is down", hint="start it")
        return Summary("fine", turns[0].number, turns[-1].number, 1, self.fingerprint)


def test_a_summary_that_fails_holds_up_no_other(shared: Engine, room: str) -> None:
    moody = replace(shared, summarizer=_Moody(), tiers=TierLimits(active_turns=1, summary_turns=1))
    ids = [begin(moody, f"{room}-{number}") for number in range(4)]
    sulking = min(ids)
    for id in ids:
        say(moody, id, "sulk" if id == sulking else "smile")
        say(moody, id, "Goodbye.")

    summarize_due(moody, Work())
    with pytest.raises(StoreUnavailable, match="summarizer is down"):
        summarize_all_due(moody)

    assert {id for id in ids if summaries(shared, id)} == {*ids} - {sulking}
    summarize_now(shared, SHOP, sulking)


def test_a_summary_of_very_many_turns_leaves_none_out(engine: Engine) -> None:
    said: list[int] = []

    class _Listening(_Moody):
        def summarize(self, turns: Sequence[SaidTurn], *, max_tokens: int) -> Summary:
            said.extend(turn.number for turn in turns)
            return super().summarize(turns, max_tokens=max_tokens)

    wide = replace(engine, summarizer=_Listening(), tiers=TierLimits(summary_turns=1_005))
    id = begin(wide, "wide")
    at = datetime.now(UTC)
    wide.live.storage.append(id, [NewTurn(f"turn {each}", "Crates.", "", at) for each in range(1_005)])

    assert spans(summarize_now(wide, SHOP, id)) == [(1, 1_005)]
    assert said == list(range(1, 1_006))


def queue(engine: Engine) -> tuple[int, int]:
    """How many messages wait for their vectors, and how many of them for a backfill."""
    with engine.records.reading() as records:
        return records.marks.count_waiting(
            Target.VECTORS, Index.TURNS, 10_000
        ), records.marks.count_deferred()


def crowded(engine: Engine, turns: int) -> tuple[Engine, str]:
    """The engine with room for ten messages in its queue, and a conversation of so many turns."""
    narrow = replace(engine, queue_max=10)
    return narrow, talk(narrow, "crowded", turns)


def test_messages_that_are_too_many_to_wait_are_deferred_and_found_by_their_words(engine: Engine) -> None:
    narrow, id = crowded(engine, 20)

    assert queue(narrow) == (10, 30)
    assert 20 in found(narrow, id, "crate 20")


def test_the_worker_takes_up_what_was_deferred_as_the_queue_drains(engine: Engine) -> None:
    narrow, id = crowded(engine, 20)

    background.step(narrow, Work())
    assert queue(narrow) == (10, 30)  # half of those that wait have to be done first
    settle(narrow)

    assert queue(narrow) == (0, 0)
    assert "meaning" in search(narrow, "Where do boxes go?", conversation=id).hits[0].parts


def test_a_backfill_embeds_everything_that_waits(engine: Engine) -> None:
    narrow, id = crowded(engine, 20)
    told: list[tuple[int, int | None]] = []

    done = backfill(narrow, ALL_PROJECTS, Pace(), Work(lambda done, total, _: told.append((done, total))))

    assert done == Backfilled(kept=0, embedded=40, waiting=0)
    assert queue(narrow) == (0, 0)
    assert [total for _, total in told if total] == [40] * len([total for _, total in told if total])
    assert [done for done, total in told if total] == sorted(done for done, total in told if total)
    assert "meaning" in search(narrow, "Where do boxes go?", conversation=id).hits[0].parts
    assert backfill(narrow, ALL_PROJECTS, Pace(), Work()) == Backfilled()


def test_a_backfill_that_is_stopped_goes_on_when_it_is_run_again(engine: Engine) -> None:
    narrow, _ = crowded(engine, 20)
    work = Work(lambda done, total, _: work.cancel() if done >= 10 else None)

    with pytest.raises(Cancelled):
        backfill(narrow, ALL_PROJECTS, Pace(), work)
    left = sum(queue(narrow))

    assert 0 < left < 40
    assert backfill(narrow, ALL_PROJECTS, Pace(batch=7), Work()).embedded == left


def test_a_backfill_keeps_to_its_pace() -> None:
    assert Pace(per_second=20).pause_s(10) == 0.5
    assert Pace().pause_s(10) == 0


def test_the_worker_and_other_backfills_do_not_overtake_a_backfill(engine: Engine) -> None:
    narrow, _ = crowded(engine, 20)
    left: list[int] = []

    def beside(_: int, total: int | None, __: str) -> None:
        if total is None:
            return
        before = queue(narrow)
        background.step(narrow, Work())
        with pytest.raises(InputError, match="under way"):
            backfill(narrow, ALL_PROJECTS, Pace(), Work())
        assert queue(narrow) == before
        left.append(sum(before))

    backfill(narrow, ALL_PROJECTS, Pace(batch=5, per_second=1_000), Work(beside))

    assert left == sorted(left, reverse=True)
    assert not background.step(narrow, Work())


def test_a_backfill_brings_what_search_lacks(engine: Engine) -> None:
    id = begin(engine, "lobby")
    with engine.live.writing() as storage:
        storage.append(id, [NewTurn("elsewhere", "The lighthouse is dark.", "", datetime.now(UTC))])

    assert backfill(engine, SHOP, Pace(), Work()).kept == 1
    assert found(engine, id, "lighthouse") == {1}


def test_a_backfill_stops_where_the_vector_engine_is_down_or_the_disk_is_full(engine: Engine) -> None:
    vectors = Unreliable(engine.vectors)
    limping = replace(engine, vectors=vectors)
    talk(limping, "lobby", 3)
    vectors.down = True
    with pytest.raises(StoreUnavailable):
        backfill(limping, ALL_PROJECTS, Pace(), Work())
    with pytest.raises(StoreFull):
        backfill(replace(engine, min_free_bytes=2**62), ALL_PROJECTS, Pace(), Work())

    assert queue(engine) == (6, 0)
    assert backfill(engine, ALL_PROJECTS, Pace(), Work()).embedded == 6
