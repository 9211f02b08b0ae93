"""Choosing what a task begins with: the most useful of each type, inside a budget, each with a reason."""

from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.memory import MemoryId
from backstory.model.tokens import tokens
from backstory.ranking.working import Offer, WorkingSet, working_set

PLENTY = 100_000
SUBJECTS = ["cache", "queue", "login", "export", "search", "billing", "upload", "webhook", "invoice"]
Offers = Mapping[str, Sequence[Offer]]


def offer(id: str, text: str = "", relevance: float = 0.5, importance: float = 0.5) -> Offer:
    return Offer(MemoryId(id), text or f"All about {id}.", relevance, importance)


def ids(found: WorkingSet) -> list[str]:
    return [picked.offer.id for picked in found.chosen]


def reason(found: WorkingSet, id: str) -> str:
    return next(each.why for each in (*found.chosen, *found.left_out) if each.offer.id == id)


#: Some of them say the same, some nearly the same, some have no words.
TEXTS = [
    *(f"The {one} waits for the {other}." for one, other in zip(SUBJECTS, SUBJECTS[::-1], strict=True)),
    *(f"**The {one}** waits for the {one}, not the queue." for one in SUBJECTS[:3]),
    *(f"the {one} waits, for the {one}; not the queue" for one in SUBJECTS[:3]),
    "The cache waits.",
    "?!",
    "\u5f85\u3064",
]
drawn = st.tuples(st.sampled_from(TEXTS), st.floats(0, 1), st.floats(0, 1))


@st.composite
def offered(draw: st.DrawFn) -> dict[str, list[Offer]]:
    """Offers of up to three types."""
    return {
        kind: [offer(f"{kind}-{number}", *each) for number, each in enumerate(draw(drawn_offers))]
        for kind in ("design", "session", "preference")
    }


drawn_offers = st.lists(drawn, max_size=5)


@given(offered(), st.integers(0, 1_000))
def test_what_is_chosen_fits_with_its_headings_and_all_else_is_left_out_for_a_reason(
    offers: Offers, most: int
) -> None:
    found = working_set(offers, most)

    shown = "".join(f"{each.type} {each.offer.id}\n{each.why}\n{each.offer.text}\n" for each in found.chosen)
    assert tokens(shown) <= found.tokens <= most
    everything = sorted(offer.id for own in offers.values() for offer in own)
    assert sorted(each.offer.id for each in (*found.chosen, *found.left_out)) == everything
    assert all(each.why for each in (*found.chosen, *found.left_out))


@given(offered(), st.integers(0, 1_000), st.randoms(use_true_random=False))
def test_the_order_of_the_offers_makes_no_difference(offers: Offers, most: int, random: Random) -> None:
    shuffled = {kind: random.sample(offers[kind], len(offers[kind])) for kind in reversed(list(offers))}

    assert working_set(shuffled, most) == working_set(offers, most)


@given(offered())
def test_with_room_for_all_every_type_is_there_unless_another_one_says_the_same(offers: Offers) -> None:
    found = working_set(offers, PLENTY)

    assert all("says nearly the same" in each.why for each in found.left_out)
    told = {each.type for each in (*found.chosen, *found.left_out)}
    assert told == {kind for kind, own in offers.items() if own}


@given(offered(), st.integers(0, 1_000))
def test_nothing_is_chosen_twice_word_for_word(offers: Offers, most: int) -> None:
    chosen = [" ".join(each.offer.text.split()) for each in working_set(offers, most).chosen]

    assert len(chosen) == len(set(chosen))


def test_each_type_has_its_best_before_any_has_a_second() -> None:
    offers = {
        "design": [offer(subject, relevance=0.9) for subject in SUBJECTS],
        "preference": [offer("quotes", relevance=0.1)],
        "session": [offer("monday", relevance=0.2), offer("friday", relevance=0.3)],
    }

    assert ids(working_set(offers, PLENTY))[:3] == ["billing", "friday", "quotes"]


def test_the_rest_goes_to_the_most_useful_whatever_the_type() -> None:
    offers = {
        "design": [offer("cache", relevance=0.9), offer("queue", relevance=0.85)],
        "session": [offer("monday", relevance=0.8), offer("friday", relevance=0.1)],
    }

    assert ids(working_set(offers, PLENTY)) == ["cache", "monday", "queue", "friday"]


def test_a_type_that_has_several_gives_way_to_others() -> None:
    offers = {
        "design": [offer(subject, relevance=0.8) for subject in SUBJECTS],
        "session": [offer("monday", relevance=0.7), offer("friday", relevance=0.7)],
    }

    assert "friday" in ids(working_set(offers, PLENTY))[:6]


def test_with_equal_relevance_the_more_important_comes_first() -> None:
    offers = {"design": [offer("cache", importance=0.2), offer("queue", importance=0.9)]}

    assert ids(working_set(offers, PLENTY)) == ["queue", "cache"]


def test_a_long_memory_does_not_take_the_place_of_another_types_best() -> None:
    long = " ".join(f"{subject}{number}" for number in range(20) for subject in SUBJECTS)
    offers = {
        "session": [offer("all", long, relevance=1.0)],
        "design": [offer("cache", relevance=0.1)],
    }
    both = tokens(long) + 60

    found = working_set(offers, both)

    assert ids(found) == ["cache"]
    assert "tokens" in reason(found, "all")


def test_a_memory_longer_than_its_types_share_comes_after_the_first_ones_if_it_fits() -> None:
    long = " ".join(f"{subject}{number}" for number in range(5) for subject in SUBJECTS)
    offers = {
        "session": [offer("all", long, relevance=1.0)],
        "design": [offer("cache", relevance=0.1)],
    }
    room = sum(each.tokens for own in offers.values() for each in own)

    assert ids(working_set(offers, room)) == ["cache", "all"]


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("Primary keys are UUIDv7.", "All primary keys are UUIDv7."),
        ("Search answers within 200 ms.", "Search answers within 200 ms and returns at most 50 hits."),
    ],
)
def test_of_two_that_say_the_same_in_the_same_words_the_longer_one_is_chosen(
    shorter: str, longer: str
) -> None:
    found = working_set({"design": [offer("one", shorter, 0.9), offer("other", longer, 0.2)]}, PLENTY)

    assert len(found.chosen) == len(found.left_out) == 1
    assert found.chosen[0].offer.text == longer
    assert found.left_out[0].why == f"{found.chosen[0].offer.id} says nearly the same"


def test_of_two_that_are_the_same_but_for_their_marks_the_more_useful_one_is_chosen() -> None:
    plain = offer("plain", "Use Redis for the session cache.", 0.9)
    marked = offer("marked", "use **Redis** for the session cache", 0.2)

    assert ids(working_set({"design": [marked], "preference": [plain]}, PLENTY)) == ["plain"]


def test_where_the_longer_one_does_not_fit_the_shorter_is_chosen() -> None:
    short = offer("short", "Search answers within 200 ms.")
    long = offer("long", "Search answers within 200 ms and returns at most 50 hits.")

    assert ids(working_set({"design": [short, long]}, short.tokens)) == ["short"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don't use Redis for sessions.", "Use Redis for sessions."),
        ("Exports are not encrypted.", "Exports are encrypted."),
        ("The timeout is 30 seconds.", "The timeout is 60 seconds."),
        ("The worker calls the gateway.", "The gateway calls the worker."),
    ],
)
def test_what_says_something_else_in_nearly_the_same_words_is_chosen_too(one: str, other: str) -> None:
    found = working_set({"design": [offer("one", one), offer("other", other)]}, PLENTY)

    assert sorted(ids(found)) == ["one", "other"]


def test_another_wording_comes_after_what_is_new() -> None:
    offers = {
        "design": [
            offer("cache", "The session cache is Redis.", 0.9),
            offer("again", "Use Redis as the session cache.", 0.85),
            offer("queue", "Jobs wait in a table of their own.", 0.7),
        ]
    }

    assert ids(working_set(offers, PLENTY)) == ["cache", "queue", "again"]


def test_a_reason_says_how_near_and_how_important_a_memory_is_and_which_place_it_has() -> None:
    offers = {"design": [offer("cache", relevance=0.82, importance=0.9), offer("queue", importance=0.1)]}

    found = working_set(offers, PLENTY)

    assert reason(found, "cache") == (
        "most useful of 2 offered as design: close to the task (0.82), important (0.90)"
    )
    assert reason(found, "queue") == (
        "no. 2 of 2 offered as design: related to the task (0.50), of little importance (0.10)"
    )


def test_without_offers_nothing_is_chosen() -> None:
    assert working_set({}, PLENTY) == WorkingSet([], [], 0)
    assert working_set({"design": []}, PLENTY) == WorkingSet([], [], 0)
