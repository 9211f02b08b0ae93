"""The types of memories: which fields each has, what is refused and how that is told, and the schemas."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.catalogue import KINDS, listed
from backstory.model.kinds.checking import filled, problems_of
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.links import NamedLink, links_of
from backstory.model.kinds.schema import json_schema

FIELDS: dict[str, str] = {
    "requirement": "requirement_id title description priority status source_document implementing_components "
    "related_requirements",
    "design": "design_type title decision rationale consequences related_requirements affected_components "
    "status related_designs",
    "code_pattern": "pattern_name pattern_type language code_template usage_context applicable_components "
    "example_implementations",
    "component": "component_id component_type name file_path public_interface dependencies dependents "
    "base_pattern version",
    "function": "function_id name signature file_path start_line end_line language docstring "
    "containing_class calls called_by",
    "test_history": "test_id test_name test_file execution_time status failure_message affected_component "
    "related_requirements fix_applied fix_commit design_alignment_score",
    "session": "session_id start_time end_time summary key_decisions components_modified memories_created "
    "outcome",
    "preference": "preference_id category key value scope examples",
}

REQUIRED: dict[str, list[str]] = {
    "requirement": ["requirement_id"],
    "design": [],
    "code_pattern": [],
    "component": ["name"],
    "function": ["name", "file_path"],
    "test_history": ["test_name", "status"],
    "session": [],
    "preference": ["key", "value"],
}

UUID = "3b3bbfc5-c6ee-47ed-a79e-8f7c2d55b968"

#: A field, what it accepts and what it refuses.
VALUES: list[tuple[str, str, list[object], list[object]]] = [
    (
        "requirement",
        "requirement_id",
        ["REQ-A-1", "REQ-MEM-FN-001", "REQ-2X-77", "REQ-1-1"],
        ["REQ-1", "REQ-A", "req-a-1", "REQ--1", "REQ-A-1\n", "REQ-A-\u0661", " REQ-A-1", "REQ-A-1b", 1, None],
    ),
    ("requirement", "priority", ["Critical", "Low"], ["high", "Urgent", "", ["High"], 1, None]),
    ("requirement", "title", ["x", "two\nlines"], ["", " \n", 5, ["x"], None]),
    ("requirement", "source_document", ["a b/c.md", "C:\\docs\\r.md"], ["", " ", "a\nb", "\t", "x" * 4097]),
    ("requirement", "implementing_components", [[], ["a", "shop/cart", "a b"]], ["a", ["a\nb"], [""], [1]]),
    ("code_pattern", "applicable_components", [[], ["Backend"]], ["Backend", ["backend"], [["Backend"]]]),
    ("code_pattern", "example_implementations", [["a.py", "b/c.py"]], ["a.py", ["a\nb"]]),
    ("component", "component_id", ["payments", "x" * 200, "a b"], ["a\nb", "", "x" * 201]),
    ("component", "public_interface", [{}, [], "pay()", 0, False], [None]),
    ("function", "function_id", [UUID, UUID.upper()], ["refund", UUID[:-1], UUID + "0", f"{{{UUID}}}"]),
    ("function", "start_line", [1, 40_000, 7.0], [0, -1, 1.5, "7", True, None]),
    (
        "test_history",
        "execution_time",
        ["2026-03-01", "2024-02-29", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00.125+05:45"],
        [
            "2026-02-29",
            "2026-02-30T09:30:00Z",
            "2026-03-01T25:00:00Z",
            "2026-03-01T09:30:00",
            "2026-03-01T09:30Z",
            "2026-03-01T09:30:00+01:75",
            "2026-03-01 09:30:00Z",
            "20260301",
            "2026-W09-7",
            "yesterday",
            1772353800,
        ],
    ),
    ("test_history", "design_alignment_score", [0, 1, 0.5, 1.0], [-0.01, 1.01, "0.5", True, None]),
    ("session", "key_decisions", [[], ["Use uv.", "Drop\nyarn."]], ["Use uv.", [""], [None]]),
    ("session", "session_id", [UUID, "agent-a1b2", "cli:main", "the first one"], ["", " ", "a\nb", " a "]),
    ("preference", "value", ["uv", 4, False, "", {"indent": 4}], [None]),
]

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def example_of(kind: MemoryKind) -> dict[str, object]:
    return {field.name: field.example for field in kind.fields}


def minimal(kind: MemoryKind) -> dict[str, object]:
    return {field.name: field.example for field in kind.fields if field.required}


def told(kind: str, **metadata: object) -> list[str]:
    """What is said of metadata that has what is required, and this."""
    return [str(problem) for problem in problems_of(KINDS[kind], {**minimal(KINDS[kind]), **metadata})]


def broken(kind: MemoryKind, metadata: Mapping[str, object]) -> set[str]:
    return {problem.field for problem in problems_of(kind, metadata)}


def test_there_are_eight_types_each_in_its_tier_and_with_its_node() -> None:
    assert {kind.name: (kind.tier, kind.node) for kind in KINDS.values()} == {
        "requirement": (Tier.SEMANTIC, NodeType.REQUIREMENT),
        "design": (Tier.SEMANTIC, NodeType.DESIGN),
        "code_pattern": (Tier.PROCEDURAL, NodeType.PATTERN),
        "component": (Tier.SEMANTIC, NodeType.COMPONENT),
        "function": (Tier.SEMANTIC, NodeType.FUNCTION),
        "test_history": (Tier.EPISODIC, NodeType.TEST),
        "session": (Tier.EPISODIC, NodeType.MEMORY),
        "preference": (Tier.PROCEDURAL, NodeType.MEMORY),
    }


@every_kind
def test_a_type_has_its_fields_and_asks_only_for_what_it_is_meaningless_without(kind: MemoryKind) -> None:
    assert [field.name for field in kind.fields] == FIELDS[kind.name].split()
    assert [field.name for field in kind.fields if field.required] == REQUIRED[kind.name]


@every_kind
def test_the_examples_and_the_defaults_of_a_type_are_acceptable(kind: MemoryKind) -> None:
    defaults = {field.name: field.default for field in kind.fields if field.default is not None}

    assert not list(problems_of(kind, example_of(kind)))
    assert not list(problems_of(kind, minimal(kind)))
    assert not list(problems_of(kind, {**minimal(kind), **defaults}))


@every_kind
def test_what_is_required_has_no_default(kind: MemoryKind) -> None:
    assert not [field.name for field in kind.fields if field.required and field.default is not None]
    assert kind.titled_by in {"", *(field.name for field in kind.fields if not field.required)}


def test_a_ninth_type_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more_kinds").mkdir()
    (tmp_path / "more_kinds" / "__init__.py").touch()
    (tmp_path / "more_kinds" / "incident.py").write_text(
        "from backstory.model.graph import NodeType\n"
        "from backstory.model.kinds.kind import Field, MemoryKind\n"
        "from backstory.model.kinds.shapes import TEXT\n"
        "from backstory.model.kinds.kind import Tier\n"
        "WHERE = Field('region', TEXT, 'Where.', 'eu-1', required=True)\n"
        "KIND = MemoryKind('incident', Tier.EPISODIC, NodeType.MEMORY, 'what broke', (WHERE,))\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    kinds = listed(importlib.import_module("more_kinds"))

    assert list(kinds) == ["incident"]
    assert broken(kinds["incident"], {}) == {"region"}
    assert json_schema(kinds["incident"])["required"] == ["region"]


@pytest.mark.parametrize(("kind", "field", "good", "bad"), VALUES, ids=[f"{v[0]}.{v[1]}" for v in VALUES])
def test_a_field_takes_what_fits_it_and_nothing_else(
    kind: str, field: str, good: list[object], bad: list[object]
) -> None:
    accepted = [value for value in [*good, *bad] if not told(kind, **{field: value})]

    assert accepted == good


def test_a_problem_names_the_field_the_rule_and_an_example() -> None:
    (problem,) = problems_of(KINDS["requirement"], {"requirement_id": "12"})

    assert problem.field == "requirement_id"
    assert "^REQ(-[A-Z0-9]+)+-[0-9]+$" in problem.rule
    assert problem.example == "REQ-SHOP-012"
    assert str(problem) == f'requirement_id {problem.rule}, for example "REQ-SHOP-012"'


def test_every_problem_is_told_in_the_order_of_the_fields() -> None:
    problems = problems_of(KINDS["function"], {"calls": "pay", "start_line": 0, "language": " "})

    assert [problem.field for problem in problems] == ["name", "file_path", "start_line", "language", "calls"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("high", "High"), ("HIGH", "High"), ("Hgih", "High"), ("Criticl", "Critical"), (" low ", "Low")],
)
def test_a_slip_in_a_choice_is_told(written: str, meant: str) -> None:
    (problem,) = told("requirement", priority=written)

    assert f"one of Critical, High, Medium, Low (use {meant})" in problem


def test_a_slip_in_a_choice_of_several_words_or_in_a_list_is_told_too() -> None:
    assert "(use CodingStyle)" in told("preference", category="coding_style")[0]
    assert "(use Backend)" in told("code_pattern", applicable_components=["Library", "backend"])[0]


def test_what_is_far_from_every_choice_gets_no_advice() -> None:
    (problem,) = told("requirement", priority="whenever")

    assert "use " not in problem


def test_keys_that_no_field_has_are_allowed() -> None:
    assert not told("requirement", owner="Ann", session_id=UUID, state=None, ticket={"id": 7})


@pytest.mark.parametrize(
    ("kind", "written", "field"),
    [
        ("requirement", "requirment_id", "requirement_id"),
        ("requirement", "requirementId", "requirement_id"),
        ("requirement", "Requirement-ID", "requirement_id"),
        ("requirement", "prioirty", "priority"),
        ("design", "rational", "rationale"),
        ("preference", "vlaue", "value"),
    ],
)
def test_a_key_that_is_a_slip_away_from_a_field_is_a_problem_that_names_the_field(
    kind: str, written: str, field: str
) -> None:
    (problem,) = problems_of(KINDS[kind], {**_without(minimal(KINDS[kind]), field), written: "x"})

    assert problem.field == field
    assert repr(written) in problem.rule


def test_a_key_that_looks_like_a_field_is_meant_so_if_the_field_is_there_too() -> None:
    assert not told("component", name="Payments", names=["payments", "billing"])


def test_a_very_long_key_or_value_is_judged_like_any_other() -> None:
    assert not told("component", **{"n" * 60_000: 1})
    assert len(told("requirement", requirement_id="REQ" + "-1" * 30_000 + "x", status="D" * 60_000)) == 2


@st.composite
def slips(draw: st.DrawFn) -> tuple[MemoryKind, Field, str]:
    """A field of a type, and its name with one letter dropped, doubled or wrong, or two swapped."""
    kind = draw(st.sampled_from(list(KINDS.values())))
    field = draw(st.sampled_from(kind.fields))
    at = draw(st.integers(1, len(field.name) - 1))
    before, letter, after = field.name[:at], field.name[at], field.name[at + 1 :]
    dropped, doubled, wrong = before + after, before + letter + letter + after, before + "x" + after
    swapped = before[:-1] + letter + before[-1] + after
    slip = draw(st.sampled_from([dropped, doubled, wrong, swapped, field.name.title()]))
    return kind, field, slip


@given(slips())
def test_no_slip_in_a_field_s_name_goes_unnoticed(slipped: tuple[MemoryKind, Field, str]) -> None:
    kind, field, written = slipped
    metadata = {**_without(example_of(kind), field.name), written: field.example}

    assert broken(kind, metadata) == (set() if written == field.name else {field.name})


def test_what_is_left_out_is_filled_in() -> None:
    content = "\n# Payments are\tbooked once  \n\nThe provider repeats calls."

    meant = filled(KINDS["requirement"], {"requirement_id": "REQ-A-1", "owner": "Ann"}, content)

    assert meant == {
        "requirement_id": "REQ-A-1",
        "owner": "Ann",
        "title": "Payments are booked once",
        "priority": "Medium",
        "status": "Draft",
    }


def test_each_type_has_its_own_defaults() -> None:
    assert filled(KINDS["design"], {}) == {"status": "Proposed"}
    assert filled(KINDS["preference"], {"key": "k", "value": 1})["scope"] == "Project"
    assert filled(KINDS["code_pattern"], {}, "Errors carry a hint") == {"pattern_name": "Errors carry a hint"}
    assert filled(KINDS["session"], {}, "We moved to uv.") == {}


def test_a_title_that_is_filled_in_is_short_and_one_that_was_given_stays() -> None:
    title = filled(KINDS["design"], {}, "long " * 100)["title"]

    assert isinstance(title, str)
    assert len(title) <= 120
    assert filled(KINDS["design"], {"title": "Ours"}, "Theirs")["title"] == "Ours"


def test_ids_in_fields_ask_for_links() -> None:
    metadata = {"name": "Payments", "dependencies": ["orders", "mail"], "dependents": ["shop"]}

    assert list(links_of(KINDS["component"], {**metadata, "base_pattern": UUID})) == [
        NamedLink("dependencies", RelationshipType.DEPENDS_ON, Direction.OUT, "orders"),
        NamedLink("dependencies", RelationshipType.DEPENDS_ON, Direction.OUT, "mail"),
        NamedLink("dependents", RelationshipType.DEPENDS_ON, Direction.IN, "shop"),
        NamedLink("base_pattern", RelationshipType.USES_PATTERN, Direction.OUT, UUID),
    ]


def test_fields_without_ids_ask_for_none() -> None:
    assert not list(links_of(KINDS["preference"], example_of(KINDS["preference"])))


def _read_as_in_ecmascript(
    validator: object, pattern: str, instance: object, schema: object
) -> Iterator[jsonschema.ValidationError]:
    """Patterns in JSON Schema are ECMAScript's, where `$` is the very end; the package reads Python's."""
    if isinstance(instance, str) and not re.search(pattern.replace("$", r"(?![\s\S])"), instance):
        yield jsonschema.ValidationError(f"does not match {pattern}")


def _reads(value: object, form: str) -> bool:
    """A format is about texts alone; other values pass."""
    if isinstance(value, str):
        datetime.strptime(re.sub(r"\.\d+", "", value), form).replace(tzinfo=UTC)
    return True


FORMATS = jsonschema.FormatChecker(formats=())
FORMATS.checks("date", raises=ValueError)(partial(_reads, form="%Y-%m-%d"))
FORMATS.checks("date-time", raises=ValueError)(partial(_reads, form="%Y-%m-%dT%H:%M:%S%z"))
Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": _read_as_in_ecmascript})
VALIDATORS = {name: Validator(json_schema(kind), format_checker=FORMATS) for name, kind in KINDS.items()}


@every_kind
def test_the_schema_of_a_type_is_a_schema_that_describes_every_field(kind: MemoryKind) -> None:
    schema = json_schema(kind)

    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert all(each["description"].endswith(".") and each["examples"] for each in properties.values())


def test_changing_a_schema_changes_no_other() -> None:
    mine = json_schema(KINDS["requirement"])
    properties = mine["properties"]
    assert isinstance(properties, dict)
    properties["implementing_components"]["items"].clear()

    assert json_schema(KINDS["requirement"]) != mine
    assert told("requirement", implementing_components=[1])


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
#: Whatever some field accepts or refuses above; another field may judge it otherwise.
TEMPTING = [value for _, _, good, bad in VALUES for value in [*good, *bad]]


@st.composite
def metadata_of_a_type(draw: st.DrawFn) -> tuple[MemoryKind, dict[str, object]]:
    """A type, and metadata that is nearly right: some of its example, some of it changed, something more."""
    kind = draw(st.sampled_from(list(KINDS.values())))
    names = [field.name for field in kind.fields]
    kept = draw(st.sets(st.sampled_from(names), min_size=len(names) // 2))
    changed = draw(
        st.dictionaries(
            st.sampled_from([*names, "owner", "ticket"]),
            st.sampled_from(TEMPTING) | JSON_VALUES | st.lists(st.sampled_from(TEMPTING), max_size=2),
            max_size=2,
        )
    )
    return kind, {name: value for name, value in example_of(kind).items() if name in kept} | changed


@settings(deadline=None)
@given(metadata_of_a_type())
def test_what_the_schema_refuses_is_what_is_refused_and_at_the_same_fields(
    made: tuple[MemoryKind, dict[str, object]],
) -> None:
    kind, metadata = made
    errors = list(VALIDATORS[kind.name].iter_errors(metadata))
    wrong = {error.path[0] for error in errors if error.path}
    missing = {field.name for field in kind.fields if field.required and field.name not in metadata}

    assert broken(kind, metadata) == wrong | missing
    assert bool(errors) == bool(wrong | missing)


@pytest.mark.parametrize(("kind", "field", "good", "bad"), VALUES, ids=[f"{v[0]}.{v[1]}" for v in VALUES])
def test_the_schema_takes_what_fits_a_field_and_nothing_else(
    kind: str, field: str, good: list[object], bad: list[object]
) -> None:
    plain = minimal(KINDS[kind])

    assert [each for each in [*good, *bad] if VALIDATORS[kind].is_valid({**plain, field: each})] == good


@settings(deadline=None)
@given(metadata_of_a_type(), st.text())
def test_filling_in_keeps_what_was_given_and_breaks_nothing(
    made: tuple[MemoryKind, dict[str, object]], content: str
) -> None:
    kind, metadata = made
    meant = filled(kind, metadata, content)

    assert {name: meant[name] for name in metadata} == metadata
    assert broken(kind, meant) == broken(kind, metadata)
    assert filled(kind, meant, "Something else.").items() >= meant.items()


def _without(metadata: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in metadata.items() if key != name}
