"""Runs of tests: which failed, why, and what fixed them."""

from typing import Final

from backstory.model.graph import NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import ID, IDS, PATH, SHARE, TEXT, TIME, UUID

KIND: Final = MemoryKind(
    name="test_history",
    tier=Tier.EPISODIC,
    node=NodeType.TEST,
    about="a test that failed, and what fixed it",
    named_by=("test_id",),
    fields=(
        Field("test_id", UUID, "The id by which others name it.", "e81d47b0-92c5-4f6a-8d3b-60a7f5c1b204"),
        Field("test_name", TEXT, "The name of the test.", "test_a_refund_is_booked_once", required=True),
        Field("test_file", PATH, "The file it is in.", "tests/test_refunds.py"),
        Field("execution_time", TIME, "When it ran.", "2026-03-01T09:30:00+01:00"),
        Field(
            "status",
            TEXT,
            "How it ended.",
            "Failed",
            required=True,
            one_of=("Passed", "Failed", "Skipped", "Error"),
        ),
        Field("failure_message", TEXT, "What it said when it failed.", "AssertionError: 2 refunds, not 1"),
        Field(
            "affected_component",
            ID,
            "Id of the component that it tests.",
            "payments",
            links=RelationshipType.TESTS,
        ),
        Field(
            "related_requirements",
            IDS,
            "Ids of the requirements that it verifies.",
            ["REQ-SHOP-012"],
            links=RelationshipType.TESTS,
        ),
        Field("fix_applied", TEXT, "What made it pass again.", "The refund takes the order's lock first."),
        Field("fix_commit", TEXT, "The commit with the fix.", "4f2a91c"),
        Field("design_alignment_score", SHARE, "How well the fix follows the design, from 0 to 1.", 0.9),
    ),
)
