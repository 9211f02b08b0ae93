"""Which other memories the fields of a memory name, and what they are to it.

An id may be that of a memory, or one that another memory carries in a field, such as a requirement's.
Who is meant, and whether there is one, is left to those who can ask the records.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backstory.model.graph import Direction, RelationshipType
from backstory.model.kinds.kind import MemoryKind
from backstory.model.kinds.shapes import ID


@dataclass(frozen=True, slots=True)
class NamedLink:
    """A link that a field asks for. `direction` is as seen from the memory that has the field."""

    field: str
    type: RelationshipType
    direction: Direction
    id: str


def links_of(kind: MemoryKind, metadata: Mapping[str, object]) -> Iterator[NamedLink]:
    """The links that acceptable metadata asks for, in the order of the type's fields."""
    for field in kind.fields:
        if field.links and field.name in metadata:
            value = metadata[field.name]
            for id in value if isinstance(value, list | tuple) else [value]:
                yield NamedLink(field.name, field.links, field.direction, str(id))


def names_of(kind: MemoryKind, metadata: Mapping[str, object]) -> list[str]:
    """What a memory with this metadata may be named by, beside its id: what a field of another can hold."""
    values = (metadata.get(name) for name in kind.named_by)
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and ID.fits(value)))
