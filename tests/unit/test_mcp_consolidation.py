"""What is told of merges fits into an answer, however many there are and however long they are."""

import uuid
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.actions.memory.consolidate import Consolidation
from backstory.actions.memory.merging import Planned
from backstory.analysis.consolidation import Merge
from backstory.mcp.budget import USUAL_TOKENS, tokens, written
from backstory.mcp.consolidation import consolidated, listed
from backstory.model.memory import MemoryId
from backstory.model.merge import MergeMade
from backstory.model.project import Project

SHOP = Project("shop")
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def new_id() -> MemoryId:
    return MemoryId(str(uuid.uuid4()))


def planned(folded: int, words: int, notes: int) -> Planned:
    fold = [new_id() for _ in range(folded)]
    why = "; ".join(f"{id}: it says the same in other words" for id in fold)
    merge = Merge(new_id(), fold, "word " * words, {"notes": "note " * notes}, 0.5, why)
    return Planned(SHOP, merge, {merge.keep: 1, **dict.fromkeys(fold, 1)})


sizes = st.tuples(st.integers(1, 300), st.integers(1, 9_000), st.integers(0, 9_000))


@settings(max_examples=30, deadline=None)
@given(st.lists(sizes, max_size=40))
def test_a_plan_fits_into_an_answer_and_says_what_is_missing(sizes: list[tuple[int, int, int]]) -> None:
    found = Consolidation(100, 0, [planned(*size) for size in sizes])

    told = consolidated(found, "shop", dry_run=True)

    shown = told.merges or ()
    assert tokens(written(told.structured())) <= USUAL_TOKENS
    assert bool(shown) == bool(sizes)
    assert (told.notes is None) == (len(shown) == len(sizes))
    for plan, each in zip(found.planned, shown, strict=False):
        cut = set(each.shortened or ())
        assert ("content" in cut) == (each.content != plan.merge.content)
        assert ("fold" in cut) == (len(each.fold) < len(plan.merge.fold))
        assert ("why" in cut) == (each.why != plan.merge.why)
        assert ("metadata" in cut) == (each.metadata is None)


def test_a_list_of_merges_fits_into_an_answer() -> None:
    made = [
        MergeMade(new_id(), SHOP, new_id(), 2, [new_id() for _ in range(60)], {}, "alike", NOW)
        for _ in range(200)
    ]

    told = listed(made, "shop")

    assert tokens(written(told.structured())) <= USUAL_TOKENS
    assert told.made is not None
    assert told.notes == [f"{200 - len(told.made)} older merges left out for the length of the answer"]


def test_memories_that_were_not_looked_at_are_told() -> None:
    told = consolidated(Consolidation(10_000, 5, []), "shop", dry_run=True)

    assert told.notes is not None
    assert "5 memories" in told.notes[0]
