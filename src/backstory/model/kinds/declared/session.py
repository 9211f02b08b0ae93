"""Working sessions: what they decided, changed and came to."""

from typing import Final

from backstory.model.graph import NodeType, RelationshipType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import ID, IDS, TEXT, TEXTS, TIME

KIND: Final = MemoryKind(
    name="session",
    tier=Tier.EPISODIC,
    node=NodeType.MEMORY,
    about="what a working session decided and learned",
    named_by=("session_id",),
    fields=(
        # Agents mostly give UUIDs, but a subagent's session and a live conversation have other ids.
        Field("session_id", ID, "The id that its conversation has.", "a95c3e27-4d18-4b6f-9c02-7e8d1f5b3605"),
        Field("start_time", TIME, "When it began.", "2026-03-01T09:00:00Z"),
        Field("end_time", TIME, "When it ended.", "2026-03-01T11:45:00Z"),
        Field("summary", TEXT, "What was done.", "Refunds were made idempotent."),
        Field("key_decisions", TEXTS, "What was decided.", ["A refund is keyed by the order."]),
        Field(
            "components_modified",
            IDS,
            "Ids of the components that were changed.",
            ["payments"],
            links=RelationshipType.RELATES_TO,
        ),
        Field(
            "memories_created",
            IDS,
            "Ids of the memories that it left.",
            ["7d4b8a52-3f0e-4f0b-9a55-6a1f8f2f7c10"],
            links=RelationshipType.RELATES_TO,
        ),
        Field("outcome", TEXT, "What it came to.", "Merged. The migration of old refunds is still open."),
    ),
)
