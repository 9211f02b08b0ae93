"""Designs: decisions about the architecture, and the documents that hold them."""

from typing import Final

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import IDS, TEXT

KIND: Final = MemoryKind(
    name="design",
    tier=Tier.SEMANTIC,
    node=NodeType.DESIGN,
    about="a decision about the architecture, with its why",
    titled_by="title",
    named_by=("adr_id", "document_key"),
    fields=(
        Field(
            "design_type",
            TEXT,
            "The kind of document it comes from, or would stand in.",
            "ADR",
            one_of=("ADR", "Specification", "Architecture", "Interface"),
        ),
        Field("title", TEXT, "A line that names it.", "Payments are keyed by the order"),
        Field("decision", TEXT, "What was decided.", "The order's id is sent as idempotency key."),
        Field("rationale", TEXT, "Why it was decided so.", "The provider repeats calls after a timeout."),
        Field("consequences", TEXT, "What follows from it.", "An order is paid in one payment only."),
        Field(
            "related_requirements",
            IDS,
            "Ids of the requirements it answers to.",
            ["REQ-SHOP-012"],
            links=RelationshipType.RELATES_TO,
        ),
        Field(
            "affected_components",
            IDS,
            "Ids of the components that follow it.",
            ["payments"],
            links=RelationshipType.FOLLOWS_DESIGN,
            direction=Direction.IN,
        ),
        Field(
            "status",
            TEXT,
            "Whether it holds.",
            "Accepted",
            one_of=("Proposed", "Accepted", "Deprecated", "Superseded"),
            default="Proposed",
        ),
        Field(
            "related_designs",
            IDS,
            "Ids of the decisions it speaks of.",
            ["ADR-0007"],
            links=RelationshipType.RELATES_TO,
        ),
    ),
)
