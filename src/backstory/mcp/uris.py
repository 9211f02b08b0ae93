"""The addresses of conversations: read, and written for links.

What is found at an address is left to `resources`, who watches it to `news`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

from backstory.errors import InputError

SCHEME: Final = "conversations://"

#: An id or a room of 300 characters that all take four bytes, percent-encoded, and what is asked beside it.
LONGEST: Final = 16_000


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is: `conversations://KIND/NAME?ASKED`."""

    kind: str
    name: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)


def read_address(uri: str) -> Address:
    """The address in a text; raises `InputError` when it is none.

    A plus is a plus: these are no forms of a web page. What stands behind a slash is one name, so that a
    name with a slash in it is found whether or not it was encoded.
    """
    if not uri.startswith(SCHEME):
        raise InputError(
            f"that is no address of a conversation: {uri[:100]}", hint=f"it begins with {SCHEME}"
        )
    if len(uri) > LONGEST:
        raise InputError(f"the address has {len(uri):,} characters", hint=f"it may have {LONGEST:,}")
    place, _, query = uri.removeprefix(SCHEME).partition("?")
    kind, _, name = place.partition("/")
    asked: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if (key := _decoded(key)) in asked:
            raise InputError(f"`{key[:100]}` is given twice", hint="give it once")
        asked[key] = _decoded(value)
    return Address(kind, _decoded(name), asked)


def write_address(kind: str, name: str = "", asked: Mapping[str, object] | None = None) -> str:
    """The address as a text; what is None is not asked."""
    path = f"/{quote(name, safe='')}" if name else ""
    pairs = [
        f"{key}={quote(str(value), safe='')}" for key, value in (asked or {}).items() if value is not None
    ]
    return f"{SCHEME}{kind}{path}{'?' if pairs else ''}{'&'.join(pairs)}"


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError(
            "the address is not UTF-8 once it is decoded", hint="percent-encode the bytes of UTF-8"
        ) from error
