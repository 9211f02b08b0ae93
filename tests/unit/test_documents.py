"""Requirements and decision records, read from markdown."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backstory.analysis.documents.reading import parsed
from backstory.analysis.documents.values import DocumentKind, LineRange, ParsedDocument, ParsedItem
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.checking import problems_of
from backstory.model.memory import NewMemory
from backstory.model.memory import problems_of as memory_problems

PATH = "docs/spec.md"


def read(text: str, path: str = PATH) -> ParsedDocument:
    return parsed(path, text)


def the_requirement(text: str) -> ParsedItem:
    (only,) = read(text).requirements
    return only


def the_design(text: str, path: str = "docs/adr/use-queues.md") -> ParsedItem:
    (only,) = read(text, path).designs
    return only


def said_of(item: ParsedItem, *names: str) -> tuple[object, ...]:
    return tuple(item.fields.get(name) for name in names)


SPECIFICATION = """\
# Shop

**Document ID:** REQ-SHOP-001
**Status:** Approved

---

## 1. Payments

**Intent:** Money is moved once.

**REQ-SHOP-PAY-001:** A payment that is sent twice shall be booked once.
- **Priority:** Critical
- **Verification:** Replay test

**REQ-SHOP-PAY-002:** Refunds shall name the payment of REQ-SHOP-PAY-001 that they undo.
- **Priority:** High
- **Status:** Implemented
- **Scope:** Refunds in full

---

### 1.1 Limits

**REQ-SHOP-LIM-001:** A cart shall hold 200 lines.
- **Priority:** Medium
- **Verification:** Load test
"""


def test_requirements_in_bold_paragraphs_are_read_with_their_fields() -> None:
    document = read(SPECIFICATION)
    first, second, third = document.requirements

    assert document.kind is DocumentKind.REQUIREMENTS
    assert first.fields == {
        "requirement_id": "REQ-SHOP-PAY-001",
        "title": "A payment that is sent twice shall be booked once",
        "description": "A payment that is sent twice shall be booked once.",
        "priority": "Critical",
        "status": "Approved",
        "source_document": PATH,
        "verification": "Replay test",
    }
    assert first.content == "REQ-SHOP-PAY-001: A payment that is sent twice shall be booked once."
    assert (first.lines, second.lines, third.lines) == (
        LineRange(12, 14),
        LineRange(16, 19),
        LineRange(25, 27),
    )


def test_what_no_field_takes_stays_in_the_description() -> None:
    second = read(SPECIFICATION).requirements[1]

    assert "Refunds in full" in str(second.fields["description"])
    assert "High" not in str(second.fields["description"])


def test_a_requirement_knows_which_others_it_names() -> None:
    first, second, _ = read(SPECIFICATION).requirements

    assert (first.references, second.references) == ((), ("REQ-SHOP-PAY-001",))


def test_the_status_of_the_document_is_that_of_requirements_that_have_none() -> None:
    assert [item.fields["status"] for item in read(SPECIFICATION).requirements] == [
        "Approved",
        "Implemented",
        "Approved",
    ]


def test_an_id_behind_a_name_is_a_reference_of_the_document() -> None:
    assert read(SPECIFICATION).references == ("REQ-SHOP-001",)


@pytest.mark.parametrize(
    "text",
    [
        "REQ-A-1: Logs are kept.",
        "REQ-A-1 - Logs are kept.",
        "**REQ-A-1** Logs are kept.",
        "**REQ-A-1**: Logs are kept.",
        "**REQ-A-1:** Logs are kept.",
        "__REQ-A-1:__ Logs are kept.",
        "**[REQ-A-1]** Logs are kept.",
        "[REQ-A-1] Logs are kept.",
        "`REQ-A-1`: Logs are kept.",
        "> REQ-A-1: Logs are kept.",
        '<a id="a1"></a>**REQ-A-1:** Logs are kept.',
        "- REQ-A-1: Logs are kept.",
        "* **REQ-A-1** Logs are kept.",
        "1. REQ-A-1 \u2013 Logs are kept.",
        "- [x] REQ-A-1 Logs are kept.",
        "### REQ-A-1\n\nLogs are kept.",
        "REQ-A-1\n=======\n\nLogs are kept.",
        "**REQ-A-1**\n\nLogs are kept.",
        "### REQ-A-1\n\n#### Description\n\nLogs are kept.",
        "### REQ-A-1\n\n- Statement: Logs are kept.",
        "| Id | Requirement |\n|---|---|\n| REQ-A-1 | Logs are kept. |",
        "Requirement | Text\n:-- | --:\n**REQ-A-1** | Logs are kept.",
    ],
)
def test_a_requirement_is_found_however_it_is_written(text: str) -> None:
    requirement = the_requirement(text)

    assert requirement.id == "REQ-A-1"
    assert said_of(requirement, "title", "description") == ("Logs are kept", "Logs are kept.")


@pytest.mark.parametrize(
    "text",
    [
        "### REQ-A-1: Keeping logs\n\nLogs are kept.",
        "### 3.2 REQ-A-1 \u2014 Keeping logs\n\nLogs are kept.",
        "### Keeping logs (REQ-A-1)\n\nLogs are kept.",
        "##REQ-A-1 Keeping logs ##\nLogs are kept.",
        "**REQ-A-1: Keeping logs.** Logs are kept.",
        "**REQ-A-1 Keeping logs**: Logs are kept.",
        "REQ-A-1: Logs are kept.\n- Title: Keeping logs",
        "| Title | ID | Description |\n|--|--|--|\n| Keeping logs | REQ-A-1 | Logs are kept. |",
    ],
)
def test_a_title_of_its_own_is_kept_apart_from_the_description(text: str) -> None:
    requirement = the_requirement(text)

    assert said_of(requirement, "title", "description") == ("Keeping logs", "Logs are kept.")
    assert requirement.content == "REQ-A-1: Keeping logs\n\nLogs are kept."


@pytest.mark.parametrize(
    "text",
    [
        "See REQ-A-1 for the logs.",
        "REQ-A-1 is about logs.",
        "**REQ-A-1** and **REQ-A-2** are about logs.",
        "**REQ-A-1**, **REQ-A-2**: logs",
        "REQ-A-1 - REQ-A-9",
        "- REQ-A-1",
        "- REQ-A-1 was dropped",
        "- [REQ-A-1: Keeping logs](logs.md)",
        "[REQ-A-1](logs.md): kept there",
        "## Tests of REQ-A-1",
        "## REQ-A-1 to REQ-A-9\n\nLogs.",
        "Depends on:\n\n- REQ-A-1: the logs",
        "- Related requirements\n  - REQ-A-1: the logs",
        "## Traceability\n\n- REQ-A-1: test_logs.py",
        "| Id | Test |\n|---|---|\n| REQ-A-1 | test_logs.py |",
        "| Test | Requirement |\n|---|---|\n| test_logs.py | REQ-A-1 |",
        "<!-- REQ-A-1: Logs are kept. -->",
        "---\ncovers: REQ-A-1\n---\n# Logs",
        "```\ncode\n```\n\nas in REQ-A-1",
    ],
)
def test_an_id_that_is_only_named_is_a_reference(text: str) -> None:
    document = read(text)

    assert document.kind is DocumentKind.NEITHER
    assert "REQ-A-1" in document.references


@pytest.mark.parametrize(
    "fence", ["```\n{}\n```", "~~~~md\n```\n{}\n~~~~", "- x\n\n      ```\n      {}\n      ```", "```\n{}"]
)
def test_what_stands_in_code_is_neither_declared_nor_named(fence: str) -> None:
    document = read("# Logs\n\n" + fence.format("REQ-A-1: Logs are kept."))

    assert (document.kind, document.references) == (DocumentKind.NEITHER, ())


@pytest.mark.parametrize(
    ("given", "priority", "status"),
    [
        ("- **Priority:** High\n- **Status:** Draft", "High", "Draft"),
        ("- Priority: must have\n- Status: done", "Critical", "Implemented"),
        ("**Priority**: P2 | **Status**: accepted", "Medium", "Approved"),
        ("*Priority: Low; Status: \u2705 Verified*", "Low", "Verified"),
        ("(Priority: High, Status: draft)", "High", "Draft"),
        ("> priority: High\n>\n> status: Approved", "High", "Approved"),
        ("| Field | Value |\n|---|---|\n| Priority | High |\n| Status | Draft |", "High", "Draft"),
        ("#### Priority\n\nHigh\n\n#### Status\n\n~~Draft~~ Approved", "High", "Approved"),
        ("Priority: TBD\nStatus: n/a", None, None),
    ],
)
def test_priority_and_status_are_understood_as_people_write_them(
    given: str, priority: str | None, status: str | None
) -> None:
    document = read(f"### REQ-A-1: Keeping logs\n\nLogs are kept.\n\n{given}\n")

    assert said_of(document.requirements[0], "priority", "status") == (priority, status)
    assert document.requirements[0].fields["description"] == "Logs are kept."
    assert not document.problems


def test_a_priority_in_brackets_behind_the_id_is_no_title() -> None:
    requirement = the_requirement("- **REQ-A-1 (High):** Logs are kept.")

    assert said_of(requirement, "priority", "title") == ("High", "Logs are kept")


def test_a_priority_that_nobody_knows_is_left_out_and_told() -> None:
    document = read("REQ-A-1: Logs are kept.\n- Priority: Purple")

    assert "priority" not in document.requirements[0].fields
    assert [str(problem) for problem in document.problems] == [
        "line 2: the priority 'Purple' of REQ-A-1 is none of Critical, High, Medium, Low"
    ]


def test_a_row_is_read_by_the_names_of_its_columns() -> None:
    requirement = the_requirement(
        "| ID | Title | Description | Prio | Status | Verification method | Owner |\n"
        "|:--|---|---|:-:|---|---|--:|\n"
        "| REQ-A-1 | Logs | Kept in `a\\|b`, see REQ-A-2 | P1 | Approved | Test | Ann |\n"
    )

    assert said_of(requirement, "title", "priority", "status", "verification") == (
        "Logs",
        "High",
        "Approved",
        "Test",
    )
    assert requirement.fields["description"] == "Kept in `a|b`, see REQ-A-2\nOwner: Ann"
    assert (requirement.references, requirement.lines) == (("REQ-A-2",), LineRange(3, 3))


def test_requirements_in_nested_lists_keep_their_own_lines() -> None:
    outer, inner, last = read(
        "- REQ-A-1: Logs are kept.\n"
        "  - REQ-A-2: For a year,\n"
        "    and a day.\n"
        "    - Priority: Low\n"
        "  - Priority: High\n"
        "- REQ-A-3: Logs are read.\n\n"
        "Nothing more.\n"
    ).requirements

    assert said_of(outer, "description", "priority") == ("Logs are kept.", "High")
    assert said_of(inner, "description", "priority") == ("For a year,\nand a day.", "Low")
    assert said_of(last, "description", "priority") == ("Logs are read.", None)
    assert last.lines == LineRange(6, 6)


def test_a_value_goes_on_below_its_name() -> None:
    requirement = the_requirement(
        "- REQ-A-1: Logs are kept.\n"
        "  - **Verification:** a test that\n"
        "    waits a year\n"
        "  - Implemented by: `logs`, store\n"
    )
    listed = the_requirement("REQ-A-1: Logs are kept.\n\n- Verification:\n  - one\n  - two\n- Prio: Low")

    assert requirement.fields["verification"] == "a test that waits a year"
    assert requirement.fields["implementing_components"] == ["logs", "store"]
    assert said_of(listed, "verification", "priority") == ("one two", "Low")


def test_code_inside_a_requirement_is_part_of_its_description() -> None:
    requirement = the_requirement("### REQ-A-1: Logs\n\nWritten so:\n\n```\nPriority: 7\nREQ-A-9: no\n```\n")

    assert "Priority: 7" in str(requirement.fields["description"])
    assert (requirement.references, requirement.lines) == ((), LineRange(1, 8))


def test_an_overview_gives_way_to_what_stands_in_full() -> None:
    document = read(
        "- REQ-A-1: Logs\n\n| Id | Name |\n|--|--|\n| REQ-A-1 | Logs |\n\n## REQ-A-1: Logs\n\nKept.\n"
    )

    assert [item.lines for item in document.requirements] == [LineRange(7, 9)]
    assert not document.problems


def test_an_id_that_is_declared_twice_counts_once_and_is_told() -> None:
    document = read("**REQ-A-1:** Logs are kept.\n\n**REQ-A-1:** Logs are thrown away.\n")

    assert [item.fields["description"] for item in document.requirements] == ["Logs are kept."]
    assert [str(each) for each in document.problems] == [
        "line 3: REQ-A-1 is declared again; what line 1 says counts"
    ]


def test_an_id_of_which_nothing_is_said_is_told() -> None:
    document = read("## REQ-A-1\n\n## REQ-A-2: Logs\n")

    assert [item.id for item in document.requirements] == ["REQ-A-2"]
    assert document.references == ("REQ-A-1",)
    assert [str(each) for each in document.problems] == ["line 1: nothing is said of REQ-A-1"]


def test_ids_that_requirements_cannot_have_are_told_once() -> None:
    document = read("REQ-001: Logs are kept.\n\nREQ-002: Logs are read.\n")

    assert not document.requirements
    assert [str(each) for each in document.problems] == [
        "line 1: 2 ids, REQ-001 the first, have no area and cannot be kept; write REQ-AREA-001"
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_change_nothing(newline: str, start: str) -> None:
    assert read(start + SPECIFICATION.replace("\n", newline)) == read(SPECIFICATION)


def test_front_matter_is_not_text_but_its_lines_count() -> None:
    document = read("---\nstatus: approved\nnote: x\n---\nREQ-A-1: Logs are kept.\n")

    assert said_of(document.requirements[0], "status", "description") == ("Approved", "Logs are kept.")
    assert document.requirements[0].lines == LineRange(5, 5)


def test_reading_again_gives_the_same_keys_though_things_have_moved() -> None:
    moved = read("# New\n\nMuch was added.\n\n" + SPECIFICATION)

    assert [item.key for item in moved.requirements] == [
        item.key for item in read(SPECIFICATION).requirements
    ]
    assert moved.requirements[0].key == "docs/spec.md#REQ-SHOP-PAY-001"


NYGARD = """\
# 7. Use queues for mail

Date: 2024-03-01

## Status

Accepted

Supersedes [3. Send mail at once](0003-send-mail-at-once.md)

## Context

Sending takes seconds, and REQ-SHOP-MAIL-004 allows one.

## Decision

We put mail in a queue.

### Which queue

The one in the database.

## Consequences

Mail comes later.
"""

MADR = """\
---
status: "superseded by ADR-0012"
date: 2025-01-02
decision-makers: [Ann]
---
# Use queues for mail

## Context and Problem Statement

Sending takes seconds. What can be done?

<!-- optional -->
## Decision Drivers

* Nobody waits

## Considered Options

* Queue
* Threads

## Decision Outcome

Chosen option: "Queue", because it survives a crash.

### Consequences

* Good, because nobody waits
* Bad, because mail comes later

## Pros and Cons of the Options

### Threads

* Bad, because mail is lost
"""

MADR_2 = """\
# Use queues for mail

* Status: accepted
* Deciders: Ann
* Date: 2025-01-02

## Context and Problem Statement

Sending takes seconds.

## Decision Outcome

Chosen option: "Queue", because it survives a crash.

### Positive Consequences

* Nobody waits

### Negative Consequences

* Mail comes later
"""

LABELLED = """\
# ADR-0007: Use queues for mail

**Status:** Accepted
**Date:** 2025-01-02
**Affected components:** `mail`, web

**Context:** Sending takes seconds.

**Decision:** We put mail in a queue.

It is in the database.

**Alternatives:** Threads.

**Consequences**

Mail comes later.
"""


def test_a_record_of_nygards_shape_is_read() -> None:
    design = the_design(NYGARD, "doc/adr/0007-use-queues.md")

    assert design.fields == {
        "design_type": "ADR",
        "title": "Use queues for mail",
        "decision": "We put mail in a queue.\n\n### Which queue\n\nThe one in the database.",
        "rationale": "Sending takes seconds, and REQ-SHOP-MAIL-004 allows one.",
        "consequences": "Mail comes later.",
        "related_requirements": ["REQ-SHOP-MAIL-004"],
        "status": "Accepted",
        "source_document": "doc/adr/0007-use-queues.md",
        "decided_on": "2024-03-01",
        "supersedes": ["ADR-0003"],
    }
    assert (design.key, design.id) == ("doc/adr/0007-use-queues.md#ADR-0007", "ADR-0007")
    assert design.references == ("REQ-SHOP-MAIL-004", "ADR-0003")
    assert design.lines == LineRange(1, 25)
    assert design.content.startswith(
        "ADR-0007: Use queues for mail\n\nThis decision supersedes ADR-0003.\n\nContext\n"
    )


def test_a_madr_record_is_read() -> None:
    design = the_design(MADR, "docs/decisions/0007-use-queues.md")

    assert said_of(design, "status", "superseded_by", "decided_on") == (
        "Superseded",
        ["ADR-0012"],
        "2025-01-02",
    )
    assert design.fields["decision"] == 'Chosen option: "Queue", because it survives a crash.'
    assert design.fields["rationale"] == "* Nobody waits"
    assert design.fields["consequences"] == "* Good, because nobody waits\n* Bad, because mail comes later"
    assert "mail is lost" in design.content
    assert design.id == "ADR-0007"


def test_an_older_madr_record_is_read() -> None:
    design = the_design(MADR_2)

    assert said_of(design, "status", "decided_on", "rationale") == (
        "Accepted",
        "2025-01-02",
        "it survives a crash.",
    )
    assert design.fields["consequences"] == (
        "Positive Consequences:\n* Nobody waits\n\nNegative Consequences:\n* Mail comes later"
    )


def test_a_record_with_bold_names_in_place_of_headings_is_read() -> None:
    design = the_design(LABELLED)

    assert said_of(design, "title", "status", "decided_on", "affected_components") == (
        "Use queues for mail",
        "Accepted",
        "2025-01-02",
        ["mail", "web"],
    )
    assert design.fields["decision"] == "We put mail in a queue.\n\nIt is in the database."
    assert design.fields["consequences"] == "Mail comes later."
    assert design.id == "ADR-0007"


def test_a_log_of_decisions_is_read_record_by_record() -> None:
    document = read(
        "# Decisions\n\nOur log.\n\n"
        "## ADR-1: Queues\n\n### Status\n\nAccepted\n\n### Decision\n\nWe queue.\n\n"
        "## ADR-2: Threads\n\n**Status:** Rejected\n\n**Decision:** We use threads, see ADR-1.\n\n"
        "## Other\n\n**REQ-A-1:** Mail is sent.\n"
    )
    first, second = document.designs

    assert (first.id, first.lines, first.fields["status"]) == ("ADR-0001", LineRange(5, 13), "Accepted")
    assert (second.id, second.lines, second.fields["status"]) == ("ADR-0002", LineRange(15, 19), "Deprecated")
    assert second.references == ("ADR-0001",)
    assert (document.kind, document.requirements[0].id) == (DocumentKind.BOTH, "REQ-A-1")


def test_records_with_one_number_have_different_keys() -> None:
    body = "### Status\n\nAccepted\n\n### Decision\n\nYes.\n\n"
    document = read("# Log\n\n" + "".join(f"## ADR-1: {title}\n\n{body}" for title in ("A", "B", "B")))

    assert [item.id for item in document.designs] == ["ADR-0001", "ADR-0001-b", "ADR-0001-b-2"]


@pytest.mark.parametrize(
    ("path", "title", "id"),
    [
        ("adr/0012-use-queues.md", "Use queues", "ADR-0012"),
        ("adr/adr-12.md", "Use queues", "ADR-0012"),
        ("adr\\12_use.md", "3. Use queues", "ADR-0003"),
        ("adr/x.md", "ADR 3 - Use queues", "ADR-0003"),
        ("adr/x.md", "Architecture Decision Record: Use queues", "use-queues"),
        ("adr/2024-01-02-use-queues.md", "Use queues", "use-queues"),
    ],
)
def test_a_record_is_known_by_its_number_else_by_its_title(path: str, title: str, id: str) -> None:
    design = the_design(f"# {title}\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n", path)

    assert (design.id, design.title) == (id, "Use queues")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Accepted (2024-01-01)", "Accepted"),
        ("**PROPOSED**", "Proposed"),
        ("Draft", "Proposed"),
        ("~~Proposed~~ Accepted", "Accepted"),
        ("Accepted\n\nSuperceded by [9. Other](0009-other.md)", "Superseded"),
        ("rejected", "Deprecated"),
        ("TBD", None),
    ],
)
def test_the_status_of_a_decision_is_understood(said: str, status: str | None) -> None:
    design = the_design(f"# Use queues\n\n## Status\n\n{said}\n\n## Decision\n\nYes.\n")

    assert design.fields.get("status") == status


def test_a_status_that_nobody_knows_and_a_missing_decision_are_told() -> None:
    document = read("# ADR-4: Queues\n\n## Status\n\nPurple\n\n## Context\n\nSlow.\n")

    assert [item.id for item in document.designs] == ["ADR-0004"]
    assert [str(each) for each in document.problems] == [
        "line 1: 'Queues' says nothing under Decision",
        "line 3: the status 'Purple' is none of Proposed, Accepted, Deprecated, Superseded",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/adr/template.md", MADR),
        ("docs/adr/README.md", "# Records\n\n- [ADR-0001](0001-a.md)\n- [ADR-0002](0002-b.md)\n"),
        ("README.md", "# Shop\n\n## Status\n\nIn use.\n\n## Context\n\nA shop.\n"),
        ("notes.md", "# Notes\n\n## Decision\n\nWe meet on Mondays.\n"),
        ("notes.md", "# Notes\n\n```\n## Status\n\n## Decision\n```\n"),
    ],
)
def test_what_is_no_record_is_not_taken_for_one(path: str, text: str) -> None:
    assert read(text, path).kind is DocumentKind.NEITHER


def test_requirements_that_a_decision_lists_are_not_declared_by_it() -> None:
    document = read(NYGARD.replace("Mail comes later.", "- REQ-SHOP-MAIL-005: answered\n"))

    assert not document.requirements
    assert document.designs[0].references[:2] == ("REQ-SHOP-MAIL-004", "REQ-SHOP-MAIL-005")


def test_a_very_long_record_still_makes_a_memory() -> None:
    long = "Each sentence of this is meant.\n" * 4000
    design = the_design(
        NYGARD.replace("We put mail", long + "We put mail").replace("Sending", long + "Sending")
    )

    assert not list(memory_problems(NewMemory(design.type, design.content, design.fields)))


@pytest.mark.parametrize(
    ("piece", "found"),
    [
        ("REQ-", 0),
        ("[", 0),
        ("<!--", 0),
        ("# ", 0),
        ("| a ", 0),
        ("(Priority: High, ", 0),
        ("- REQ-A-1: x\n", 1),
        ("**REQ-A-1:** x\n", 1),
        ("# ADR-1\n## Status\nx\n## Decision\ny\n", 1470),
    ],
)
def test_no_text_takes_more_than_its_share_of_time(piece: str, found: int) -> None:
    # Each took minutes once, or would if time grew with the square of the text.
    document = read(piece * (50_000 // len(piece)))

    assert len(document.requirements) + len(document.designs) == found


IDS = st.builds(
    lambda area, number: f"REQ-{area}-{number}", st.sampled_from(["A", "B-1", "C2-X-7"]), st.integers(0, 12)
)
WORDS = st.sampled_from(
    [
        "The system shall",
        "logs",
        "see",
        "and",
        "Priority: High",
        "(Status: draft)",
        "is kept.",
        ":",
        "-",
        "**",
        "|",
        "",
    ]
)
STARTS = st.sampled_from(
    [
        "",
        "- ",
        "  - ",
        "1. ",
        "# ",
        "### ",
        "> ",
        "| ",
        "**",
        "`",
        "[",
        "<!-- ",
        "Depends on:\n\n- ",
        "\t",
        "---\n",
    ]
)
ENDS = st.sampled_from(
    ["", ":", "**", ":**", " |", "](x.md)", " -->", "_", ")", "\n---\n", "\n|--|--|", "\n==="]
)
LINES = st.tuples(STARTS, st.lists(WORDS | IDS, max_size=4).map(" ".join), ENDS).map("".join)
CODE = st.lists(LINES.filter(lambda line: "`" not in line), max_size=3).map(
    lambda lines: "\n".join(["", *lines])
)
BLOCKS = st.tuples(LINES.map(lambda line: line.replace("`", "'")), st.just("")) | st.tuples(st.just(""), CODE)
PLAIN_ID = re.compile(r"(?<![^\W_])REQ(?:-[A-Z0-9]+)+-[0-9]+(?![^\W_])")


@settings(max_examples=120, deadline=None)
@given(st.lists(BLOCKS, max_size=8))
@example([("---\n", ""), ("", "\n---\n"), ("REQ-A-1", "")])
def test_every_id_outside_of_code_is_an_item_or_a_reference(blocks: list[tuple[str, str]]) -> None:
    commented = any("<!--" in seen for seen, _ in blocks)
    text = "\n".join(seen + (f"\n```{code}\n```" if code and not commented else "") for seen, code in blocks)
    document = read(text)
    items = [*document.requirements, *document.designs]
    told = (
        {item.id for item in items}
        | {id for item in items for id in item.references}
        | {*document.references}
    )

    named = {id for seen, _ in blocks for id in PLAIN_ID.findall(seen)}
    assert told == named
    assert len({item.key for item in items}) == len(items)


SNIPPETS = (
    "# - | * _ ` ``` ~~~ > [ ] ( ) <!-- --> --- === : . REQ-A-1 REQ-A-2 REQ-1 ADR-1 Status Decision Context "
    "Priority High Accepted Supersedes Verification Title Id Text x \u00e9 \ufeff 1."
)
MARKDOWN = st.lists(
    st.sampled_from([*SNIPPETS.split(), " ", "\t", "\n", "\n", "\r\n"])
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=80,
).map("".join)


def refused(item: ParsedItem) -> Mapping[str, list[str]]:
    return {
        "fields": [str(each) for each in problems_of(KINDS[item.type], item.fields)],
        "memory": [each.what for each in memory_problems(NewMemory(item.type, item.content, item.fields))],
    }


@settings(max_examples=300, deadline=None)
@given(MARKDOWN)
@example("")
@example("\ufeff---\n")
@example("# ADR-1\n## Status\n## Decision")
@example("|REQ-A-1|\n|-|\n|REQ-A-1|")
def test_any_text_is_read_and_all_that_is_found_can_be_kept(text: str) -> None:
    document = read(text)

    for item in (*document.requirements, *document.designs):
        assert refused(item) == {"fields": [], "memory": []}
        assert 1 <= item.lines.first <= item.lines.last <= len(re.split(r"\r\n|\r|\n", text))
    assert read(text) == document
