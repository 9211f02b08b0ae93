"""What the store tells of memories at addresses of its own: the types' schemas, and the working memory."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field

from backstory.mcp.answers import Answer
from backstory.mcp.arguments import Arguments
from backstory.mcp.resource import resource
from backstory.mcp.tool import Request
from backstory.mcp.tools.parameters import MemoryTypeName
from backstory.mcp.tools.working_memory import WorkingAsked, in_mind
from backstory.mcp.uris import BACKSTORY, write_address
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.kind import MemoryKind
from backstory.model.kinds.schema import json_schema

SCHEMA: Final = f"{BACKSTORY}schema"
WORKING: Final = f"{BACKSTORY}working"


class SchemaAsked(Arguments):
    """What backstory://schema is asked."""

    type: Annotated[MemoryTypeName | None, Field(description="A type of memory; without it, all types.")] = (
        None
    )


class TypeListed(Answer):
    """A type of memory, what its metadata must have, and where all of its fields are."""

    type: str
    tier: str
    about: str
    required: Sequence[str]
    uri: str

    @classmethod
    def of(cls, kind: MemoryKind) -> "TypeListed":
        """What is told of a type."""
        return cls(
            type=kind.name,
            tier=kind.tier,
            about=kind.about,
            required=[field.name for field in kind.fields if field.required],
            uri=write_address(SCHEMA, kind.name),
        )


class TypesListed(Answer):
    """Every type of memory."""

    types: Sequence[TypeListed]


class Schema(Answer):
    """A JSON Schema: its keywords are those of the answer."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    @classmethod
    def of(cls, kind: MemoryKind) -> "Schema":
        """The schema of a type's metadata."""
        keywords: dict[str, Any] = json_schema(kind)
        return cls(**keywords)


def _schema(_: Request, asked: SchemaAsked) -> Answer:
    if asked.type:
        return Schema.of(KINDS[asked.type])
    return TypesListed(types=[TypeListed.of(kind) for kind in KINDS.values()])


RESOURCES: Final = (
    resource(
        SCHEMA,
        "Types of memories",
        "The JSON Schema of a type's metadata; without a type, which there are.",
        SchemaAsked,
        _schema,
        "type",
    ),
    resource(
        WORKING,
        "Working memory",
        "What to have in mind for a task; without a task, what matters most.",
        WorkingAsked,
        in_mind,
    ),
)
