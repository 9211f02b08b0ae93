"""Metadata that is just enough for a memory of a type."""

from typing import Any

from backstory.model.kinds.catalogue import KINDS


def least(type_: str) -> dict[str, Any]:
    """The fields that a type requires, as its own examples have them; none for a type that there is not."""
    fields = KINDS[type_].fields if type_ in KINDS else ()
    return {field.name: field.example for field in fields if field.required}
