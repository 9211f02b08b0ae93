"""What documents call the fields of a requirement: as names before values, and as columns of tables."""

from typing import Final


def called(**names: str) -> dict[str, str]:
    """What is meant by each name: the keyword, in place of itself and of the names behind it."""
    return {name: field for field, given in names.items() for name in (field, *given.split(", "))}


_FIELDS: Final = called(
    priority="prio, prio., requirement priority",
    status="state, requirement status",
    verification="verification method, verification criteria, verified by, verify by, test method",
    implementing_components="implementing components, implemented by",
)

#: Before a value.
LABELS: Final = _FIELDS | called(
    title="name, short name, requirement title",
    description="statement, text, requirement, requirement text, requirement statement",
)

#: Of a table, in which a word alone says what stands below it.
COLUMNS: Final = (
    LABELS
    | called(title="summary, feature")
    | called(description="requirement description, specification, details, definition, what, shall, need")
)
