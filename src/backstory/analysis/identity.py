"""Whether two memories of a type are about the same thing by their metadata, and which fields then clash.

Pure. What their texts say is left to `analysis.changes`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

Metadata = Mapping[str, object]


class Sameness(Enum):
    """What two memories' metadata say of the things that they are about."""

    SAME = auto()
    OTHER = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Clash:
    """A field that can have one value, and has two."""

    field: str
    new: object
    old: object


@dataclass(frozen=True, slots=True)
class _Identity:
    """Which fields name what a memory is about, and of which a thing has one value at a time."""

    by: Sequence[str]
    one_of: Sequence[str] = ()
    apart: Sequence[str] = ()  # they tell things apart that are named alike
    names: bool = True  # things that are named differently are different


# An agent words titles and keys anew each time; two of them may well mean the same thing. Two requirements
# under two ids may exclude one another.
_IDENTITIES: Final[Mapping[str, _Identity]] = {
    "requirement": _Identity(("requirement_id",), one_of=("status", "priority"), names=False),
    "design": _Identity(("title",), one_of=("decision",), names=False),
    "component": _Identity(("name",), one_of=("file_path", "component_type"), apart=("component_id",)),
    "function": _Identity(("name", "file_path"), one_of=("signature",), apart=("containing_class",)),
    "test_history": _Identity(("test_name",), apart=("test_id", "execution_time")),
    "preference": _Identity(
        ("key",), one_of=("value",), apart=("scope", "language", "component"), names=False
    ),
}

# What a field means that was left out.
_DEFAULTS: Final[Metadata] = {"scope": "Project"}


def sameness(kind: str, new: Metadata, old: Metadata) -> Sameness:
    """Whether the metadata of two memories of a type name one thing or two."""
    identity = _IDENTITIES.get(kind)
    if identity is None:
        return Sameness.UNKNOWN
    if any(_differs(field, new, old) for field in identity.apart):
        return Sameness.OTHER
    if not all(_value(field, each) for field in identity.by for each in (new, old)):
        return Sameness.UNKNOWN
    if not any(_differs(field, new, old) for field in identity.by):
        return Sameness.SAME
    return Sameness.OTHER if identity.names else Sameness.UNKNOWN


def identity(kind: str, metadata: Metadata) -> Metadata:
    """The fields that name what a memory of a type is about; none unless all of them are given."""
    fields = _IDENTITIES[kind].by if kind in _IDENTITIES else ()
    return {field: metadata[field] for field in fields} if all(map(metadata.get, fields)) else {}


def clash(kind: str, new: Metadata, old: Metadata) -> Clash | None:
    """The first field of the same thing that has another value now."""
    fields = _IDENTITIES[kind].one_of if kind in _IDENTITIES else ()
    return next((Clash(field, new[field], old[field]) for field in fields if _differs(field, new, old)), None)


def agree(kind: str, new: Metadata, old: Metadata) -> bool:
    """Whether every field that can have one value is given in both, and is the same."""
    fields = _IDENTITIES[kind].one_of if kind in _IDENTITIES else ()
    return bool(fields) and all(_value(field, new) == _value(field, old) != "" for field in fields)


def _differs(field: str, new: Metadata, old: Metadata) -> bool:
    """Whether both have the field, each with another value."""
    one, other = _value(field, new), _value(field, old)
    return bool(one and other) and one != other


def _value(field: str, metadata: Metadata) -> str:
    """A field's value in a form that compares; empty if there is none."""
    value = metadata.get(field, _DEFAULTS.get(field))
    if value is None or isinstance(value, str):
        return " ".join((value or "").casefold().split())
    return json.dumps(value, sort_keys=True, default=str)
