"""Contexts and histories of live conversations, put together on real engines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.change import delete_conversation
from backstory.actions.conversations.context import FIXED, get_context
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.conversations.history import history
from backstory.actions.conversations.summarizing import summarize_now
from backstory.actions.projection.now import project_batch
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine
from backstory.errors import InputError, NotFound
from backstory.model.context import Context, ContextQuery, ContextTurn
from backstory.model.live import LiveTurn, Switches
from backstory.model.project import ALL_PROJECTS
from backstory.model.search import TurnQuery
from backstory.model.summary import Summary
from backstory.model.upkeep import Target
from backstory.ranking.budget import cost
from backstory.settings import read_settings
from backstory.wiring import open_engine
from tests.e2e.doubles import Unreliable
from tests.e2e.talk import BANK, SHOP, held, tell
from tests.e2e.talk import Said as Told

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)

TYRANIDS = "For Tyranids we settled on Genestealers for early pressure, with Hive Guard in the back field."
FEEL_NO_PAIN = "Feel No Pain: roll a die for every wound that was not saved, and ignore it on a 5 or more."

#: What people also talk about, a day after the other.
SMALL_TALK = [
    ("Which primer do you use on resin?", "A grey one, in two thin coats."),
    ("Is the store open on Sunday?", "From ten to four."),
    ("Who brings the terrain for the league?", "Marta has the ruins and the forest."),
    ("My airbrush clogs all the time.", "Thin the paint a little more and clean the needle."),
    ("How long is a game at two thousand points?", "Three hours, if both know their armies."),
    ("I painted the bases today.", "They look good with the static grass."),
    ("When does the new codex come out?", "In autumn, they say."),
    ("Can I borrow your measuring tape?", "It is in the blue box."),
]


def begin(engine: Engine, room: str) -> str:
    return create_conversation(engine, SHOP, Wanted("discord", room)).conversation.id


def say(engine: Engine, id: str, *said: Said) -> list[LiveTurn]:
    """Keep turns, and let search know them by their meaning too."""
    turns = [add_turn(engine, SHOP, id, each).turn for each in said]
    while project_batch(engine, Target.VECTORS):
        pass
    return turns


def small_talk(count: int, *, until: datetime, step: timedelta) -> list[Said]:
    """Turns about this and that, the last of them at a time."""
    return [
        Said(*SMALL_TALK[number % len(SMALL_TALK)], at=until - step * (count - 1 - number))
        for number in range(count)
    ]


def asked(engine: Engine, id: str, text: str, **wanted: object) -> Context:
    query = replace(ContextQuery(text, asked_at=NOW), **wanted)  # type: ignore[arg-type]  # real fields only
    return get_context(engine, SHOP, id, query)


def texts(context: Context) -> list[str]:
    return [each.said.query for each in context.items if isinstance(each.said, ContextTurn)]


def answers(context: Context) -> list[str]:
    return [each.said.response for each in context.items if isinstance(each.said, ContextTurn)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for all tests here: each talks in a room of its own."""
    home = tmp_path_factory.mktemp("context")
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})) as opened:
        yield opened


@pytest.fixture(scope="module")
def club(engine: Engine) -> str:
    """A room in which much was said for two months, and a little in the last hour."""
    id = begin(engine, "club")
    say(
        engine,
        id,
        Said("What should I play against Marines with Tyranids?", TYRANIDS, at=NOW - timedelta(weeks=8)),
        *small_talk(20, until=NOW - timedelta(weeks=6), step=timedelta(hours=9)),
        Said("How does the feel no pain rule work?", FEEL_NO_PAIN, at=NOW - timedelta(weeks=5)),
        *small_talk(20, until=NOW - timedelta(hours=20), step=timedelta(hours=20)),
        Said("Does feel no pain work on mortal wounds?", "Yes, on them too.", at=NOW - timedelta(hours=18)),
        *small_talk(6, until=NOW - timedelta(minutes=2), step=timedelta(minutes=5)),
    )
    return id


def test_what_was_just_discussed_is_told_by_the_newest_turns_and_nothing_is_searched(
    engine: Engine, club: str
) -> None:
    context = asked(engine, club, "What were we just discussing?")

    assert context.strategy == "just_now"
    assert "semantic" not in context.statistics.sources
    assert context.statistics.sources["recent"].used == 6
    assert texts(context)[-1] == SMALL_TALK[5][0]


def test_a_decision_of_two_months_ago_is_found(engine: Engine, club: str) -> None:
    context = asked(engine, club, "We talked about Tyranid tactics before, what did we decide?")

    assert context.strategy == "history"
    assert context.because
    assert answers(context)[0] == TYRANIDS
    found = context.items[0]
    assert [source.value for source in found.sources] == ["semantic"]
    assert (found.relevance or 0) >= engine.context.threshold
    assert context.statistics.sources["recent"].used == 5


def test_a_rule_is_explained_by_all_that_was_said_about_it(engine: Engine, club: str) -> None:
    context = asked(engine, club, "How does the feel no pain rule work again?")

    assert context.strategy == "clarification"
    assert {FEEL_NO_PAIN, "Yes, on them too."} <= set(answers(context))
    assert TYRANIDS not in answers(context)


def test_a_context_is_in_order_holds_nothing_twice_and_keeps_to_its_budget(engine: Engine, club: str) -> None:
    context = asked(engine, club, "How does the feel no pain rule work again?", max_tokens=400)

    numbers = [each.said.number for each in context.items if isinstance(each.said, ContextTurn)]
    assert numbers == sorted(set(numbers))
    assert context.statistics.tokens == sum(cost(each.said) for each in context.items) <= 400
    assert context.statistics.max_tokens == 400


def test_statistics_account_for_all_that_the_sources_gave(engine: Engine, club: str) -> None:
    context = asked(engine, club, "How does the feel no pain rule work again?", max_tokens=300)

    statistics = context.statistics
    for source in ("recent", "semantic"):
        own = statistics.sources[source]
        assert own.found == own.used + own.below_threshold + own.left_out
    assert statistics.sources["recent"].left_out > 0
    assert statistics.sources["semantic"].below_threshold > 0
    assert statistics.took_ms > 0


def test_a_span_in_which_nothing_answers_is_widened_to_all_that_was_said(engine: Engine, club: str) -> None:
    context = asked(engine, club, "Genestealers and Hive Guard for Tyranids", strategy="quick_lookup")

    assert TYRANIDS in answers(context)
    assert context.statistics.span == timedelta(days=1)
    assert context.statistics.is_widened


def test_a_span_in_which_something_answers_is_not_widened(engine: Engine, club: str) -> None:
    context = asked(engine, club, "Does feel no pain work on mortal wounds?", strategy="quick_lookup")

    assert "Yes, on them too." in answers(context)
    assert FEEL_NO_PAIN not in answers(context)
    assert not context.statistics.is_widened


def test_nothing_is_found_for_what_nobody_spoke_about(engine: Engine, club: str) -> None:
    context = asked(engine, club, "Which Kubernetes ingress terminates TLS for the billing cluster?")

    assert context.statistics.sources["semantic"].used == 0
    assert context.statistics.sources["semantic"].below_threshold > 0


def test_a_lower_threshold_lets_more_in(engine: Engine, club: str) -> None:
    text = "Which paint needs thinning before the league?"

    strict = asked(engine, club, text, strategy="history", min_score=0.95)
    lax = asked(engine, club, text, strategy="history", min_score=0.0)

    assert strict.statistics.sources["semantic"].used < lax.statistics.sources["semantic"].used == 15
    assert strict.statistics.threshold == 0.95


def test_the_fixed_strategy_has_the_numbers_of_the_settings(engine: Engine, club: str) -> None:
    limits = replace(engine.context, recent=3, semantic=1)

    context = asked(replace(engine, context=limits), club, "feel no pain", strategy=FIXED)

    assert context.strategy == FIXED
    assert context.statistics.sources["recent"].found == 3
    assert context.statistics.sources["semantic"].used <= 1


def test_after_a_break_of_days_five_turns_are_still_recent(engine: Engine) -> None:
    id = begin(engine, "quiet")
    say(engine, id, *small_talk(8, until=NOW - timedelta(days=30), step=timedelta(days=3)))

    context = asked(engine, id, "What were we just discussing?")

    assert texts(context) == [query for query, _ in SMALL_TALK[3:]]


def test_a_thread_is_walked_over_its_parents(engine: Engine) -> None:
    id = begin(engine, "threads")
    first = say(engine, id, Said("Shall we move the league?", "To Friday?", at=NOW - timedelta(days=3)))[0]
    second = say(engine, id, Said("Friday is fine.", parent=first.id, at=NOW - timedelta(days=2)))[0]
    say(engine, id, *small_talk(24, until=NOW - timedelta(hours=1), step=timedelta(minutes=3)))
    say(engine, id, Said("And who tells the others?", parent=second.id, at=NOW - timedelta(minutes=1)))

    context = asked(engine, id, "and then?", strategy="continuation")

    assert texts(context)[:2] == ["Shall we move the league?", "Friday is fine."]
    assert [source.value for source in context.items[0].sources] == ["thread"]
    assert context.statistics.sources["thread"].used == 2


def test_what_others_said_in_a_thread_is_left_out_of_a_context_for_one_user(engine: Engine) -> None:
    id = begin(engine, "replies")
    first = say(engine, id, Said("Dan asks.", user_id="dan", at=NOW - timedelta(minutes=9)))[0]
    say(engine, id, Said("Eve answers.", user_id="eve", parent=first.id, at=NOW - timedelta(minutes=8)))

    assert texts(asked(engine, id, "and then?", strategy="continuation", user_id="eve")) == ["Eve answers."]
    assert texts(asked(engine, id, "?", strategy="continuation", user_id="cy", thread=first.id)) == []


def test_a_turn_of_the_first_day_of_all_has_a_context(engine: Engine) -> None:
    id = begin(engine, "origins")
    say(engine, id, Said("In the beginning.", at=datetime(1, 1, 1, tzinfo=UTC)))

    assert texts(asked(engine, id, "What were we just discussing?")) == ["In the beginning."]


@pytest.fixture(scope="module")
def crowd(engine: Engine) -> list[LiveTurn]:
    """A room in which two people talk, in two threads, about two games."""
    id = begin(engine, "crowd")
    turns: list[LiveTurn] = []
    for number in range(6):
        who = ("ann", "bob")[number % 2]
        turns += say(
            engine,
            id,
            Said(
                f"{who} asks about the dice, time {number}",
                "Dice are rolled.",
                user_id=who,
                user_name=who.title(),
                parent=turns[-2].id if number > 1 else "",
                metadata={"game": "40k" if number < 4 else "aos", "round": number},
                at=NOW - timedelta(minutes=30 - number),
            ),
        )
    return turns


def test_a_context_for_one_user_holds_nobody_elses_turns(engine: Engine, crowd: Sequence[LiveTurn]) -> None:
    context = asked(engine, crowd[0].conversation, "dice", user_id="ann", strategy="history")

    assert {each.said.user_id for each in context.items if isinstance(each.said, ContextTurn)} == {"ann"}
    assert context.statistics.sources["semantic"].used > 0
    assert len(context.items) == 3


def test_a_thread_is_named_by_any_of_its_turns(engine: Engine, crowd: Sequence[LiveTurn]) -> None:
    context = asked(engine, crowd[0].conversation, "dice", thread=crowd[3].id, strategy="history")

    assert [each.said for each in context.items] == [ContextTurn.of(crowd[number]) for number in (1, 3, 5)]


def test_metadata_filters_what_is_recent_and_what_is_found(engine: Engine, crowd: Sequence[LiveTurn]) -> None:
    context = asked(engine, crowd[0].conversation, "dice", metadata={"game": "aos"}, strategy="history")

    assert [each.said for each in context.items] == [ContextTurn.of(crowd[number]) for number in (4, 5)]


@pytest.mark.parametrize(
    ("wanted", "turns"),
    [
        (TurnQuery("dice", user="ann"), {1, 3, 5}),
        (TurnQuery("dice", metadata={"game": "aos"}), {5, 6}),
        (TurnQuery("dice", user="bob", metadata={"round": 3}), {4}),
        (TurnQuery("dice", room="crowd"), {1, 2, 3, 4, 5, 6}),
        (TurnQuery("dice", room="elsewhere"), set()),
    ],
)
def test_a_search_finds_turns_by_who_said_them_where_and_with_what(
    engine: Engine, crowd: Sequence[LiveTurn], wanted: TurnQuery, turns: set[int]
) -> None:
    assert {hit.turn for hit in search_turns(engine, SHOP, wanted).hits} == turns


def test_another_room_gives_nothing_of_this_one(engine: Engine, crowd: Sequence[LiveTurn]) -> None:
    assert asked(engine, crowd[0].conversation, "dice", room="elsewhere", strategy="history").items == []
    assert asked(engine, crowd[0].conversation, "dice", room="crowd", strategy="history").items


def test_what_was_said_elsewhere_is_found_only_if_it_is_wanted(engine: Engine, club: str) -> None:
    tell(engine, held("session"), Told("Where is the zeppelin deployed?", "The zeppelin runs in Frankfurt."))
    tell(engine, held("foreign", project=BANK), Told("The zeppelin of the bank", "is in Paris."))

    here = asked(engine, club, "Where did we deploy the zeppelin?", strategy="history")
    everywhere = asked(engine, club, "Where did we deploy the zeppelin?", strategy="history", everywhere=True)

    assert "The zeppelin runs in Frankfurt." not in answers(here)
    assert "The zeppelin runs in Frankfurt." in answers(everywhere)
    assert "is in Paris." not in answers(everywhere)
    assert here.statistics.sources["recent"].used == everywhere.statistics.sources["recent"].used


def test_a_turn_that_is_not_embedded_yet_is_found_by_its_words(engine: Engine) -> None:
    id = begin(engine, "new")
    say(engine, id, *small_talk(12, until=NOW - timedelta(days=2), step=timedelta(hours=1)))
    add_turn(engine, SHOP, id, Said("The wifi password is on the fridge.", at=NOW - timedelta(days=9)))
    for each in small_talk(6, until=NOW, step=timedelta(minutes=1)):
        add_turn(engine, SHOP, id, each)

    context = asked(engine, id, "where is the wifi password", strategy="history")

    assert "The wifi password is on the fridge." in texts(context)


def test_without_the_vector_engine_recent_and_thread_and_words_still_answer(
    engine: Engine, club: str
) -> None:
    vectors = Unreliable(engine.vectors)
    vectors.down = True

    context = asked(replace(engine, vectors=vectors), club, "How does the feel no pain rule work again?")

    assert context.degraded
    assert context.statistics.sources["recent"].used == 10
    assert FEEL_NO_PAIN in answers(context)


def test_with_search_by_meaning_switched_off_words_find(engine: Engine, club: str) -> None:
    off = replace(engine, switches=lambda: Switches(semantic_search=False))

    assert FEEL_NO_PAIN in answers(asked(off, club, "How does the feel no pain rule work again?"))


def test_a_conversation_that_search_does_not_know_yet_has_a_context(engine: Engine) -> None:
    id = begin(engine, "uncopied")
    say(engine, id, *small_talk(3, until=NOW, step=timedelta(minutes=1)))
    with engine.records.writing() as records:
        records.conversations.forget([id])

    context = asked(engine, id, "How does the airbrush work?", strategy="history")

    assert len(context.items) == 3
    assert context.degraded


def test_summaries_are_part_of_a_context_and_give_way_to_their_turns(engine: Engine) -> None:
    id = begin(engine, "long")
    say(engine, id, *small_talk(24, until=NOW, step=timedelta(days=1)))
    summarize_now(engine, SHOP, id)

    light = asked(engine, id, "hello", strategy="history", min_score=1.0)
    heavy = asked(
        replace(engine, context=replace(engine.context, recent=24, window=timedelta(days=90))),
        id,
        "hello",
        strategy=FIXED,
        min_score=1.0,
    )

    summaries = [each.said for each in light.items if isinstance(each.said, Summary)]
    assert summaries
    assert isinstance(light.items[0].said, Summary)
    assert light.statistics.sources["summary"].used == len(summaries)
    assert not any(isinstance(each.said, Summary) for each in heavy.items)


def test_a_history_has_what_was_said_last_summaries_and_the_archive(engine: Engine) -> None:
    id = begin(engine, "tiers")
    say(engine, id, *small_talk(28, until=NOW, step=timedelta(minutes=1)))
    summarize_now(engine, SHOP, id)

    whole = history(engine, SHOP, id, max_tokens=20_000)
    small = history(engine, SHOP, id, max_tokens=200)

    assert [turn.number for turn in whole.active] == [26, 27, 28]
    assert [(each.first_turn, each.last_turn) for each in whole.summaries] == [(11, 15), (16, 20), (21, 25)]
    assert [turn.number for turn in whole.archive] == list(range(1, 11))
    assert not any(whole.left_out.values())
    assert small.tokens <= 200
    assert small.active[-1] == whole.active[-1]
    assert any(small.left_out.values())


def test_a_conversation_without_a_turn_has_an_empty_context_and_history(engine: Engine) -> None:
    id = begin(engine, "empty")

    assert asked(engine, id, "What did we decide about the league?").items == []
    assert history(engine, SHOP, id).active == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"text": "  "},
        {"strategy": "guess"},
        {"min_score": 1.5},
        {"max_tokens": 0},
        {"thread": "no such turn"},
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint(
    engine: Engine, club: str, wanted: dict[str, object]
) -> None:
    with pytest.raises(InputError) as refused:
        asked(engine, club, **{"text": "dice", **wanted})  # type: ignore[arg-type]  # some are wrong on purpose

    assert refused.value.hint


def test_a_conversation_outside_the_scope_or_deleted_has_no_context_and_no_history(engine: Engine) -> None:
    id = begin(engine, "gone")
    say(engine, id, Said("hello", at=NOW))

    with pytest.raises(NotFound):
        get_context(engine, BANK, id, ContextQuery("hello"))
    delete_conversation(engine, SHOP, id)
    with pytest.raises(NotFound):
        get_context(engine, ALL_PROJECTS, id, ContextQuery("hello"))
    with pytest.raises(NotFound):
        history(engine, ALL_PROJECTS, id)


def test_a_history_of_no_tokens_is_refused(engine: Engine, club: str) -> None:
    with pytest.raises(InputError):
        history(engine, SHOP, club, max_tokens=0)
