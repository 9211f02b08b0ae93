"""Requirements: what the product must do, under the ids that documents give them."""

from typing import Final

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import IDS, PATH, TEXT

KIND: Final = MemoryKind(
    name="requirement",
    tier=Tier.SEMANTIC,
    node=NodeType.REQUIREMENT,
    about="something the product must do",
    titled_by="title",
    named_by=("requirement_id", "document_key"),
    fields=(
        Field(
            "requirement_id",
            TEXT,
            "The id it has in its document.",
            "REQ-SHOP-012",
            required=True,
            pattern="^REQ(-[A-Z0-9]+)+-[0-9]+$",
        ),
        Field("title", TEXT, "A line that names it.", "No double payments"),
        Field("description", TEXT, "What is asked for, in full.", "A payment sent twice is booked once."),
        Field(
            "priority",
            TEXT,
            "How much depends on it.",
            "High",
            one_of=("Critical", "High", "Medium", "Low"),
            default="Medium",
        ),
        Field(
            "status",
            TEXT,
            "How far it has come.",
            "Approved",
            one_of=("Draft", "Approved", "Implemented", "Verified"),
            default="Draft",
        ),
        Field("source_document", PATH, "The file it was read from.", "docs/requirements.md"),
        Field(
            "implementing_components",
            IDS,
            "Ids of the components that implement it.",
            ["payments"],
            links=RelationshipType.IMPLEMENTS_REQ,
            direction=Direction.IN,
        ),
        Field(
            "related_requirements",
            IDS,
            "Ids of the requirements it speaks of.",
            ["REQ-SHOP-007"],
            links=RelationshipType.RELATES_TO,
        ),
    ),
)
