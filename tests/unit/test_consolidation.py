"""Planning which memories could be one: what is merged, what never is, and what the merged one says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.analysis.conflicts import Candidate, ConflictKind, Said, conflicts
from backstory.analysis.consolidation import Merge, Similarities, plan
from backstory.analysis.identity import Clash
from backstory.analysis.union import united_text
from backstory.model.memory import MAX_CONTENT_CHARS, Memory, MemoryId
from backstory.model.project import Project

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

#: Of two texts about one thing in other words, by the built-in embedder.
NEAR = 0.9

#: Some say the same, some parts of the same, some contradict one another.
TEXTS = [
    "Use Redis for the session cache.",
    "The session cache is Redis.",
    "Use Redis for the session cache. Sessions expire after 30 minutes.",
    "Use Redis for the session cache. Sessions expire after 60 minutes.",
    "Sessions expire after 30 minutes.",
    "Use Memcached for the session cache.",
    "Do not use Redis for the session cache.",
    "Deploys run every night. Sessions expire after 30 minutes.",
    "Deploys run every night.",
]


def memory(
    id: str,
    content: str,
    *,
    kind: str = "design",
    project: str = "shop",
    fields: Mapping[str, object] | None = None,
    day: int = 0,
) -> Memory:
    return Memory(
        id=MemoryId(id),
        project=Project(project),
        type=kind,
        content=content,
        metadata=fields or {},
        importance=0.5,
        version=1,
        created_at=NOW,
        updated_at=NOW + timedelta(days=day),
    )


def all_near(memories: Sequence[Memory], similarity: float = NEAR) -> dict[frozenset[MemoryId], float]:
    return {frozenset({one.id, other.id}): similarity for one, other in combinations(memories, 2)}


def planned(*memories: Memory) -> list[Merge]:
    return plan(memories, all_near(memories))


def the_merge(*memories: Memory) -> Merge:
    merges = planned(*memories)
    assert len(merges) == 1
    return merges[0]


def carried_out(memories: Sequence[Memory], merges: Sequence[Merge]) -> list[Memory]:
    """The memories as they are when a plan was carried out."""
    folded = {id for merge in merges for id in merge.fold}
    kept = {merge.keep: merge for merge in merges}
    left = [each for each in memories if each.id not in folded]
    return [_as_merged(each, kept[each.id]) if each.id in kept else each for each in left]


def _as_merged(memory: Memory, merge: Merge) -> Memory:
    return replace(
        memory,
        content=merge.content,
        metadata=merge.metadata,
        updated_at=memory.updated_at + timedelta(days=1),
    )


def as_near_as_before(near: Similarities, merges: Sequence[Merge]) -> Similarities:
    """What is kept is as near to others as the nearest of its parts."""
    into = {id: merge.keep for merge in merges for id in merge.fold}
    found: dict[frozenset[MemoryId], float] = {}
    for pair, similarity in near.items():
        kept = frozenset(into.get(id, id) for id in pair)
        found[kept] = max(similarity, found.get(kept, similarity))
    return found


@st.composite
def kept(draw: st.DrawFn) -> tuple[list[Memory], Similarities]:
    """Memories of a few types and projects, and how near some of them are."""
    fields = st.fixed_dictionaries(
        {},
        optional={
            "status": st.sampled_from(["Accepted", "Superseded"]),
            "tags": st.lists(st.sampled_from(["cache", "session"]), max_size=2, unique=True),
        },
    )
    memories = [
        memory(
            f"m{number}",
            draw(st.sampled_from(TEXTS)),
            kind=draw(st.sampled_from(["design", "preference"])),
            project=draw(st.sampled_from(["shop", "bank"])),
            fields=draw(fields),
            day=draw(st.integers(0, 3)),
        )
        for number in range(draw(st.integers(2, 6)))
    ]
    cosines = st.none() | st.sampled_from([0.3, 0.6, 0.88, 1.0])
    drawn = {pair: draw(cosines) for pair in all_near(memories)}
    return memories, {pair: cosine for pair, cosine in drawn.items() if cosine is not None}


@settings(max_examples=60, deadline=None)
@given(kept())
def test_when_a_plan_is_carried_out_there_is_nothing_left_to_plan(
    given: tuple[list[Memory], Similarities],
) -> None:
    memories, near = given

    merges = plan(memories, near)

    assert plan(carried_out(memories, merges), as_near_as_before(near, merges)) == []


@settings(max_examples=60, deadline=None)
@given(kept())
def test_what_is_merged_is_of_one_type_and_project_once_and_does_not_contradict_itself(
    given: tuple[list[Memory], Similarities],
) -> None:
    memories, near = given
    by_id = {each.id: each for each in memories}

    merges = plan(memories, near)

    ids = [id for merge in merges for id in (merge.keep, *merge.fold)]
    assert len(ids) == len(set(ids))
    for merge in merges:
        parts = [by_id[id] for id in (merge.keep, *merge.fold)]
        assert len(parts) > 1
        assert len({(part.project, part.type) for part in parts}) == 1
        assert not any(contradict(new, old, near) for new, old in permutations(parts, 2))


def contradict(new: Memory, old: Memory, near: Similarities) -> bool:
    similarity = near.get(frozenset({new.id, old.id}), 1.0)
    candidate = Candidate(old.id, old.type, old.content, old.metadata, similarity)
    found = conflicts(Said(new.type, new.content, new.metadata), [candidate])
    return any(each.kind is ConflictKind.CONTRADICTION for each in found)


@settings(max_examples=60, deadline=None)
@given(kept())
def test_the_order_of_the_memories_makes_no_difference(given: tuple[list[Memory], Similarities]) -> None:
    memories, near = given

    there, back = plan(memories, near), plan(memories[::-1], near)

    assert sorted(there, key=lambda merge: merge.keep) == sorted(back, key=lambda merge: merge.keep)


def test_duplicates_are_folded_into_the_one_that_says_most() -> None:
    short = memory("short", "Use Redis for the session cache.")
    long = memory("long", "Use Redis 7 for the session cache of the shop.")

    merge = the_merge(short, long)

    assert (merge.keep, merge.fold, merge.content) == ("long", ["short"], long.content)
    assert merge.why == "short: the other says this, and more"


def test_a_merge_has_the_greatest_importance() -> None:
    one = replace(memory("one", "Use Redis."), importance=0.2)
    other = replace(memory("other", "use redis"), importance=0.9)

    assert the_merge(one, other).importance == 0.9


def test_what_overlaps_becomes_one_text_that_says_everything_once() -> None:
    merge = the_merge(
        memory("one", "Events go through Kafka. Topics are named after the aggregate."),
        memory("other", "Events go through Kafka. Consumers must be idempotent."),
    )

    assert merge.content == (
        "Events go through Kafka. Topics are named after the aggregate.\n\nConsumers must be idempotent."
    )


def test_lists_and_code_are_united_line_by_line_and_block_by_block() -> None:
    code = "```python\ncache = Redis()\n```"
    merge = the_merge(
        memory("one", f"Rules for the cache:\n- Keys begin with the tenant.\n- Values are JSON.\n\n{code}"),
        memory("other", f"Rules for the cache:\n- Values are JSON.\n- Nothing stays over an hour.\n\n{code}"),
    )

    assert merge.content.count("cache = Redis()") == 1
    assert merge.content.count("Values are JSON") == 1
    assert merge.content.endswith("```\n\n- Nothing stays over an hour.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Locks are always taken in the order ledger, account.",
            "Locks are taken in the order account, ledger.",
        ),
        ("Notifications are opt-in.", "Notifications are opt-out."),
        ("Only administrators may invite new members.", "Every member may invite new members."),
        (
            "Tests of the importer run on every push to main.",
            "Tests of the importer run only on push to main.",
        ),
    ],
)
def test_a_sentence_that_says_something_else_is_not_lost_though_nearly_all_words_are_there(
    one: str, other: str
) -> None:
    assert united_text([memory("one", one), memory("other", other)]) == f"{one}\n\n{other}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Redis for the session cache.", "The session cache is Redis."),
        ("Logs are retained for seven years.", "Logs must be kept for 7 years."),
        ("Use pnpm instead of npm, in all packages.", "Use pnpm, not npm."),
        ("Images are in S3 and served through CloudFront.", "Images are in S3."),
        ("Run the linter before every commit.", "Always run the linter before every commit!"),
    ],
)
def test_a_sentence_that_is_there_in_other_words_is_not_said_again(one: str, other: str) -> None:
    assert united_text([memory("one", one), memory("other", other)]) == one


def test_the_newest_value_of_a_field_wins_and_the_others_are_listed() -> None:
    text = "Use Redis for the session cache."
    merge = the_merge(
        memory("a", text, fields={"title": "Cache", "owner": "Ann"}, day=2),
        memory("b", text, fields={"title": "Session cache", "status": "Accepted"}, day=3),
        memory("c", text, fields={"title": "Redis", "owner": "Bob"}, day=1),
    )

    assert merge.metadata == {"title": "Session cache", "status": "Accepted", "owner": "Ann"}
    assert merge.clashes == [
        Clash("title", "Session cache", "Cache"),
        Clash("title", "Session cache", "Redis"),
        Clash("owner", "Ann", "Bob"),
    ]


def test_lists_and_objects_in_metadata_are_united_and_what_is_blank_counts_for_nothing() -> None:
    text = "Use Redis for the session cache."
    merge = the_merge(
        memory("a", text, fields={"tags": ["x", 1], "links": {"adr": 7, "doc": "a.md"}, "owner": "Ann"}),
        memory("b", text, fields={"tags": ["y", "x", True], "links": {"doc": "b.md"}, "owner": ""}, day=1),
    )

    assert merge.metadata == {
        "tags": ["y", "x", True, 1],
        "links": {"doc": "b.md", "adr": 7},
        "owner": "Ann",
    }
    assert merge.clashes == [Clash("links.doc", "b.md", "a.md")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (memory("one", "Use Redis."), memory("other", "Use Redis.", kind="preference")),
        (memory("one", "Use Redis."), memory("other", "Use Redis.", project="bank")),
        (memory("one", "Use Redis."), replace(memory("other", "Use Redis."), deleted_at=NOW)),
        (memory("one", "Logs are kept for 7 days."), memory("other", "Logs are kept for 30 days.")),
        (
            memory("one", "Fixed it.", kind="session", fields={"session_id": "s1"}),
            memory("other", "Fixed it.", kind="session", fields={"session_id": "s2"}),
        ),
        (
            memory("one", "Send a receipt.", kind="requirement", fields={"requirement_id": "REQ-A-1"}),
            memory("other", "Send a receipt.", kind="requirement", fields={"requirement_id": "REQ-A-2"}),
        ),
        (
            memory("one", "Tabs.", kind="preference", fields={"key": "indent", "value": "tabs"}),
            memory("other", "Tabs.", kind="preference", fields={"key": "indent", "value": "spaces"}),
        ),
    ],
    ids=["type", "project", "deleted", "contradiction", "session", "requirement", "preference"],
)
def test_these_are_never_merged(one: Memory, other: Memory) -> None:
    assert planned(one, other) == []


def test_what_somebody_contradicts_waits_until_that_is_settled() -> None:
    same = [memory(id, "Logs are kept for 7 days.") for id in ("one", "other")]

    assert len(planned(*same)) == 1
    assert planned(*same, memory("third", "Logs are kept for 30 days.")) == []


def test_two_that_contradict_one_another_do_not_meet_in_a_third() -> None:
    third = memory("third", "The cache is Redis. Values are JSON. Keys begin with the tenant.")
    one = memory("one", "The cache is Redis. Sessions expire after 30 minutes.")
    other = memory("other", "The cache is Redis. Sessions expire after 60 minutes.")
    near = {frozenset({third.id, each.id}): NEAR for each in (one, other)}

    merges = plan([third, one, other], near)

    assert len(merges) == 1
    assert len(merges[0].fold) == 1


def test_pairs_without_a_similarity_are_not_compared() -> None:
    assert plan([memory("one", "Use Redis."), memory("other", "Use Redis.")], {}) == []


def test_similarities_of_others_make_no_difference() -> None:
    one = memory("one", "Use Redis.")
    near = {frozenset({one.id, MemoryId("gone")}): 1.0, frozenset({one.id}): 1.0}

    assert plan([one], near) == []


def test_memories_that_would_become_long_stay_apart_unless_one_has_nothing_to_add() -> None:
    long = " ".join(f"Rule {number} is about the {number} rooms." for number in range(100))
    whole = memory("whole", f"Events go through Kafka. {long}")
    part = memory("part", "Events go through Kafka. Consumers must be idempotent.")
    said = memory("said", "Events go through Kafka.")

    assert planned(whole, part) == []
    assert the_merge(whole, said).content == whole.content


def test_texts_too_long_to_be_kept_as_one_stay_two() -> None:
    text = "x" * (MAX_CONTENT_CHARS // 2)

    assert planned(memory("one", text), memory("other", text)) == []
