"""A type's fields as JSON Schema, for agents and programs that write memories."""

from copy import deepcopy
from typing import Final

from backstory.model.kinds.kind import Field, MemoryKind

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema(kind: MemoryKind) -> dict[str, object]:
    """The schema of a type's metadata, with a description and an example of every field."""
    return deepcopy(
        {
            "$schema": DIALECT,
            "title": kind.name,
            "description": f"Metadata of a memory of type {kind.name}: {kind.about}. Other keys are kept.",
            "type": "object",
            "properties": {field.name: _property(field) for field in kind.fields},
            "required": [field.name for field in kind.fields if field.required],
            "additionalProperties": True,
            "examples": [{field.name: field.example for field in kind.fields}],
        }
    )


def _property(field: Field) -> dict[str, object]:
    default = {} if field.default is None else {"default": field.default}
    return {"description": field.about, **field.accepts.schema, **default, "examples": [field.example]}
