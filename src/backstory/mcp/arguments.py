"""Raw arguments of a call to checked ones, and mistakes in them to plain words.

What is allowed is read from the same schema that the agent was shown, so the two cannot differ. Checks
that need the store are left to the actions.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import ClassVar, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from backstory.errors import InputError
from backstory.mcp.schemas import Schema, lean_schema
from backstory.model.memory import MAX_LEVELS, is_deep

#: Mistakes told at once; who makes more has misread the tool.
_MOST_MISTAKES: Final = 5
_LONGEST_QUOTE: Final = 60


class Arguments(BaseModel):
    """What a tool is asked. What is not known is refused, because it would be lost in silence."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Checked = TypeVar("Checked", bound=Arguments)


def names_of(model: type[Arguments]) -> Collection[str]:
    """The names of a tool's arguments, as an agent writes them."""
    properties: Mapping[str, Schema] = lean_schema(model).get("properties", {})
    return properties.keys()


def read_arguments(model: type[Checked], raw: Mapping[str, object]) -> Checked:
    """The checked arguments; raises `InputError` that says what is wrong and what would be right."""
    given = {name: _parsed(model, name, value) for name, value in raw.items() if value is not None}
    _check_depth(given)
    _check_text(given)
    try:
        return model.model_validate(given)
    except ValidationError as mistakes:
        errors = mistakes.errors(include_url=False)[:_MOST_MISTAKES]
        found = [_mistake(lean_schema(model), e["type"], e["loc"], e["input"]) for e in errors]
    hints = list(dict.fromkeys(hint for _, hint in found if hint))
    raise InputError("; ".join(dict.fromkeys(what for what, _ in found)), hint="; ".join(hints) or None)


def _check_depth(given: object) -> None:
    if is_deep(given):
        raise InputError(
            f"the arguments are nested more than {MAX_LEVELS} levels deep",
            hint="keep what is deep as the JSON text of it",
        )


def _check_text(given: Mapping[str, object]) -> None:
    """Half a surrogate pair is text to Python alone: no engine takes it, and no answer can carry it."""
    try:
        json.dumps(given, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise InputError("the arguments are not valid Unicode text", hint="remove lone surrogates") from error


def _parsed(model: type[Arguments], name: str, value: object) -> object:
    """Some clients send a list or an object as the JSON text of it."""
    kind = lean_schema(model).get("properties", {}).get(name, {}).get("type")
    if not isinstance(value, str) or kind not in {"array", "object"}:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _mistake(
    schema: Schema, kind: str, location: Sequence[int | str], value: object
) -> tuple[str, str | None]:
    """What is wrong with one argument, and how to do it right."""
    path, schema, last = _place(schema, location)
    if kind == "missing":
        return f"`{path}` is missing", f"`{path}`: {schema.get('description', allowed(schema))}"
    if kind == "extra_forbidden":
        close = closest(last, schema.get("properties", ()))
        names = ", ".join(schema.get("properties", {}))
        return f"there is no argument `{path[:100]}`", close or f"the arguments are: {names}"
    close = closest(str(value), schema.get("enum", ()))
    return f"`{path}` is {_seen(value)}, and must be {allowed(schema)}", close


def _place(schema: Schema, location: Sequence[int | str]) -> tuple[str, Schema, str]:
    """Where a mistake is, in the words of the schema: its path, what holds there, and its last name."""
    path, last = "", ""
    for step in location:
        below = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        last = str(step)
        if not isinstance(below, dict):
            values = schema.get("additionalProperties")
            return path, values if isinstance(values, dict) else schema, last
        schema = below
    return path, schema, last


def closest(word: str, names: Iterable[str]) -> str | None:
    """A question whether one of the names was meant, if one is like the word."""
    close = get_close_matches(word[:_LONGEST_QUOTE], list(names), n=1)
    return f"did you mean {close[0]}?" if close else None


def _seen(value: object) -> str:
    """A value as it is shown to the one who sent it, who knows a long one by its length."""
    match value:
        case str() if len(value) > _LONGEST_QUOTE:
            return f"a text of {len(value):,} characters"
        case list():
            return f"a list of {len(value):,}"
        case dict():
            return "an object"
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)[: _LONGEST_QUOTE * 2]


def allowed(schema: Schema) -> str:
    """What a schema allows, in words."""
    if "enum" in schema:
        return f"one of: {', '.join(schema['enum'])}"
    if "anyOf" in schema:
        return " or ".join(allowed(each) for each in schema["anyOf"])
    kind = schema["type"]
    least, most, unit = _BOUNDS.get(kind, ("minimum", "maximum", ""))
    each = f", each {allowed(schema['items'])}" if "items" in schema else ""
    return _KINDS[kind] + _bounds(schema.get(least), schema.get(most), unit) + each


def _bounds(low: float | None, high: float | None, unit: str) -> str:
    if high is None:
        return "" if low is None else f" of at least {low:,}{unit}"
    if low is None:
        return f" of at most {high:,}{unit}"
    return f" {'of' if unit else 'from'} {low:,} to {high:,}{unit}"


_KINDS: Final[Mapping[str, str]] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_BOUNDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "string": ("minLength", "maxLength", " characters"),
    "array": ("minItems", "maxItems", " items"),
}
