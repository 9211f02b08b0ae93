"""Parameters that several tools have, described once."""

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from backstory.model.kinds.catalogue import KINDS
from backstory.model.project import MAX_NAME_CHARS


def _known_type(name: str) -> str:
    if name not in KINDS:
        raise ValueError(name)  # put into words by whoever reads the arguments
    return name


MemoryTypeName = Annotated[
    str, AfterValidator(_known_type), WithJsonSchema({"type": "string", "enum": list(KINDS)})
]

OnlyTypes = Annotated[list[MemoryTypeName], Field(max_length=len(KINDS), description="Only these types.")]

MemoryIdText = Annotated[str, Field(min_length=1, max_length=100, description="Id of the memory.")]

# Not as one list of types, which is more than some clients' schema readers take.
PlainValue = Annotated[
    str | int | float | bool,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}),
]

WritingProject = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description="Project name or folder. Default: the project of your working folder.",
    ),
]

ReadingProject = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=MAX_NAME_CHARS,
        description="Project name or folder; * for all. Default: the project of your working folder.",
    ),
]

AnyProject = Annotated[
    str | None,
    Field(
        min_length=1, max_length=MAX_NAME_CHARS, description="Project name or folder. Default: all projects."
    ),
]

PageCursor = Annotated[
    str | None, Field(max_length=500, description="next_cursor of the page before, same search.")
]
