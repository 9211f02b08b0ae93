"""Kinds of values: how a setting's text becomes a value, and what to say when it does not.

Each kind refuses with `ValueError`; naming the setting and where its text came from is left to
`reading`. `Secret` is here because a secret is a kind of value too.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Kind(Protocol[T_co]):
    """A set of values that can be written as text."""

    @property
    def allowed(self) -> str:
        """What may be written, as an ending to "must be"."""
        ...

    def parse(self, text: str) -> T_co:
        """The value that `text` stands for; raises `ValueError` when it stands for none."""
        ...


class Secret:
    """A text that does not show itself: `str`, `repr` and copies of it are masked."""

    # Not a dataclass: `dataclasses.asdict` would open it.
    __slots__ = ("_text",)

    MASK = "********"

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself. Hand it to the engine and keep no copy."""
        return self._text

    def __str__(self) -> str:
        return self.MASK

    def __repr__(self) -> str:
        return f"Secret('{self.MASK}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True, slots=True)
class Text:
    """Any text."""

    allowed: str = "text"

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True)
class SecretText:
    """Any text, kept masked."""

    allowed: str = "text"

    def parse(self, text: str) -> Secret:
        return Secret(text)


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no."""

    allowed: str = "true or false"

    def parse(self, text: str) -> bool:
        match text.lower():
            case "true" | "yes" | "on" | "1":
                return True
            case "false" | "no" | "off" | "0":
                return False
            case _:
                raise ValueError(text)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds, both included."""

    at_least: int
    at_most: int | None = None

    @property
    def allowed(self) -> str:
        if self.at_most is None:
            return f"a whole number, {self.at_least} or more"
        return f"a whole number from {self.at_least} to {self.at_most}"

    def parse(self, text: str) -> int:
        number = int(text)
        if number < self.at_least or (self.at_most is not None and number > self.at_most):
            raise ValueError(text)
        return number


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds, both included."""

    at_least: float
    at_most: float

    @property
    def allowed(self) -> str:
        return f"a number from {self.at_least:g} to {self.at_most:g}"

    def parse(self, text: str) -> float:
        number = float(text)
        # Written so that "nan", which compares false with everything, is refused too.
        if not self.at_least <= number <= self.at_most:
            raise ValueError(text)
        return number


@dataclass(frozen=True, slots=True)
class OrOff(Generic[T]):
    """Another kind, or the word "off"."""

    kind: Kind[T]

    @property
    def allowed(self) -> str:
        return f"{self.kind.allowed}, or off"

    def parse(self, text: str) -> T | None:
        return None if text.lower() == "off" else self.kind.parse(text)


@dataclass(frozen=True, slots=True)
class OneOf(Generic[T]):
    """One of a few names, in any case; the value is the name as it is listed."""

    names: Sequence[T]

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(map(str, self.names))}"

    def parse(self, text: str) -> T:
        for name in self.names:
            if str(name).lower() == text.lower():
                return name
        raise ValueError(text)


@dataclass(frozen=True, slots=True)
class SomeOf(Generic[T]):
    """Some of a few names, separated by commas."""

    names: Sequence[T]

    @property
    def allowed(self) -> str:
        return f"one or more of {', '.join(map(str, self.names))}, separated by commas"

    def parse(self, text: str) -> tuple[T, ...]:
        one = OneOf(self.names)
        chosen = tuple(one.parse(name) for part in text.split(",") if (name := part.strip()))
        if not chosen:
            raise ValueError(text)
        return chosen


@dataclass(frozen=True, slots=True)
class Location:
    """A path; `~` is the user's home. It need not exist."""

    allowed: str = "a path"

    def parse(self, text: str) -> Path:
        try:
            return Path(text).expanduser()
        except RuntimeError as error:  # the system does not know this user's home
            raise ValueError(text) from error


@dataclass(frozen=True, slots=True)
class Locations:
    """Absolute paths, separated as the system separates them in PATH, or the word "none"."""

    allowed: str = f"absolute paths, separated by {os.pathsep!r}, or none"

    def parse(self, text: str) -> tuple[Path, ...]:
        if text.lower() == "none":
            return ()
        paths = tuple(Location().parse(part) for each in text.split(os.pathsep) if (part := each.strip()))
        if not paths or not all(path.is_absolute() for path in paths):
            raise ValueError(text)
        return paths


@dataclass(frozen=True, slots=True)
class Host:
    """A host name or an IP address, without scheme, port or path."""

    allowed: str = "a host name or an IP address, without scheme, port or path"

    def parse(self, text: str) -> str:
        if any(sign in text for sign in "/@ ") or text.count(":") == 1:
            raise ValueError(text)
        return text


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts with their ports, separated by commas, or the word "none"."""

    allowed: str = "hosts such as memory.example.org:443, separated by commas, or none"

    def parse(self, text: str) -> tuple[str, ...]:
        if text.lower() == "none":
            return ()
        names = tuple(name for part in text.split(",") if (name := part.strip().lower()))
        if not names or any(sign in name for name in names for sign in "/@* "):
            raise ValueError(text)
        return names


@dataclass(frozen=True, slots=True)
class Url:
    """An address with one of the schemes and a host, and without credentials: those are settings too."""

    schemes: Sequence[str]

    @property
    def allowed(self) -> str:
        return f"an address that begins with {_either(self.schemes)} and carries no password"

    def parse(self, text: str) -> str:
        if not _has_host(text, self.schemes) or "@" in urlsplit(text).netloc:
            raise ValueError(text)
        return text.rstrip("/")


@dataclass(frozen=True, slots=True)
class SecretUrl:
    """An address that carries a password, and so is kept masked as a whole."""

    schemes: Sequence[str]

    @property
    def allowed(self) -> str:
        return f"an address that begins with {_either(self.schemes)}"

    def parse(self, text: str) -> Secret:
        if not _has_host(text, self.schemes):
            raise ValueError(text)
        return Secret(text)


def _either(schemes: Sequence[str]) -> str:
    return " or ".join(f"{scheme}://" for scheme in schemes)


def _has_host(address: str, schemes: Sequence[str]) -> bool:
    parts = urlsplit(address)
    # Asking for the port raises ValueError when it is no number.
    return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
