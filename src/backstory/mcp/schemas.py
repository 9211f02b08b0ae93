"""JSON schemas without what an agent pays for and does not read.

An agent has every offered tool's schema in its context. As pydantic writes them they are half as long
again: titles that repeat names, unions with null for what may be left out, defaults of null,
references to definitions that are used once.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]

_SUBSCHEMAS: Final = ("items", "additionalProperties")


def lean_schema(model: type[BaseModel]) -> Schema:
    """The schema of what a model takes; the same object each time, not to be changed."""
    return _made_once(model)


@cache
def _made_once(model: type[BaseModel]) -> Schema:
    whole = model.model_json_schema(by_alias=True)
    return _lean(_undocumented(whole), whole.get("$defs", {}))


def _lean(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    schema = _inlined(_without_null(schema), definitions)
    lean = {key: value for key, value in schema.items() if key not in {"title", "$defs"}}
    if lean.get("default", 0) in (None, [], {}):
        del lean["default"]
    if "properties" in lean:
        lean["properties"] = {name: _lean(each, definitions) for name, each in lean["properties"].items()}
    for key in _SUBSCHEMAS:
        if isinstance(lean.get(key), dict):
            lean[key] = _lean(lean[key], definitions)
    return {
        key: value for key, value in lean.items() if not (key == "additionalProperties" and value is True)
    }


def _inlined(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if "$ref" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**_undocumented(definitions[schema["$ref"].rpartition("/")[2]]), **rest}


def _undocumented(model: Schema) -> Schema:
    """Without the docstring of the class, which is for readers of the code."""
    return {key: value for key, value in model.items() if key != "description"}


def _without_null(schema: Schema) -> Schema:
    """What may be null is what may be left out, and that is said by not requiring it."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
