"""A change of a text in one line."""

from hypothesis import given
from hypothesis import strategies as st

from backstory.actions.memory.marking import marked
from backstory.analysis.differences import word_runs

LONG = "a word and another one, and so on, until it is far too long to be shown in whole by anybody at all"


def change(old: str, new: str) -> str:
    return marked(word_runs(old, new))


def test_what_went_and_what_came_stand_where_it_was() -> None:
    assert change("Deploys on Fridays only.", "Deploys on Mondays only.") == (
        "Deploys on [-Fridays-]{+Mondays+} only."
    )


def test_of_a_long_part_that_stayed_the_middle_is_left_out() -> None:
    assert change(f"{LONG} old {LONG} end", f"{LONG} new {LONG} fin") == (
        "[...] to be shown in whole by anybody at all [-old-]{+new+} a word and another one, and so on,"
        " [...] to be shown in whole by anybody at all [-end-]{+fin+}"
    )


@given(st.text("ab .", max_size=30), st.text("ab .", max_size=30))
def test_short_texts_can_be_read_off_it(old: str, new: str) -> None:
    runs = word_runs(old, new)
    shown = marked(runs)

    for run in runs:
        assert run.text in shown
