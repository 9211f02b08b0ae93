"""What is told of a call to those who watch: shapes and durations, never what was said."""

import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import ToolAnnotations

from backstory.engine import Engine, Work
from backstory.errors import BackstoryError, Cancelled, InputError, StoreFull
from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments
from backstory.mcp.calls import Call, Caller, Outcome, perform
from backstory.mcp.face import Face
from backstory.mcp.observation import LAST_CALLS, UNKNOWN, Performance, shape_of
from backstory.mcp.tool import Request, Tool
from backstory.settings import read_settings
from backstory.wiring import open_engine

SECRET = "xyzzy-secret"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class Said(Arguments):
    """Takes a text."""

    text: str
    more: dict[str, object] | None = None


class Told(Answer):
    """Says it again."""

    text: str


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("home")
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})) as opened:
        yield opened


def watched(engine: Engine, error: BaseException | None = None) -> tuple[Face, list[Call]]:
    """A face with one tool, which raises when it is told to, and the calls that were observed."""
    calls: list[Call] = []

    def function(request: Request, asked: Said) -> Told:
        if error:
            raise error
        return Told(text=asked.text)

    tool = Tool(
        "say", "Say", "Says.", ("core",), ToolAnnotations(), Said, Told, function, lambda told: told.text
    )
    return Face(engine, observe=calls.append, tools={"say": tool}), calls


def say(face: Face, **arguments: object) -> Outcome:
    return perform(face, "say", arguments, Caller(bridge="b1"), Work())


def test_a_call_is_observed_with_its_shape(engine: Engine) -> None:
    face, calls = watched(engine)

    outcome = say(face, text=SECRET, more={SECRET: 1})

    (call,) = calls
    assert outcome == Outcome({"text": SECRET}, SECRET, None)
    assert (call.tool, call.status, call.error, call.bridge) == ("say", "ok", None, "b1")
    assert call.shape == {"text": "text(12)", "more": "object(1)"}
    assert call.duration_s > 0
    assert SECRET not in repr(call)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("no", hint="yes"), "input_error"),
        (Cancelled("stopped"), "cancelled"),
        (StoreFull("full"), "error"),
    ],
)
def test_an_error_of_ours_is_told_and_observed(engine: Engine, error: BackstoryError, status: str) -> None:
    face, calls = watched(engine, error)

    outcome = say(face, text="x")

    assert outcome.error is error
    assert outcome.structured is None
    assert outcome.text == (f"{error}\nHint: {error.hint}" if error.hint else str(error))
    assert (calls[0].status, calls[0].error) == (status, error)


def test_an_unexpected_error_is_observed_but_not_told(engine: Engine) -> None:
    face, calls = watched(engine, KeyError(SECRET))

    outcome = say(face, text="x")

    assert type(outcome.error) is BackstoryError
    assert SECRET not in outcome.text
    assert (calls[0].status, type(calls[0].error)) == ("error", KeyError)


def test_an_interrupt_passes_through(engine: Engine) -> None:
    face, calls = watched(engine, KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        say(face, text="x")
    assert calls == []


def test_names_that_nobody_knows_are_not_noted(engine: Engine) -> None:
    face, calls = watched(engine)

    say(face, text="x", **{SECRET: 1})
    outcome = perform(face, SECRET, {SECRET: 1}, Caller(), Work())

    assert calls[0].shape == {"text": "text(1)", UNKNOWN: "object(1)"}
    assert (calls[1].tool, calls[1].shape) == (UNKNOWN, {UNKNOWN: "object(1)"})
    assert isinstance(outcome.error, InputError)
    assert calls[1].status == "input_error"


@given(arguments=st.dictionaries(st.text(), JSON))
def test_a_shape_never_says_anything_of_the_values(arguments: dict[str, object]) -> None:
    shape = shape_of(arguments, known=arguments.keys())

    assert shape.keys() == arguments.keys()
    for text in shape.values():
        kind, _, rest = text.partition("(")
        assert kind in {"null", "true or false", "number", "text", "list", "object"}
        assert not rest or rest.removesuffix(")").isdigit()


def test_performance_speaks_of_the_last_calls() -> None:
    performance = Performance()
    for number in range(LAST_CALLS + 100):
        performance.note(Call("say", {}, {}, number / 1000, "ok", None, None))

    pace = performance.by_tool()["say"]

    assert pace.count == LAST_CALLS
    assert (pace.p50_ms, pace.p95_ms) == (600.0, 1050.0)


def test_a_caller_is_read_from_headers() -> None:
    headers = {
        "backstory-directory": "/home/caf%C3%A9/a%20b",
        "BACKSTORY-BRIDGE": "b-1",
        "Idempotency-Key": "k",
    }

    assert Caller.from_headers(headers) == Caller(Path("/home/café/a b"), "k", "b-1")
    assert Caller.from_headers(None) == Caller(None, None, None)


@pytest.mark.parametrize(
    "headers",
    [
        {"Backstory-Directory": "relative"},
        {"Backstory-Directory": "/%FF"},
        {"Backstory-Directory": "/a%00b"},
        {"Backstory-Bridge": "says something"},
        {"Idempotency-Key": ""},
    ],
)
def test_a_header_that_tells_nothing_sensible_is_left_out(headers: dict[str, str]) -> None:
    assert Caller.from_headers(headers) == Caller(None, None, None)


def nested(levels: int) -> dict[str, object]:
    """An object in an object in an object."""
    return reduce(lambda inner, _: {"in": inner}, range(levels - 1), dict[str, object]())


DEEP = nested(300)

MISTAKES: list[tuple[str, dict[str, object], list[str]]] = [
    ("memory_add", {"content": "x"}, ["`type` is missing"]),
    ("memory_add", {"type": "design"}, ["`content` is missing"]),
    ("memory_add", {"type": "desing", "content": "x"}, ["`type`", "one of: code_pattern", "mean design?"]),
    ("memory_add", {"type": "design", "content": 5}, ["`content` is 5", "a text of 1 to 50,000"]),
    ("memory_add", {"type": "design", "content": "x" * 50_001}, ["a text of 50,001 characters"]),
    ("memory_add", {"type": "design", "content": " "}, ["no content", "Hint:"]),
    ("memory_add", {"type": "design", "content": "x", "importance": 2}, ["`importance` is 2", "from 0 to 1"]),
    (
        "memory_add",
        {"type": "design", "content": "x", "contents": "y"},
        ["no argument `contents`", "mean content"],
    ),
    (
        "memory_add",
        {"type": "design", "content": "x", "zzz": 1},
        ["no argument `zzz`", "type, content, metadata"],
    ),
    (
        "memory_add",
        {"type": "design", "content": "x", "metadata": [1]},
        ["`metadata` is a list", "an object"],
    ),
    (
        "memory_add",
        {"type": "design", "content": "x", "relationships": [{"type": "RELATED_TO", "to": "y"}]},
        ["`relationships[0].type`", "mean RELATES_TO"],
    ),
    ("memory_add", {"type": "design", "content": "x", "project": "./here"}, ["absolute path"]),
    ("memory_search", {}, ["`query` is missing"]),
    ("memory_search", {"query": " "}, ["query is empty"]),
    ("memory_search", {"query": "x", "limit": 0}, ["`limit` is 0", "a whole number from 1 to 100"]),
    ("memory_search", {"query": "x", "limit": 101}, ["`limit` is 101"]),
    ("memory_search", {"query": "x", "types": ["desing"]}, ["`types[0]`", "mean design"]),
    ("memory_search", {"query": "x", "types": "design"}, ["`types` is", "a list"]),
    ("memory_search", {"query": "x", "metadata": {"a": {}}}, ["`metadata.a`", "a text or a number or true"]),
    ("memory_search", {"query": "x", "from": "yesterday"}, ["'yesterday' is no time", "2026-03-01"]),
    ("memory_search", {"query": "x", "cursor": "garbage"}, ["cursor is damaged", "search again"]),
    ("memory_search", {"query": "\ud800"}, ["not valid Unicode"]),
    ("memory_search", {"query": "x", "metadata": '{"a": "\\ud800"}'}, ["not valid Unicode"]),
    ("memory_add", {"type": "design", "content": "x", "metadata": DEEP}, ["nested more than", "JSON text"]),
    ("memory_add", {"type": "design", "content": "x", "metadata": json.dumps(DEEP)}, ["nested more than"]),
    ("memory_search", {"query": "x", "project": "\0"}, ["cannot name a project"]),
    ("memory_search", {"query": "x", "metadata": "{" * 5}, ["`metadata` is", "an object"]),
    ("memory_get", {"id": "nope"}, ["no memory nope"]),
    ("memory_get", {"id": "nope", "offset": -1}, ["`offset` is -1"]),
    ("backstory_help", {"topic": "type"}, ["`topic`", "mean types"]),
]


@pytest.mark.parametrize("text", ["\0", "\x1b[31m", "\u202e", "%", "'", '"', "🙂", "a" * 4_000])
def test_odd_texts_are_searched_for_without_a_failure(engine: Engine, text: str) -> None:
    face = Face(engine, default_project="shop")
    arguments = {"query": text, "session_id": text[:200], "metadata": {text[:200]: text[:200]}}

    assert perform(face, "memory_search", arguments, Caller(), Work()).error is None


def test_what_is_nested_as_deep_as_is_allowed_can_be_read_again(engine: Engine) -> None:
    face = Face(engine, default_project="shop")
    new = {"type": "design", "content": "deep down", "metadata": nested(100)}

    added = perform(face, "memory_add", new, Caller(), Work()).structured
    assert added is not None
    gotten = perform(face, "memory_get", {"id": added["id"]}, Caller(), Work()).structured

    assert gotten is not None
    assert gotten["metadata"] == new["metadata"]


@pytest.mark.parametrize(("tool", "arguments", "words"), MISTAKES)
def test_a_mistake_is_told_in_plain_words(
    engine: Engine, tool: str, arguments: dict[str, object], words: list[str]
) -> None:
    outcome = perform(Face(engine, default_project="shop"), tool, arguments, Caller(), Work())

    assert isinstance(outcome.error, InputError)
    for each in words:
        assert each in outcome.text
    assert "pydantic" not in outcome.text
