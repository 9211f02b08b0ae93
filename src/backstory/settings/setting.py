"""How a setting is declared: as a field of a section, by `setting` or `optional`."""

from dataclasses import dataclass, field
from typing import TypeVar

from backstory.settings.kinds import Kind, SecretText, SecretUrl

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. Default and example are written as in the environment.

    `$NAME` in a default is the value of a setting that stands earlier in the list. A setting
    without a default is unset until somebody sets it.
    """

    variable: str
    kind: Kind[object]
    default: str | None
    example: str
    about: str

    @property
    def secret(self) -> bool:
        """Whether the value must never be shown."""
        return isinstance(self.kind, SecretText | SecretUrl)


def setting(variable: str, kind: Kind[T], default: str, about: str) -> T:
    """A field of a section, with a default."""
    declared: T = field(metadata={"setting": Setting(variable, kind, default, default, about)})
    return declared


def optional(variable: str, kind: Kind[T], example: str, about: str) -> T | None:
    """A field of a section that is None until it is set."""
    declared: T | None = field(metadata={"setting": Setting(variable, kind, None, example, about)})
    return declared
