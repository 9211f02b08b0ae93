"""What changed in a memory, field by field and word by word."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.analysis.differences import FieldDiff, Mark, Run, difference, word_runs
from backstory.model.memory import Memory, MemoryId
from backstory.model.project import Project

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MEMORY = Memory(
    id=MemoryId("m1"),
    project=Project("shop"),
    type="design",
    content="The cache is Redis.",
    metadata={"status": "Proposed", "tags": ["cache"]},
    importance=0.5,
    version=1,
    created_at=NOW,
    updated_at=NOW,
)

texts = st.lists(st.sampled_from(["cache", "Redis", " ", "\n", ". ", "\u5f85", "-", "it's"])).map("".join)
values = st.none() | st.booleans() | st.integers(0, 1) | st.just(1.0) | texts | st.lists(texts, max_size=2)
metadata = st.dictionaries(st.sampled_from("abc"), values)
memories = st.builds(
    lambda content, metadata, importance, deleted_at: replace(
        MEMORY, content=content, metadata=metadata, importance=importance, deleted_at=deleted_at
    ),
    texts,
    metadata,
    st.sampled_from([0.1, 0.5]),
    st.none() | st.just(NOW),
)


def marked(old: str, new: str) -> str:
    """Two texts as one: what is removed in brackets, what is added in braces."""
    shown = {Mark.SAME: "%s", Mark.REMOVED: "[%s]", Mark.ADDED: "{%s}"}
    return "".join(shown[run.mark] % run.text for run in word_runs(old, new))


def old_and_new(runs: list[Run]) -> tuple[str, str]:
    return (
        "".join(run.text for run in runs if run.mark is not Mark.ADDED),
        "".join(run.text for run in runs if run.mark is not Mark.REMOVED),
    )


@given(texts | st.text(), texts | st.text())
def test_the_runs_of_two_texts_hold_both_of_them(old: str, new: str) -> None:
    runs = word_runs(old, new)

    assert old_and_new(runs) == (old, new)
    assert all(run.text for run in runs)
    assert all(run.mark is Mark.SAME for run in runs) == (old == new)


@given(texts, texts)
def test_no_two_runs_of_one_mark_follow_one_another(old: str, new: str) -> None:
    marks = [run.mark for run in word_runs(old, new)]

    assert all(one is not other for one, other in pairwise(marks))


@given(memories, memories)
def test_a_difference_has_every_field_that_is_not_as_it_was(before: Memory, after: Memory) -> None:
    fields = {each.field: each for each in difference(before, after)}

    assert ("content" in fields) == (before.content != after.content)
    assert ("importance" in fields) == (before.importance != after.importance)
    assert ("deleted_at" in fields) == (before.deleted_at != after.deleted_at)
    for key in "abc":
        was, now = repr(before.metadata.get(key, ...)), repr(after.metadata.get(key, ...))
        assert (f"metadata.{key}" in fields) == (was != now)


@given(memories, memories)
def test_going_back_is_the_same_difference_seen_from_the_other_side(before: Memory, after: Memory) -> None:
    back = {Mark.ADDED: Mark.REMOVED, Mark.REMOVED: Mark.ADDED, Mark.CHANGED: Mark.CHANGED}

    there = {
        (each.field, back[each.mark], repr(each.new), repr(each.old)) for each in difference(before, after)
    }

    assert {
        (each.field, each.mark, repr(each.old), repr(each.new)) for each in difference(after, before)
    } == there


def test_a_text_that_changed_is_told_word_by_word() -> None:
    after = replace(MEMORY, content="The cache is Valkey.", version=2)

    assert difference(MEMORY, after) == [
        FieldDiff(
            "content",
            Mark.CHANGED,
            "The cache is Redis.",
            "The cache is Valkey.",
            [
                Run(Mark.SAME, "The cache is "),
                Run(Mark.REMOVED, "Redis"),
                Run(Mark.ADDED, "Valkey"),
                Run(Mark.SAME, "."),
            ],
        )
    ]


def test_entries_of_metadata_are_fields_that_come_and_go() -> None:
    after = replace(MEMORY, metadata={"status": "Accepted", "owner": None}, importance=0.9)

    assert [(each.field, each.mark, each.old, each.new) for each in difference(MEMORY, after)] == [
        ("importance", Mark.CHANGED, 0.5, 0.9),
        ("metadata.owner", Mark.ADDED, None, None),
        ("metadata.status", Mark.CHANGED, "Proposed", "Accepted"),
        ("metadata.tags", Mark.REMOVED, ["cache"], None),
    ]


def test_a_memory_that_was_added_has_all_its_fields() -> None:
    found = difference(None, MEMORY)

    assert [each.field for each in found] == [
        "type",
        "content",
        "importance",
        "metadata.status",
        "metadata.tags",
    ]
    assert {each.mark for each in found} == {Mark.ADDED}


def test_deleting_and_restoring_are_differences() -> None:
    deleted = replace(MEMORY, deleted_at=NOW)

    assert difference(MEMORY, deleted) == [FieldDiff("deleted_at", Mark.ADDED, None, NOW)]
    assert difference(deleted, MEMORY) == [FieldDiff("deleted_at", Mark.REMOVED, NOW, None)]


@pytest.mark.parametrize(("old", "new"), [(True, 1), (1, 1.0), ([1], [True]), (None, ""), ("1", 1)])
def test_values_that_are_other_json_are_different(old: object, new: object) -> None:
    before, after = (replace(MEMORY, metadata={"value": value}) for value in (old, new))

    assert [each.field for each in difference(before, after)] == ["metadata.value"]


def test_a_list_is_the_same_as_a_tuple() -> None:
    assert difference(MEMORY, replace(MEMORY, metadata={"tags": ("cache",), "status": "Proposed"})) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("TTL is 30 s.", "TTL is 60 s, not more.", "TTL is [30]{60} s{, not more}."),
        ("use tabs here", "use four spaces here", "use [tabs]{four spaces} here"),
        ("a b c", "x y c", "[a b]{x y} c"),
        ("", "new", "{new}"),
        ("old", "", "[old]"),
        ("same", "same", "same"),
        ("one\ntwo\n", "one\nthree\n", "one\n[two]{three}\n"),
    ],
)
def test_words_are_never_cut_and_those_that_changed_together_stay_together(
    old: str, new: str, expected: str
) -> None:
    assert marked(old, new) == expected


def test_in_a_long_text_a_changed_word_is_found_too() -> None:
    sentences = [f"Part {number} waits for part {number + 1}." for number in range(1_000)]
    changed = sentences.copy()
    changed[300], changed[700] = "Part 300 waits for nothing.", "Part 700 waits for all."

    runs = word_runs(" ".join(sentences), " ".join(changed))

    assert [(run.mark, run.text) for run in runs if run.mark is not Mark.SAME] == [
        (Mark.REMOVED, "part 301"),
        (Mark.ADDED, "nothing"),
        (Mark.REMOVED, "part 701"),
        (Mark.ADDED, "all"),
    ]


def test_long_texts_with_little_in_common_are_told_as_one_change() -> None:
    old = " ".join(f"old{number}" for number in range(3_000))
    new = " ".join(f"new{number}" for number in range(3_000))

    assert word_runs(old, new) == [Run(Mark.REMOVED, old), Run(Mark.ADDED, new)]
