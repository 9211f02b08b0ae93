"""Who calls: what a request's headers say beside the call itself.

Headers are written by the caller and prove nothing; the process checks the token before it gets here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

DIRECTORY: Final = "Backstory-Directory"
BRIDGE: Final = "Backstory-Bridge"
KEY: Final = "Idempotency-Key"

# The id of a bridge is logged, so it must not be able to say anything.
_BRIDGE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a call comes from. `key` is the same when a call is sent again."""

    directory: Path | None = None
    key: str | None = None
    bridge: str | None = None

    @classmethod
    def from_headers(cls, headers: Mapping[str, str] | None) -> "Caller":
        """What the headers of a request tell; what they do not tell, or tell badly, is None."""
        given = {name.lower(): value for name, value in (headers or {}).items()}
        bridge = given.get(BRIDGE.lower(), "")
        return cls(
            directory=_folder(given.get(DIRECTORY.lower(), "")),
            key=given.get(KEY.lower()) or None,
            bridge=bridge if _BRIDGE_ID.fullmatch(bridge) else None,
        )


def _folder(quoted: str) -> Path | None:
    try:
        folder = Path(unquote(quoted, errors="strict"))
    except UnicodeDecodeError:
        return None
    return folder if folder.is_absolute() and "\0" not in str(folder) else None
