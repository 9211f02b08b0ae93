"""Choosing what goes into a context and into a history: by weight, inside a budget, in order."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.context import ContextTurn, Source
from backstory.model.live import LiveConversation, LiveTurn, TierLimits
from backstory.model.project import Project
from backstory.model.summary import Summary
from backstory.model.tokens import tokens
from backstory.ranking.budget import ATTRIBUTION, LEAST, cost, shortened
from backstory.ranking.context import Offered, assemble, found, recent, summarized, thread
from backstory.ranking.tiers import tiers_of

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PLENTY = 100_000


def turn(number: int, text: str = "", *, of: str = "room", at: datetime | None = None) -> ContextTurn:
    return ContextTurn(
        of, number, text or f"question {number}", "answer", at or NOON + timedelta(minutes=number)
    )


def turns(first: int, last: int) -> list[ContextTurn]:
    return [turn(number) for number in range(first, last + 1)]


def summary(first: int, last: int, text: str = "It was decided.") -> Summary:
    return Summary(text, first, last, tokens(text), "test")


def numbers(offered: Sequence[Offered], max_tokens: int = PLENTY) -> list[int]:
    """The turns that were chosen, by number; a summary by its last turn, below 0."""
    chosen = [item.said for item in assemble("room", offered, max_tokens).items]
    return [-said.last_turn if isinstance(said, Summary) else said.number for said in chosen]


def test_what_is_chosen_stands_in_the_order_in_which_it_was_said() -> None:
    offered = [
        *recent(turns(8, 10), 0.9),
        *found([(turn(3), 0.8)]),
        *summarized([summary(4, 5)], 0.9, 3),
        *thread([turn(2), turn(1)], 0.9),
    ]

    assert numbers(offered) == [1, 2, 3, -5, 8, 9, 10]


def test_a_turn_that_several_sources_give_is_there_once_and_names_them_all() -> None:
    offered = [*recent(turns(1, 3), 0.5), *thread([turn(1)], 0.5), *found([(turn(1), 0.8)])]

    assembled = assemble("room", offered, PLENTY)

    first = assembled.items[0]
    assert [item.said for item in assembled.items] == turns(1, 3)
    assert first.sources == [Source.RECENT, Source.THREAD, Source.SEMANTIC]
    assert (first.weight, first.relevance) == (0.8, 0.8)
    assert assembled.duplicates == {Source.RECENT: 1, Source.THREAD: 1, Source.SEMANTIC: 1}


def test_the_newest_turn_comes_first_and_the_best_that_was_found_before_what_is_old() -> None:
    offered = [*recent(turns(11, 20), 0.9), *found([(turn(3), 0.85)])]
    one = cost(turn(20))

    assert numbers(offered, one) == [20]
    assert numbers(offered, 3 * one) == [3, 19, 20]


def test_what_does_not_fit_is_counted_for_its_source() -> None:
    offered = [*recent(turns(1, 3), 0.9), *found([(turn(9, of="other"), 0.1)])]

    assembled = assemble("room", offered, 2 * cost(turn(1)))

    assert assembled.left_out == {Source.RECENT: 1, Source.SEMANTIC: 1}


def test_a_small_turn_may_take_the_place_of_one_that_does_not_fit() -> None:
    offered = recent([turn(1), turn(2, "long " * 400), turn(3)], 0.9)

    assert numbers(offered, 3 * cost(turn(1))) == [1, 3]


def test_the_newest_turn_is_shortened_to_half_if_the_others_need_the_rest() -> None:
    paste = turn(9, "x" * 40_000)
    others = [turn(number, "word " * 100) for number in range(1, 9)]

    items = assemble("room", recent([*others, paste], 0.9), 1_000).items

    assert items[-1].is_shortened
    assert LEAST < items[-1].tokens <= 500
    assert len(items) > 3


def test_the_newest_turn_may_take_what_nobody_else_needs() -> None:
    items = assemble("room", recent([turn(1), turn(2, "x" * 40_000)], 0.9), 1_000).items

    assert [item.is_shortened for item in items] == [False, True]
    assert items[-1].tokens > 900


def test_the_best_of_what_was_found_is_shortened_where_nothing_is_recent() -> None:
    (item,) = assemble("room", found([(turn(1, "y" * 40_000), 0.9)]), 400).items

    assert item.is_shortened
    assert item.tokens <= 400


def test_a_summary_is_left_out_when_all_its_turns_are_there() -> None:
    offered = [*recent(turns(1, 10), 0.9), *summarized([summary(1, 5)], 0.9, 5)]

    assembled = assemble("room", offered, PLENTY)

    assert numbers(offered) == list(range(1, 11))
    assert assembled.duplicates == {Source.SUMMARY: 1}
    assert not assembled.left_out


def test_a_summary_stands_in_for_turns_that_did_not_fit() -> None:
    offered = [*recent(turns(1, 10), 0.9), *summarized([summary(1, 5)], 0.9, 5)]

    chosen = numbers(offered, 8 * cost(turn(1)))

    assert -5 in chosen
    assert 1 not in chosen


def test_turns_of_other_conversations_stand_where_their_time_is() -> None:
    other = turn(70, of="other", at=NOON + timedelta(minutes=2, seconds=30))

    assert numbers([*recent(turns(1, 4), 0.9), *found([(other, 0.8)])]) == [1, 2, 70, 3, 4]


def test_a_clock_that_went_back_does_not_change_the_order_of_a_conversation() -> None:
    back = replace(turn(3), at=NOON - timedelta(days=1))

    assert numbers(recent([turn(1), turn(2), back, turn(4)], 0.9)) == [1, 2, 3, 4]


_OFFERS = st.lists(
    st.builds(
        lambda number, source, weight: Offered(
            summary(max(number - 4, 1), number)
            if source is Source.SUMMARY
            else turn(number, "w" * 20 * number),
            source,
            weight,
        ),
        st.integers(1, 30),
        st.sampled_from(Source),
        st.floats(0, 1),
    ),
    max_size=40,
)


@given(_OFFERS, st.integers(1, 600))
def test_a_context_never_costs_more_than_its_budget_and_holds_nothing_twice(
    offered: list[Offered], max_tokens: int
) -> None:
    assembled = assemble("room", offered, max_tokens)

    assert sum(item.tokens for item in assembled.items) <= max_tokens
    assert all(item.tokens == cost(item.said) for item in assembled.items)
    assert len({repr(item.said) for item in assembled.items}) == len(assembled.items)
    own = [item.said.number for item in assembled.items if isinstance(item.said, ContextTurn)]
    assert own == sorted(own)


@given(_OFFERS)
def test_with_room_for_all_every_turn_that_is_offered_is_there(offered: list[Offered]) -> None:
    items = assemble("room", offered, PLENTY).items

    wanted = {each.said.number for each in offered if isinstance(each.said, ContextTurn)}
    assert {item.said.number for item in items if isinstance(item.said, ContextTurn)} == wanted


@given(_OFFERS, st.integers(1, 600), st.randoms(use_true_random=False))
def test_the_order_in_which_things_are_offered_changes_nothing(
    offered: list[Offered], max_tokens: int, random: Random
) -> None:
    shuffled = list(offered)
    random.shuffle(shuffled)

    assert assemble("room", offered, max_tokens).items == assemble("room", shuffled, max_tokens).items


@given(st.text(max_size=2_000), st.text(max_size=2_000), st.integers(ATTRIBUTION, 800))
def test_a_shortened_turn_costs_no_more_than_it_may(query: str, response: str, most: int) -> None:
    short = shortened(ContextTurn("room", 1, query, response), most)

    assert cost(short) <= most


def test_a_turn_that_fits_is_not_changed_by_shortening() -> None:
    assert shortened(turn(1), cost(turn(1))) == turn(1)


def test_a_shortened_text_keeps_its_beginning_and_its_end() -> None:
    text = f"It begins so. {'middle ' * 500}It ends so."

    short = shortened(ContextTurn("room", 1, text, ""), 60).query

    assert short.startswith("It begins so.")
    assert "[…]" in short
    assert short.endswith("It ends so.")


ROOM = LiveConversation("room", Project("shop"), "cli", "room", NOON, NOON)
TIERS = TierLimits()


def live(number: int, text: str = "") -> LiveTurn:
    return LiveTurn(f"t{number}", "room", number, text or f"question {number}", "answer", NOON)


def held(count: int, summarized_to: int = 0) -> LiveConversation:
    """A conversation whose turns are summed up by fives up to one of them."""
    summaries = [summary(last - 4, last) for last in range(5, summarized_to + 1, 5)]
    return replace(ROOM, turns=count, summarized_to=summarized_to, summaries=summaries[-3:])


def lives(*spans: tuple[int, int]) -> list[LiveTurn]:
    return [live(number) for first, last in spans for number in range(first, last + 1)]


def shown(said: Sequence[LiveTurn]) -> list[int]:
    return [each.number for each in said]


def test_a_short_conversation_is_all_active() -> None:
    history = tiers_of(held(7), lives((1, 7)), TIERS, 2_000)

    assert shown(history.active) == list(range(1, 8))
    assert (history.summaries, history.archive) == ([], [])
    assert history.left_out == {"active": 0, "summary": 0, "archive": 0}


def test_every_turn_of_a_long_one_is_in_one_tier() -> None:
    history = tiers_of(held(47, 40), lives((1, 25), (41, 47)), TIERS, PLENTY)

    assert shown(history.active) == list(range(41, 48))
    assert [each.first_turn for each in history.summaries] == [26, 31, 36]
    assert shown(history.archive) == list(range(1, 26))
    assert sum(history.left_out.values()) == 0


def test_turns_that_nobody_summed_up_in_time_are_archived_and_not_lost() -> None:
    history = tiers_of(held(30), lives((1, 30)), TIERS, PLENTY)

    assert shown(history.active) == list(range(21, 31))
    assert shown(history.archive) == list(range(1, 21))


def test_what_was_said_last_comes_before_summaries_and_these_before_the_archive() -> None:
    conversation, said = held(47, 40), lives((1, 25), (41, 47))
    active = sum(cost(live(number)) for number in range(41, 48))
    summaries = 3 * cost(summary(1, 5))

    history = tiers_of(conversation, said, TIERS, active + summaries)

    assert len(history.active) == 7
    assert len(history.summaries) == 3
    assert history.archive == []
    assert history.left_out["archive"] == 25
    assert history.tokens == active + summaries


def test_summaries_have_a_third_of_the_tokens_however_much_was_said_last() -> None:
    said = [live(number, "long " * 200) for number in range(41, 51)]

    history = tiers_of(held(50, 40), said, TIERS, 600)

    assert len(history.summaries) == 3
    assert history.left_out["active"] == 10 - len(history.active) > 0
    assert history.tokens <= 600


def test_the_newest_turn_of_a_history_is_shortened_rather_than_left_out() -> None:
    history = tiers_of(held(2), [live(1), live(2, "x" * 40_000)], TIERS, 500)

    assert shown(history.active) == [1, 2]
    assert "[…]" in history.active[-1].query
    assert history.tokens <= 500


def test_an_old_turn_must_be_shorter_than_a_younger_one_to_be_shown() -> None:
    long = "word " * 60
    said = [replace(live(number, long), response="") for number in range(1, 31)]
    one = cost(said[0])

    slow = tiers_of(held(30), said, replace(TIERS, decay=1.0), 25 * one)
    fast = tiers_of(held(30), said, replace(TIERS, decay=0.7), 25 * one)

    assert len(slow.archive) == 15
    assert 0 < len(fast.archive) < 15
    assert shown(fast.archive) == shown(slow.archive)[-len(fast.archive) :]


@pytest.mark.parametrize("limits", [replace(TIERS, summaries=0), replace(TIERS, archived_turns=0)])
def test_a_tier_of_no_size_shows_nothing(limits: TierLimits) -> None:
    history = tiers_of(held(47, 40), lives((1, 25), (41, 47)), limits, PLENTY)

    assert len(history.summaries) <= limits.summaries
    assert len(history.archive) <= limits.archived_turns


@given(st.integers(0, 60), st.integers(0, 11), st.integers(1, 900), st.integers(0, 300))
def test_a_history_never_costs_more_than_its_budget_and_accounts_for_every_turn(
    count: int, groups: int, max_tokens: int, length: int
) -> None:
    conversation = held(count, 5 * min(groups, count // 5))
    said = [live(number, "w" * (length + 1)) for number in range(1, count + 1)]

    history = tiers_of(conversation, said, TIERS, max_tokens)

    costs = [cost(each) for each in (*history.active, *history.archive)]
    assert history.tokens == sum(costs) + sum(map(cost, history.summaries)) <= max_tokens
    in_summaries = 5 * (len(history.summaries) + history.left_out["summary"])
    in_turns = len(history.active) + len(history.archive)
    assert in_turns + in_summaries + history.left_out["active"] + history.left_out["archive"] == count
