"""What every Extractor promises, asked of every implementation."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.adapters.extractors.llm import LlmExtractor
from backstory.adapters.extractors.rules import RuleExtractor
from backstory.adapters.language_model import Api
from backstory.model.candidate import EXTRACTED_TYPES, SESSION, CandidateMemory, Extracted
from backstory.model.memory import NewMemory, problems_of
from backstory.model.summary import SaidTurn
from backstory.ports import Extractor
from tests.contract.model_servers import answer, model_at, serving

TALK = [
    SaidTurn(
        7,
        "Where do the orders go? We need an answer today.",
        "They go to Postgres for now, but it has to be installed.",
        "Ann",
        datetime(2026, 3, 1, 12, tzinfo=UTC),
    ),
    SaidTurn(8, "Let's keep the orders in SQLite because nobody has to install it.", "Done."),
    SaidTurn(9, "And always use pnpm here, never npm.", "Noted. I ran the tests."),
]
TOOLS = {9: "FAILED tests/test_orders.py::test_total - AssertionError: 2 != 3\n1 failed, 13 passed in 0.41s"}

#: What a model makes of it: it keeps the first candidate, adds one of its own, and makes one up.
TOLD = json.dumps(
    [
        {"candidate": 1},
        {"type": "design", "content": "Orders are in SQLite.", "evidence": "keep the orders in SQLite"},
        {"type": "design", "content": "Kafka carries events.", "evidence": "we will use Kafka for events"},
    ]
)


@contextmanager
def asking(api: Api) -> Iterator[Extractor]:
    with serving() as server:
        server.says(answer(api, TOLD))
        yield LlmExtractor(model_at(server, api), RuleExtractor())


@contextmanager
def asking_nobody() -> Iterator[Extractor]:
    with serving() as server:
        gone = model_at(server, Api.OLLAMA)
    yield LlmExtractor(gone, RuleExtractor())


EXTRACTORS: dict[str, Callable[[], AbstractContextManager[Extractor]]] = {
    "rules": lambda: nullcontext(RuleExtractor()),
    "anthropic": lambda: asking(Api.ANTHROPIC),
    "openai": lambda: asking(Api.OPENAI),
    "ollama": lambda: asking(Api.OLLAMA),
    "server gone": asking_nobody,
}

PLAIN = st.characters(codec="utf-8", exclude_characters="\0")
ANYTHING = st.text(PLAIN, max_size=200)
SOMETHING = st.sampled_from(
    [
        "We decided to use uv. ",
        "Let's keep the orders in SQLite. ",
        "Always use tabs, never spaces.\n",
        "Exports must be encrypted.",
        "- a\n- b\n",
        "```\nFAILED tests/test_a.py::test_b - no\n```\n",
        "\u7528\u8fd9\u4e2a\u3002",
        "ok? ",
    ]
)
TEXTS = st.lists(ANYTHING | SOMETHING, max_size=4).map("".join)
TALKS = st.lists(st.tuples(TEXTS, TEXTS), max_size=4).map(
    lambda said: [SaidTurn(number, *each) for number, each in enumerate(said, 3)]
)


@pytest.fixture(params=EXTRACTORS)
def extractor(request: pytest.FixtureRequest) -> Iterator[Extractor]:
    with EXTRACTORS[request.param]() as made:
        yield made


def quietly(_done: int, _of: int) -> None:
    """Tell nobody how far it is."""


def found(extractor: Extractor) -> Extracted:
    return extractor.extract(TALK, TOOLS, quietly)


def is_said(candidate: CandidateMemory, talk: list[SaidTurn], tools: dict[int, str]) -> bool:
    """Whether the evidence stands in the turn that is named."""
    (turn,) = (each for each in talk if each.number == candidate.turn)
    said = (turn.user, turn.assistant, tools.get(turn.number, ""))
    return bool(candidate.evidence) and any(candidate.evidence in text for text in said)


def test_a_decision_is_found_with_the_words_it_was_said_in(extractor: Extractor) -> None:
    designs = [each for each in found(extractor).candidates if each.type == "design"]

    assert designs
    assert all("SQLite" in each.content and "SQLite" in each.evidence for each in designs)
    assert {each.turn for each in designs} == {8}


def test_every_candidate_can_be_kept_and_proves_itself(extractor: Extractor) -> None:
    for each in found(extractor).candidates:
        assert each.type in EXTRACTED_TYPES
        assert 0 <= each.confidence <= 1
        assert is_said(each, TALK, TOOLS)
        assert not list(problems_of(NewMemory(each.type, each.content, each.fields)))


def test_what_was_not_said_is_not_found(extractor: Extractor) -> None:
    assert not [each for each in found(extractor).candidates if "Kafka" in each.content]


def test_no_turns_hold_nothing(extractor: Extractor) -> None:
    assert extractor.extract([], {}, quietly) == Extracted([])


def test_turns_in_which_nothing_was_said_hold_nothing(extractor: Extractor) -> None:
    silence = [SaidTurn(3, "", " \n"), SaidTurn(4, "\t", "")]

    assert extractor.extract(silence, {}, quietly) == Extracted([])


def test_what_the_step_raises_ends_the_work(extractor: Extractor) -> None:
    class Enough(Exception):
        pass

    def stop(_done: int, _of: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        extractor.extract(TALK, TOOLS, stop)


# The fixture is one extractor for all examples, and keeps nothing between them.
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TALKS, TEXTS)
def test_whatever_was_said_candidates_quote_it_in_order_and_come_out_the_same_again(
    extractor: Extractor, talk: list[SaidTurn], tools: str
) -> None:
    given_back = {3: tools}
    candidates = extractor.extract(talk, given_back, quietly).candidates

    assert all(is_said(each, talk, given_back) for each in candidates)
    assert not [
        problem
        for each in candidates
        for problem in problems_of(NewMemory(each.type, each.content, each.fields))
    ]
    order = [(each.type == SESSION, each.turn) for each in candidates]
    assert order == sorted(order)
    assert extractor.extract(talk, given_back, quietly).candidates == candidates
