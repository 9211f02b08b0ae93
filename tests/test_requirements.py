"""The page about the requirements, held against the code: every id once, nothing done that is not shown."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PAGE = (REPOSITORY / "docs" / "requirements.md").read_text("utf-8")

#: The numbers that the document gives, by section, in its order.
NUMBERS = {
    "FN": "1-5 10-17 20-24 30-33 40-43 50-53 60-64 70-75 80-84",
    "INT": "1-4 10-14 20-24 30-33 40-43 50-54 60-63 70-74 80-84 90-93",
    "DATA": "1-2 10-17 20-22 30-32 40-42",
    "PERF": "1-6",
    "SEC": "1-5",
    "REL": "1-5",
    "SCAL": "1-4",
    "MAINT": "1-5",
    "OBS": "1-4",
    "USE": "1-3",
    "VER": "1-8",
    "DEP": "1-4 10-12",
}

#: What is in these folders runs only where programs of others are installed.
NOT_EVERYWHERE = ("tests/clients/", "tests/fuzz/")

ROW = re.compile(r"^\| (REQ-MEM-[^|]*?) \| ([^|]*?) \| ([^|]*?) \| ([^|]*?) \| ([^|]*?) \|$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")
NAMED = re.compile(r"^(tests/[\w/]+\.py)::(\w+)$")
SKIPPING = re.compile(r"\bmark\.(skip|skipif|xfail)\b")
LEAVING = re.compile(r"^pytest\.(skip|xfail|importorskip)\(")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A row of the page: in `where` paths are quoted, in `shown` tests, or it says what is missing."""

    id: str
    asks: str
    state: str
    where: str
    shown: str

    @property
    def paths(self) -> list[str]:
        return QUOTED.findall(self.where)

    @property
    def tests(self) -> list[str]:
        return [text for text in QUOTED.findall(self.shown) if "::" in text]


REQUIREMENTS = [Requirement(*cells) for cells in ROW.findall(PAGE)]


def ids() -> Iterator[str]:
    """Every id that the document has."""
    for section, ranges in NUMBERS.items():
        for each in ranges.split():
            first, last = map(int, each.split("-"))
            yield from (f"REQ-MEM-{section}-{number:03}" for number in range(first, last + 1))


def problems_of(requirement: Requirement) -> Iterator[str]:
    """Everything that is not true, or not said, in a row."""
    if requirement.state not in ("done", "open"):
        yield f"its state is {requirement.state!r}"
    if len(requirement.asks.split()) < 3:
        yield "it does not say what it asks"
    yield from (f"there is no {path}" for path in requirement.paths if not _exists(path))
    if requirement.state == "done":
        yield from _problems_of_done(requirement)
    else:
        yield from _problems_of_open(requirement)


def _problems_of_done(requirement: Requirement) -> Iterator[str]:
    if not requirement.paths:
        yield "it does not say where"
    if not requirement.tests:
        yield "no test shows it"
    for test in requirement.tests:
        if why := why_it_does_not_run(test):
            yield f"{test} {why}"


def _problems_of_open(requirement: Requirement) -> Iterator[str]:
    if requirement.tests:
        yield "it is open, and has a test"
    if len(requirement.shown.split()) < 3:
        yield "it does not say what is missing"


def _exists(path: str) -> bool:
    return any((root / path).exists() for root in (REPOSITORY / "src" / "backstory", REPOSITORY))


def why_it_does_not_run(test: str) -> str:
    """What keeps a test from running wherever the suite runs; empty if nothing does."""
    named = NAMED.match(test)
    if not named or test.startswith(NOT_EVERYWHERE):
        return "is no test that runs everywhere"
    file, name = named.groups()
    if not (REPOSITORY / file).is_file():
        return "is in a file that is not there"
    return found_in(REPOSITORY / file).get(name, "is not in its file")


@cache
def found_in(path: Path) -> dict[str, str]:
    """The tests that a file has, and why each does not run; empty for one that does."""
    tree = ast.parse(path.read_text("utf-8"))
    marks = {name for name, value in _assigned(tree) if SKIPPING.search(value)}
    everything = "is in a file that is skipped" if "pytestmark" in marks else ""
    found = {name: everything for name, value in _assigned(tree) if value.endswith(".TestCase")}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            found[node.name] = everything or _skipped(node, marks)
    return found


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a file gives to values, with these as they are written."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((ast.unparse(target), ast.unparse(node.value)) for target in node.targets)


def _skipped(test: ast.FunctionDef | ast.AsyncFunctionDef, marks: set[str]) -> str:
    decorators = [ast.unparse(each) for each in test.decorator_list]
    if any(SKIPPING.search(each) or each in marks for each in decorators):
        return "is marked to be skipped, or to fail"
    return "leaves at once" if any(LEAVING.match(ast.unparse(each)) for each in test.body) else ""


def test_every_requirement_has_one_row_in_the_order_of_the_document() -> None:
    assert [each.id for each in REQUIREMENTS] == list(ids())
    assert len(REQUIREMENTS) == 157


def test_no_row_is_written_so_that_it_is_not_read() -> None:
    assert len(REQUIREMENTS) == sum(line.startswith("| REQ-") for line in PAGE.splitlines())


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=[each.id for each in REQUIREMENTS])
def test_the_row_is_true(requirement: Requirement) -> None:
    assert not list(problems_of(requirement))


def test_the_page_counts_what_is_done() -> None:
    states = Counter(each.state for each in REQUIREMENTS)

    assert f"{states['done']} of {states.total()} are done, {states['open']} are open." in PAGE


A_DONE_ONE = Requirement(
    "REQ-MEM-FN-001",
    "four tiers of memory",
    "done",
    "`model/kinds/kind.py`",
    "`tests/test_requirements.py::test_the_row_is_true`",
)
AN_OPEN_ONE = replace(A_DONE_ONE, state="open", where="", shown="nobody has begun it")


@pytest.mark.parametrize(
    ("requirement", "complaint"),
    [
        (replace(A_DONE_ONE, state="nearly"), "its state is 'nearly'"),
        (replace(A_DONE_ONE, asks="tiers"), "it does not say what it asks"),
        (replace(A_DONE_ONE, where="everywhere"), "it does not say where"),
        (replace(A_DONE_ONE, where="`model/nowhere.py`"), "there is no model/nowhere.py"),
        (replace(A_DONE_ONE, shown="certainly"), "no test shows it"),
        (replace(A_DONE_ONE, shown="`tests/test_requirements.py::test_no`"), "is not in its file"),
        (replace(A_DONE_ONE, shown="`tests/test_nothing.py::test_no`"), "is in a file that is not there"),
        (replace(A_DONE_ONE, shown="`benchmarks/memories.py::test_no`"), "is no test that runs everywhere"),
        (replace(A_DONE_ONE, shown="`tests/clients/test_inspector.py::test_x`"), "runs everywhere"),
        (replace(AN_OPEN_ONE, shown=""), "it does not say what is missing"),
        (replace(AN_OPEN_ONE, where="`model/nowhere.py`"), "there is no model/nowhere.py"),
        (replace(AN_OPEN_ONE, shown=A_DONE_ONE.shown), "it is open, and has a test"),
    ],
)
def test_a_row_that_is_not_true_is_found(requirement: Requirement, complaint: str) -> None:
    assert complaint in " ".join(problems_of(requirement))


def test_rows_that_are_true_pass() -> None:
    assert [*problems_of(A_DONE_ONE), *problems_of(AN_OPEN_ONE)] == []


SKIPPED = """
import pytest
sometimes = pytest.mark.skipif(True, reason="no")
TestStates = States.TestCase

@pytest.mark.skip
def test_marked(): ...

@sometimes
def test_marked_by_name(): ...

async def test_left():
    pytest.skip("not now")

class TestMany:
    @pytest.mark.parametrize("number", [1, 2])
    def test_that_runs(self, number): ...
"""


def test_a_test_that_is_skipped_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(SKIPPED)
    (tmp_path / "test_none.py").write_text(f"{SKIPPED}\npytestmark = pytest.mark.skip")

    assert {name for name, why in found_in(tmp_path / "test_some.py").items() if not why} == {
        "TestStates",
        "test_that_runs",
    }
    assert all(found_in(tmp_path / "test_none.py").values())


def test_the_suite_fails_below_the_coverage_that_is_asked_for() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))

    assert project["tool"]["coverage"]["report"]["fail_under"] >= 80
