"""Pages of a search: whatever their sizes, together they are one long answer."""

from collections.abc import Iterator
from itertools import cycle

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backstory.actions.memory.add import add_memory
from backstory.engine import Engine, Work
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.model.memory import NewMemory
from backstory.model.project import Project

WORDS = ["retry", "jitter", "queue", "cache", "login", "invoice", "retry jitter", "retry retry queue"]


def pages(face: Face, limits: list[int]) -> Iterator[list[str]]:
    arguments: dict[str, object] = {"query": "retry jitter queue"}
    for limit in cycle(limits):
        answer = perform(face, "memory_search", {**arguments, "limit": limit}, Caller(), Work()).structured
        assert answer is not None
        yield [hit["id"] for hit in answer["hits"]]
        if "next_cursor" not in answer:
            return
        arguments["cursor"] = answer["next_cursor"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limits=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_pages_together_are_one_long_answer(engine: Engine, limits: list[int]) -> None:
    face = Face(engine, default_project="shop")
    if not next(pages(face, [1])):
        for number in range(24):
            text = f"{WORDS[number % len(WORDS)]} number {number}"
            add_memory(engine, Project("shop"), NewMemory("design", text))
    (whole,) = pages(face, [100])

    cut = list(pages(face, limits))

    assert [id for page in cut for id in page] == whole
    assert all(len(page) == limit for page, limit in zip(cut[:-1], cycle(limits), strict=False))
