"""Cursors: where a search goes on, packed into a text that means nothing to its reader.

Nothing is kept for them. A cursor holds how many hits were given, the moment of the first page, and a
fingerprint of what was asked: memories that were added later are left out of later pages, and a cursor
of another search is refused. It is not signed: who forges one sees nothing that a search would not show.
"""

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from backstory.errors import InputError

_AGAIN: Final = "search again without a cursor"


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page begins, and the moment of the first one."""

    offset: int
    moment: datetime

    def pack(self, asked: object) -> str:
        """The cursor as a text, for the search that was asked."""
        fields = [self.offset, self.moment.timestamp(), _fingerprint(asked)]
        return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


def unpack(text: str, asked: object) -> Cursor:
    """The cursor in a text; raises `InputError` when it is none, or of another search."""
    try:
        offset, moment, fingerprint = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        cursor = Cursor(int(offset), datetime.fromtimestamp(float(moment), UTC))
    except (ValueError, TypeError, OverflowError, OSError, RecursionError) as error:
        raise InputError("the cursor is damaged", hint=_AGAIN) from error
    if cursor.offset < 0:
        raise InputError("the cursor is damaged", hint=_AGAIN)
    if fingerprint != _fingerprint(asked):
        raise InputError("the cursor belongs to another search", hint=_AGAIN)
    return cursor


def _fingerprint(asked: object) -> str:
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
