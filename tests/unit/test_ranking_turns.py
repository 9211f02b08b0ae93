"""What is known of what was said, and how it is ranked."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.model.conversation import Conversation, Message, Role
from backstory.model.keeping import MessageCues
from backstory.model.live import LiveTurn
from backstory.model.passage import Index
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import AnyOf, Between, Scored, TurnQuery
from backstory.model.transcript import Title
from backstory.ranking.turns import (
    LIVE_LABELS,
    WEIGHTS,
    asked_words,
    conditions,
    conversation_passage,
    cues_of,
    lets_through,
    live_labels,
    message_passage,
    rank,
    session_conditions,
    session_words,
    window_part,
    window_words,
)

SHOP = Project("shop")
NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)
LIVE = LiveTurn(
    "t2",
    "live",
    2,
    "hello",
    "",
    NOON,
    user_id="u1",
    thread="t1",
    metadata={"game": "40k", "ranked": True, "round": 2, "nested": {"a": 1}},
)
ROOM = Conversation("live", SHOP, "discord", room="#club", is_live=True)
CHAT = Conversation("chat", SHOP, "claude-code", title=Title("Cart totals"), started_at=NOON)


def said(text: str, **more: object) -> Message:
    return Message(
        **{"id": "m", "conversation": "chat", "turn": 1, "place": 1, "role": Role.USER, "at": NOON}  # type: ignore[arg-type]  # a test's shorthand
        | {"text": text}
        | more
    )


def cues(text: str = "", **more: object) -> MessageCues:
    return MessageCues(
        **{"conversation": "chat", "turn": 1, "role": Role.USER, "speaker": "", "at": NOON.timestamp()}  # type: ignore[arg-type]  # a test's shorthand
        | {"is_between_people": False, "own": cues_of(said(text))}
        | more
    )


def order(
    question: str, candidates: Mapping[str, MessageCues], asked_at: datetime | None = None
) -> list[str]:
    """How messages are ranked that all retrievers find equally good."""
    lists = {"words": [Scored(id, 1.0) for id in candidates]}
    return [each.id for each in rank(TurnQuery(question, asked_at=asked_at), lists, candidates)]


def test_a_message_is_found_by_its_speaker_its_words_and_its_date() -> None:
    passage = message_passage(said("Rounding is off", speaker="Caroline"), CHAT)

    assert passage.terms == "carolin round off 8 may 2023"
    assert (passage.index, passage.project, passage.text) == (Index.TURNS, SHOP, "Rounding is off")


def test_a_turn_of_a_live_conversation_is_filtered_by_its_user_its_thread_and_its_metadata() -> None:
    passage = message_passage(said("hello"), ROOM, live_labels(LIVE))

    assert passage.labels["user"] == ["u1"]
    assert passage.labels["thread"] == ["t1"]
    assert passage.labels["metadata"] == ['"game": "40k"', '"ranked": true', '"round": 2']
    assert passage.labels["room"] == conversation_passage(ROOM, "key").labels["room"] == ["#club"]


def test_a_transcript_has_none_of_the_labels_of_live_turns() -> None:
    labels = message_passage(said("hello"), CHAT).labels

    assert [labels[each] for each in (*LIVE_LABELS, "room")] == [[], [], [], []]


@pytest.mark.parametrize(
    ("wanted", "is_let_through"),
    [
        (TurnQuery("q"), True),
        (TurnQuery("q", conversation="live", room="#club", user="u1", thread="t1"), True),
        (TurnQuery("q", metadata={"game": "40k", "ranked": True, "round": 2}), True),
        (TurnQuery("q", user="u2"), False),
        (TurnQuery("q", thread="t2"), False),
        (TurnQuery("q", room="#other"), False),
        (TurnQuery("q", metadata={"game": "40k", "round": 3}), False),
        (TurnQuery("q", metadata={"tags": "a"}), False),
    ],
)
def test_a_live_turn_meets_the_same_conditions_as_its_messages(
    wanted: TurnQuery, is_let_through: bool
) -> None:
    where = conditions(SHOP, wanted)
    labels = message_passage(said("hello", conversation="live"), ROOM, live_labels(LIVE)).labels

    assert lets_through(where, LIVE, "#club") is is_let_through
    assert all(set(each.values) & set(labels[each.label]) for each in where.labels) is is_let_through


def test_the_date_of_a_message_is_that_of_its_moment_in_utc() -> None:
    late = datetime(2023, 5, 8, 23, tzinfo=timezone(timedelta(hours=-5)))

    assert message_passage(said("hello", at=late), CHAT).terms.endswith("9 may 2023")


def test_a_subagent_s_message_is_found_inside_the_conversation_that_started_it_too() -> None:
    inner = Conversation("chat/a1", SHOP, "claude-code", parent="chat")

    assert message_passage(said("hello"), inner).labels["conversation"] == ["chat/a1", "chat"]
    assert message_passage(said("hello"), CHAT).labels["conversation"] == ["chat"]


def test_a_conversation_is_found_by_its_title_and_one_without_an_end_ends_when_it_began() -> None:
    passage = conversation_passage(CHAT, "key")

    assert (passage.id, passage.index, passage.terms) == ("key", Index.SESSIONS, "cart total")
    assert passage.numbers == {"started_at": NOON.timestamp(), "ended_at": NOON.timestamp()}
    assert conversation_passage(Conversation("x", SHOP, "codex"), "key").numbers["ended_at"] == 0


def test_windows_hold_their_messages_words_and_the_date_of_the_one_they_belong_to() -> None:
    earlier = message_passage(said("cart totals", at=datetime(2022, 1, 1, tzinfo=UTC)), CHAT).terms
    centre = message_passage(said("rounding"), CHAT).terms

    parts = [window_part(Role.USER, each) for each in (earlier, centre)]

    assert window_words(centre, parts) == "cart total round 8 may 2023"


@pytest.mark.parametrize(("role", "kept"), [(Role.USER, 100), (Role.ASSISTANT, 30)])
def test_an_agent_gives_windows_the_beginning_of_what_it_said_and_a_user_all(role: Role, kept: int) -> None:
    terms = message_passage(said(" ".join(f"w{n}" for n in range(100))), CHAT).terms

    assert window_part(role, terms).split() == [f"w{n}" for n in range(kept)]


def test_a_session_has_the_words_of_all_its_messages_and_each_date_once() -> None:
    messages = [message_passage(said(text), CHAT).terms for text in ("cart", "totals")]

    assert session_words("titl", messages) == "titl cart total 8 may 2023"
    assert session_words("", []) == ""


def test_what_a_message_asks_is_what_the_next_one_is_found_by() -> None:
    text = 'Nice. Which database shall we take? See http://a.b/?q=1 or x?.y! (And "which port?")'

    assert asked_words(text) == "databas take port"
    assert asked_words("No question.") == ""


def test_filters_are_conditions_on_messages() -> None:
    query = TurnQuery("q", conversation="chat", role=Role.USER, interface_type="codex", room="r", since=NOON)

    where = conditions(SHOP, query)

    assert set(map(str, where.labels)) == {
        str(AnyOf(label, [value]))
        for label, value in [
            ("conversation", "chat"),
            ("interface_type", "codex"),
            ("room", "r"),
            ("role", "user"),
        ]
    }
    assert where.numbers == {"at": Between(NOON.timestamp(), None)}
    assert conditions(ALL_PROJECTS, TurnQuery("q")).numbers == {}


def test_a_conversation_is_let_through_if_any_of_it_was_held_in_the_time_asked_for() -> None:
    query = TurnQuery("q", since=NOON, until=NOON, role=Role.USER)

    where = session_conditions(SHOP, query)

    assert where.labels == []
    assert session_conditions(SHOP, TurnQuery("q", user="u", thread="t", metadata={"a": 1})).labels == []
    assert where.numbers == {
        "ended_at": Between(NOON.timestamp(), None),
        "started_at": Between(None, NOON.timestamp()),
    }


def test_what_several_retrievers_agree_on_comes_first() -> None:
    lists = {
        "words": [Scored("a", 9.0), Scored("b", 8.0), Scored("c", 1.0)],
        "window words": [Scored("b", 5.0), Scored("a", 1.0)],
        "meaning": [Scored("b", 0.9), Scored("c", 0.1)],
    }
    ranked = rank(TurnQuery("q"), lists, {id: cues() for id in "abc"})

    assert [each.id for each in ranked] == ["b", "a", "c"]
    assert ranked[0].parts["meaning"] == WEIGHTS["meaning"]


def test_a_message_gains_by_the_conversation_it_is_part_of() -> None:
    candidates = {"a": cues(conversation="other"), "b": cues(conversation="chat")}
    lists = {"words": [Scored("a", 1.0), Scored("b", 1.0)], "session words": [Scored("chat", 3.0)]}

    ranked = rank(TurnQuery("q"), lists, candidates)

    assert [each.id for each in ranked] == ["b", "a"]
    assert ranked[0].parts["session words"] == WEIGHTS["session words"]


def test_a_conversation_alone_is_no_candidate() -> None:
    assert rank(TurnQuery("q"), {"session words": [Scored("chat", 3.0)]}, {"chat": cues()}) == []


def test_what_records_do_not_know_is_not_ranked() -> None:
    assert rank(TurnQuery("q"), {"words": [Scored("gone", 1.0)]}, {}) == []


def test_a_user_comes_before_an_agent_and_its_tools() -> None:
    candidates = {"agent": cues(role=Role.ASSISTANT), "tool": cues(role=Role.TOOL), "user": cues()}

    assert order("q", candidates)[0] == "user"


def test_the_person_a_question_names_comes_first_unless_it_names_two() -> None:
    candidates = {
        "a": cues("I paint", speaker="Melanie", is_between_people=True),
        "b": cues("I paint", speaker="Caroline", is_between_people=True),
    }

    assert order("What does Caroline paint?", candidates) == ["b", "a"]
    assert order("What do Caroline and Melanie paint?", candidates) == ["a", "b"]


def test_a_person_whose_name_has_no_words_is_never_named() -> None:
    candidates = {name: cues("I paint", speaker=name, is_between_people=True) for name in ("?", "!")}

    assert order("What? Who!", candidates) == ["!", "?"]


def test_between_people_who_states_something_comes_before_who_asks() -> None:
    candidates = {
        "a": cues("What did you paint?", is_between_people=True),
        "b": cues("I painted a lake by the sunrise last year.", is_between_people=True),
    }

    assert order("What was painted?", candidates) == ["b", "a"]


@pytest.mark.parametrize("question", ["When was it painted?", "How long did it take?", "What year was it?"])
def test_a_question_for_a_time_prefers_what_tells_one(question: str) -> None:
    assert order(question, {"a": cues("A lake."), "b": cues("A lake, last year.")}) == ["b", "a"]


def test_a_time_that_a_question_names_puts_what_was_said_then_first() -> None:
    candidates = {"a": cues(at=NOON.timestamp() - 90 * 86_400), "b": cues()}

    assert order("What did we fix on 8 May 2023?", candidates) == ["b", "a"]
    assert order("What did we fix a month ago?", candidates, NOON + timedelta(days=30)) == ["b", "a"]


def test_a_time_that_all_candidates_share_tells_nothing() -> None:
    ranked = rank(TurnQuery("in 2023"), {"words": [Scored("a", 1.0)]}, {"a": cues()})

    assert "time named" not in ranked[0].parts


def test_of_equals_the_newer_comes_first_and_what_was_said_later_than_the_question_last() -> None:
    candidates = {
        "a": cues(at=NOON.timestamp() + 9 * 86_400),
        "b": cues(at=NOON.timestamp() - 900 * 86_400),
        "c": cues(),
    }

    assert order("q", candidates, NOON + timedelta(days=1)) == ["c", "b", "a"]


def test_answers_count_for_people_and_a_little_for_a_user_but_not_for_an_agent() -> None:
    candidates = {
        "person": cues(is_between_people=True),
        "user": cues(),
        "agent": cues(role=Role.ASSISTANT),
    }
    lists = {name: [Scored(id, 1.0) for id in candidates] for name in ("words", "answers")}

    ranked = {each.id: each.parts for each in rank(TurnQuery("q"), lists, candidates)}

    assert ranked["person"]["answers"] > ranked["user"]["answers"] > 0
    assert "answers" not in ranked["agent"]


finite = st.floats(-1e6, 1e6)
ids = st.sampled_from("abcdefgh")
scored = st.dictionaries(ids, finite).map(lambda scores: [Scored(*each) for each in scores.items()])
some_lists = st.dictionaries(st.sampled_from(sorted(WEIGHTS)), scored)
some_cues = st.dictionaries(
    ids,
    st.builds(
        MessageCues,
        conversation=ids,
        turn=st.integers(1, 9),
        role=st.sampled_from(list(Role)),
        speaker=st.sampled_from(["", "Ann", "?", "\u6570"]),
        at=st.floats(0, 4e9),
        is_between_people=st.booleans(),
        own=st.text(max_size=40).map(lambda text: cues_of(said(text))),
    ),
)
questions = st.text(max_size=60) | st.sampled_from(["When did Ann go?", "last week", "on 8 May 2023"])
moments = st.none() | st.integers(0, 4_000_000_000).map(lambda at: datetime.fromtimestamp(at, UTC))


@given(questions, some_lists, some_cues, moments)
def test_every_known_candidate_is_ranked_once_by_what_its_parts_add_up_to(
    question: str,
    lists: dict[str, Sequence[Scored]],
    known: dict[str, MessageCues],
    asked_at: datetime | None,
) -> None:
    ranked = rank(TurnQuery(question, asked_at=asked_at), lists, known)

    found = {each.id for name, given in lists.items() if name != "session words" for each in given}
    assert len({each.id for each in ranked}) == len(ranked)
    assert {each.id for each in ranked} <= found & known.keys()
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    for each in ranked:
        assert each.score == pytest.approx(math.fsum(each.parts.values()))
        assert all(each.parts[name] >= 0 for name in each.parts.keys() & WEIGHTS.keys())
        for name in set(WEIGHTS) - lists.keys():
            assert name not in each.parts


@given(questions, some_lists, some_cues)
def test_the_order_in_which_lists_and_cues_come_does_not_matter(
    question: str, lists: dict[str, Sequence[Scored]], known: dict[str, MessageCues]
) -> None:
    turned = {name: given[::-1] for name, given in lists.items()}

    before = rank(TurnQuery(question), lists, known)
    after = rank(TurnQuery(question), turned, dict(reversed(known.items())))

    assert before == after


@given(st.text(st.characters()), st.sampled_from(list(Role)))
def test_any_text_can_be_kept_and_asked_about(text: str, role: Role) -> None:
    message = said(text, role=role, speaker=text[:9])
    terms = message_passage(message, CHAT).terms

    assert terms.endswith("8 may 2023")
    assert window_part(role, terms) in terms
    assert all(0 < value <= 1 for value in cues_of(message).values())
    assert " ".join(asked_words(text).split()) == asked_words(text)
    rank(TurnQuery(text, asked_at=NOON), {"words": [Scored("m", 1.0)]}, {"m": cues(text)})
