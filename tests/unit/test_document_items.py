"""What a document says as a memory: whatever the reader finds in it is followed when it changes."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from backstory.actions.documents.items import SAID, first_version, next_version
from backstory.analysis.documents.reading import parsed
from backstory.analysis.documents.values import ParsedItem
from backstory.model.memory import Memory
from backstory.model.project import Project

NOW = datetime(2026, 3, 1, tzinfo=UTC)

#: Says all that can be said.
REQUIREMENT = """\
### REQ-SHOP-PAY-001: Pay once

A payment is booked once, as in REQ-SHOP-PAY-002.

- **Priority:** High
- **Status:** Approved
- **Verification:** Replay test
- **Implementing components:** payments, orders
"""
DECISION = """\
# ADR-0007: Keys

Date: 2026-01-02

## Status

Superseded by ADR-0009

Supersedes ADR-0003

## Context

See REQ-SHOP-PAY-001.

## Decision

Orders are keys.

## Rationale

It is simple.

## Consequences

One payment for an order.

## Components

payments
"""

#: What never changes in a memory, and where it is from.
PLACE = {"requirement_id", "source_document", "adr_id", "document_key", "source_lines", "document_digest"}


def the_item(text: str) -> ParsedItem:
    document = parsed("docs/a.md", text)
    (item,) = (*document.requirements, *document.designs)
    return item


def kept(text: str) -> Memory:
    return first_version(Project("shop"), the_item(text), NOW)


@pytest.mark.parametrize(("type_", "text"), [("requirement", REQUIREMENT), ("design", DECISION)])
def test_every_field_that_documents_give_is_followed(type_: str, text: str) -> None:
    given = {"content", *kept(text).metadata} - PLACE

    assert given == set(SAID[type_])


@pytest.mark.parametrize(
    ("text", "old", "new", "changed"),
    [
        (REQUIREMENT, "Pay once", "Pay", {"content", "title"}),
        (REQUIREMENT, "High", "Low", {"priority"}),
        (REQUIREMENT, ", orders", "", {"implementing_components"}),
        (REQUIREMENT, "- **Verification:** Replay test\n", "", {"verification"}),
        (DECISION, "Supersedes ADR-0003", "", {"content", "supersedes", "related_designs"}),
        (DECISION, "2026-01-02", "2026-01-03", {"decided_on"}),
        (DECISION, "REQ-SHOP-PAY-001", "nothing", {"content", "related_requirements"}),
    ],
)
def test_what_a_document_changes_is_changed_and_nothing_else(
    text: str, old: str, new: str, changed: set[str]
) -> None:
    before, item = kept(text), the_item(text.replace(old, new))

    after = next_version(before, item, NOW)

    assert after is not None
    differing = {
        name
        for name in {*before.metadata, *after.metadata} - PLACE
        if before.metadata.get(name) != after.metadata.get(name)
    }
    assert differing | ({"content"} if before.content != after.content else set()) == changed
    assert next_version(after, item, NOW) is None


def test_a_digest_that_is_none_counts_as_never_read() -> None:
    before = kept(REQUIREMENT)
    item = the_item(REQUIREMENT.replace("High", "Low").replace("- **Verification:** Replay test\n", ""))

    for digest in (None, 7, "", "x"):
        known = {**before.metadata, "document_digest": digest}
        after = next_version(replace(before, metadata=known), item, NOW)
        assert after is not None
        assert (after.metadata["priority"], after.metadata["verification"]) == ("Low", "Replay test")
