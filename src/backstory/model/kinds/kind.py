"""What a type of memory is made of: its tier, its node in the graph, and its fields.

Values only. What is done with them is in the modules beside this one.
"""

from dataclasses import dataclass
from enum import StrEnum

from backstory.model.graph import Direction, NodeType, RelationshipType
from backstory.model.kinds.shapes import Shape, like, list_of, one_of


class Tier(StrEnum):
    """The kind of remembering a type serves. Working memory is assembled, never stored."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


@dataclass(frozen=True, slots=True)
class Field:
    """One entry that a type knows in its metadata.

    `one_of` or `pattern` take the place of "any text"; in a list they are about each item.
    """

    name: str
    shape: Shape
    about: str
    example: object
    required: bool = False
    one_of: tuple[str, ...] = ()
    pattern: str = ""  # read as in JSON Schema. Write [0-9]: to Python \d is the digits of every script
    default: object = None
    links: RelationshipType | None = None  # what links this memory with those whose ids it holds
    direction: Direction = Direction.OUT  # which way such a link runs, seen from this memory

    @property
    def accepts(self) -> Shape:
        """What its value must be, all told."""
        if not self.one_of and not self.pattern:
            return self.shape
        narrow = one_of(self.one_of) if self.one_of else like(self.pattern)
        return list_of(narrow) if self.shape.item else narrow


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A type of memory. Where the field `titled_by` is left out, the first line of the content is meant.

    Others may name a memory by what its fields `named_by` hold, in place of its id.
    """

    name: str
    tier: Tier
    node: NodeType
    about: str
    fields: tuple[Field, ...]
    titled_by: str = ""
    named_by: tuple[str, ...] = ()
