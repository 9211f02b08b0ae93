"""The addresses of conversations, and of what the store itself tells: read, and written for links.

What is found at an address is left to `resources`, who watches it to `news`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote

from backstory.errors import InputError

CONVERSATIONS: Final = "conversations://"
BACKSTORY: Final = "backstory://"
SCHEMES: Final = (CONVERSATIONS, BACKSTORY)

#: The places whose addresses are written into answers and watched one by one.
GET: Final = f"{CONVERSATIONS}get"
ROOM: Final = f"{CONVERSATIONS}room"

#: An id or a room of 300 characters that all take four bytes, percent-encoded, and what is asked beside it.
LONGEST: Final = 16_000


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is: `PLACE/NAME?ASKED`. A place is a scheme with a word behind it."""

    place: str
    name: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)


def read_address(uri: str) -> Address:
    """The address in a text; raises `InputError` when it is none.

    A plus is a plus: these are no forms of a web page. What stands behind a slash is one name, so that a
    name with a slash in it is found whether or not it was encoded.
    """
    scheme = next(filter(uri.startswith, SCHEMES), None)
    if scheme is None:
        raise InputError(
            f"that is no address of ours: {uri[:100]}", hint=f"ours begin with {' or '.join(SCHEMES)}"
        )
    if len(uri) > LONGEST:
        raise InputError(f"the address has {len(uri):,} characters", hint=f"it may have {LONGEST:,}")
    path, _, query = uri.removeprefix(scheme).partition("?")
    kind, _, name = path.partition("/")
    asked: dict[str, str] = {}
    for pair in filter(None, query.split("&")):
        key, _, value = pair.partition("=")
        if (key := _decoded(key)) in asked:
            raise InputError(f"`{key[:100]}` is given twice", hint="give it once")
        asked[key] = _decoded(value)
    return Address(scheme + kind, _decoded(name), asked)


def write_address(place: str, name: str = "", asked: Mapping[str, object] | None = None) -> str:
    """The address as a text; what is None is not asked."""
    path = f"/{quote(name, safe='')}" if name else ""
    pairs = [
        f"{key}={quote(str(value), safe='')}" for key, value in (asked or {}).items() if value is not None
    ]
    return f"{place}{path}{'?' if pairs else ''}{'&'.join(pairs)}"


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError(
            "the address is not UTF-8 once it is decoded", hint="percent-encode the bytes of UTF-8"
        ) from error
