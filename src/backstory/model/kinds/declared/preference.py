"""Preferences: how a user wants things done."""

from typing import Final

from backstory.model.graph import NodeType
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import JSON, TEXT, TEXTS, UUID

KIND: Final = MemoryKind(
    name="preference",
    tier=Tier.PROCEDURAL,
    node=NodeType.MEMORY,
    about="how the user wants things done",
    named_by=("preference_id",),
    fields=(
        Field(
            "preference_id", UUID, "The id by which others name it.", "38f0b6d9-a214-4e7c-85b1-d92c4f6e0a06"
        ),
        Field(
            "category",
            TEXT,
            "What it is about.",
            "Tool",
            one_of=("CodingStyle", "Naming", "Framework", "Tool", "Convention"),
        ),
        Field(
            "key",
            TEXT,
            "What is chosen; with the scope, it has one value.",
            "package_manager",
            required=True,
        ),
        Field("value", JSON, "What the user chose.", "uv", required=True),
        Field(
            "scope",
            TEXT,
            "How far it reaches.",
            "Project",
            one_of=("Global", "Language", "Project", "Component"),
            default="Project",
        ),
        Field("examples", TEXTS, "Code that keeps to it.", ["uv add httpx"]),
    ),
)
