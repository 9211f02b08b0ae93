"""Components: the parts of a system, what they offer and what they need."""

from typing import Final

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import ID, IDS, JSON, PATH, TEXT

COMPONENT_TYPES: Final = ("Frontend", "Backend", "Agent", "Library", "Service", "Database")

KIND: Final = MemoryKind(
    name="component",
    tier=Tier.SEMANTIC,
    node=NodeType.COMPONENT,
    about="a part of the system and its interface",
    named_by=("component_id", "name"),
    fields=(
        Field("component_id", ID, "The id by which others name it.", "payments"),
        Field("component_type", TEXT, "What sort of part it is.", "Backend", one_of=COMPONENT_TYPES),
        Field("name", TEXT, "What people call it.", "Payments", required=True),
        Field("file_path", PATH, "The file or folder it is in.", "src/shop/payments"),
        Field("public_interface", JSON, "What it offers to others.", {"functions": ["pay", "refund"]}),
        Field(
            "dependencies",
            IDS,
            "Ids of the components it needs.",
            ["orders"],
            links=RelationshipType.DEPENDS_ON,
        ),
        Field(
            "dependents",
            IDS,
            "Ids of the components that need it.",
            ["checkout"],
            links=RelationshipType.DEPENDS_ON,
            direction=Direction.IN,
        ),
        Field(
            "base_pattern",
            ID,
            "Id of the code pattern it is built on.",
            "7d4b8a52-3f0e-4f0b-9a55-6a1f8f2f7c10",
            links=RelationshipType.USES_PATTERN,
        ),
        Field("version", TEXT, "Its version.", "2.4.0"),
    ),
)
