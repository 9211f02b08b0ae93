"""Cursors: where an answer goes on, packed into a text that means nothing to its reader.

A cursor holds where to go on, the moment of the first page, and a fingerprint of what was asked: what was
added later is left out of later pages of a search, and a cursor of another search is refused. Nothing else is
kept for it, but the ranking that a search of memories makes. It is not signed: who forges one sees nothing
that a search would not show.
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
    """Where the next page begins, and the moment of the first one.

    `offset` is how much was given. In an export it is the number of a turn of `conversation`, since what
    comes before that may grow. `within` is the character to begin at, where the page before ended in the
    middle of a text. `ranking` names the list that the offset is a place in, if it is held.
    """

    offset: int
    moment: datetime
    within: int = 0
    conversation: str = ""
    ranking: str = ""

    def pack(self, asked: object) -> str:
        """The cursor as a text, for the search that was asked."""
        moment = self.moment.timestamp()
        fields = [self.offset, moment, _fingerprint(asked), self.within, self.conversation, self.ranking]
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def page_at(text: str | None, asked: object) -> Cursor:
    """Where a page begins: at the cursor in the text, or at the beginning, now."""
    return unpack(text, asked) if text else Cursor(0, datetime.now(UTC))


def unpack(text: str, asked: object) -> Cursor:
    """The cursor in a text; raises `InputError` when it is none, or of another search."""
    try:
        fields = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        offset, moment, fingerprint, within, conversation, ranking = fields
        first = datetime.fromtimestamp(float(moment), UTC)
        # Encoded, since half of a surrogate pair is text to JSON and to no database.
        names = [str(name.encode(), "utf-8") for name in (conversation, ranking)]
        cursor = Cursor(int(offset), first, int(within), *names)
    except (ValueError, AttributeError, TypeError, OverflowError, OSError, RecursionError) as error:
        raise InputError("the cursor is damaged", hint=_AGAIN) from error
    if cursor.offset < 0 or cursor.within < 0:
        raise InputError("the cursor is damaged", hint=_AGAIN)
    if fingerprint != _fingerprint(asked):
        raise InputError("the cursor belongs to another search", hint=_AGAIN)
    return cursor


def _fingerprint(asked: object) -> str:
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
