"""Code patterns: ways of writing code that proved good here."""

from typing import Final

from backstory.model.graph import NodeType
from backstory.model.kinds.declared.component import COMPONENT_TYPES
from backstory.model.kinds.kind import Field, MemoryKind, Tier
from backstory.model.kinds.shapes import PATHS, TEXT, TEXTS

KIND: Final = MemoryKind(
    name="code_pattern",
    tier=Tier.PROCEDURAL,
    node=NodeType.PATTERN,
    about="a way of writing code worth repeating",
    titled_by="pattern_name",
    named_by=("pattern_name",),
    fields=(
        Field("pattern_name", TEXT, "What it is called.", "Errors carry a hint"),
        Field(
            "pattern_type",
            TEXT,
            "What sort of pattern it is.",
            "Convention",
            one_of=("Template", "Convention", "Idiom", "Architecture"),
        ),
        Field("language", TEXT, "The programming language.", "python"),
        Field("code_template", TEXT, "The code to start from.", "raise InputError(what, hint=what_to_do)"),
        Field("usage_context", TEXT, "When to use it, and when not.", "Wherever a caller can be at fault."),
        Field(
            "applicable_components",
            TEXTS,
            "The types of components it is for.",
            ["Backend", "Library"],
            one_of=COMPONENT_TYPES,
        ),
        Field("example_implementations", PATHS, "Files that show it.", ["src/shop/payments/errors.py"]),
    ),
)
