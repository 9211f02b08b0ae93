"""What every Summarizer promises, asked of every implementation."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.adapters.embedders.static import StaticEmbedder
from backstory.adapters.language_model import Api
from backstory.adapters.summarizers.extractive import ExtractiveSummarizer
from backstory.adapters.summarizers.llm import LlmSummarizer
from backstory.model.summary import SaidTurn
from backstory.model.tokens import tokens
from backstory.ports import Summarizer
from backstory.testing.embedder import WordEmbedder
from tests.contract.model_servers import answer, model_at, serving

WRITTEN = "Orders stay in SQLite. Open: who writes the export."


@contextmanager
def asking(api: Api) -> Iterator[Summarizer]:
    with serving() as server:
        server.says(answer(api, WRITTEN))
        yield LlmSummarizer(model_at(server, api), ExtractiveSummarizer(WordEmbedder()))


@contextmanager
def asking_nobody() -> Iterator[Summarizer]:
    with serving() as server:
        gone = model_at(server, Api.OLLAMA)
    yield LlmSummarizer(gone, ExtractiveSummarizer(WordEmbedder()))


SUMMARIZERS: dict[str, Callable[[], AbstractContextManager[Summarizer]]] = {
    "extractive": lambda: nullcontext(ExtractiveSummarizer(StaticEmbedder())),
    "extractive, by words": lambda: nullcontext(ExtractiveSummarizer(WordEmbedder())),
    "anthropic": lambda: asking(Api.ANTHROPIC),
    "openai": lambda: asking(Api.OPENAI),
    "ollama": lambda: asking(Api.OLLAMA),
    "server gone": asking_nobody,
}

TALK = [
    SaidTurn(
        7,
        "Where do the orders go? We need an answer today.",
        "They go to SQLite. Postgres would work as well, but it has to be installed.",
        "Ann",
        datetime(2026, 3, 1, 12, tzinfo=UTC),
    ),
    SaidTurn(8, "Let's keep the orders in SQLite, in `shop/orders.py`.", "Done, 14 tests pass."),
    SaidTurn(9, "Thanks!", ""),
]

ANYTHING = st.text(st.characters(), max_size=200)
SOMETHING = st.sampled_from(
    ["We decided to use uv. ", "- a\n- b\n", "```\nx = 1\n```\n", "\u7528\u8fd9\u4e2a\u3002", "ok? "]
)
TEXTS = st.lists(ANYTHING | SOMETHING, max_size=4).map("".join)
TALKS = st.lists(st.builds(SaidTurn, st.integers(1, 999), TEXTS, TEXTS, ANYTHING), max_size=4)


@pytest.fixture(params=SUMMARIZERS)
def summarizer(request: pytest.FixtureRequest) -> Iterator[Summarizer]:
    with SUMMARIZERS[request.param]() as made:
        yield made


def test_a_summary_tells_what_it_covers_and_how_long_it_is(summarizer: Summarizer) -> None:
    summary = summarizer.summarize(TALK, max_tokens=60)

    assert "SQLite" in summary.text
    assert (summary.first_turn, summary.last_turn) == (7, 9)
    assert summary.tokens == tokens(summary.text) <= 60


def test_a_summary_is_made_by_the_one_asked_unless_its_note_says_why_not(summarizer: Summarizer) -> None:
    summary = summarizer.summarize(TALK, max_tokens=60)

    assert (summary.made_by == summarizer.fingerprint) == (summary.note == "")
    assert summary.made_by


def test_no_turns_give_an_empty_summary(summarizer: Summarizer) -> None:
    summary = summarizer.summarize([], max_tokens=60)

    assert (summary.text, summary.first_turn, summary.last_turn, summary.tokens) == ("", 0, 0, 0)


def test_turns_in_which_nothing_was_said_give_an_empty_summary(summarizer: Summarizer) -> None:
    summary = summarizer.summarize([SaidTurn(3, "", " \n"), SaidTurn(4, "\t", "")], max_tokens=60)

    assert (summary.text, summary.first_turn, summary.last_turn) == ("", 3, 4)


@pytest.mark.parametrize("most", [0, -1])
def test_no_tokens_are_enough_for_no_text(summarizer: Summarizer, most: int) -> None:
    assert summarizer.summarize(TALK, max_tokens=most).text == ""


# The fixture is one summarizer for all examples, and keeps nothing between them.
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TALKS, st.integers(-5, 300))
def test_whatever_was_said_the_summary_keeps_to_its_size_and_comes_out_the_same_again(
    summarizer: Summarizer, talk: list[SaidTurn], most: int
) -> None:
    summary = summarizer.summarize(talk, max_tokens=most)

    assert summary.tokens == tokens(summary.text) <= max(0, most)
    assert summarizer.summarize(talk, max_tokens=most) == summary


def test_fingerprints_tell_summarizers_apart() -> None:
    names = [name for name in SUMMARIZERS if name != "server gone"]
    fingerprints = set()
    for name in names:
        with SUMMARIZERS[name]() as made:
            fingerprints.add(made.fingerprint)

    assert len(fingerprints) == len(names)
