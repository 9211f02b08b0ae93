"""What each index is made of: its spaces of meaning, its fields of words, and what can be filtered.

Search names its legs by the names here. How entries are filled is left to `entries`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from backstory.model.passage import Index
from backstory.ports import WordField

#: Spaces and fields: what a thing says itself, that with what was said before it, what was asked just before
#: it, all that a conversation says.
TEXT: Final = "text"
WINDOW: Final = "window"
ASKED: Final = "asked"
SESSION: Final = "session"

#: Changes with how values are written as labels.
_LABELS: Final = "labels-2"


@dataclass(frozen=True, slots=True)
class Layout:
    """What an index is made for. Nothing can be added later: another layout is a new index."""

    spaces: tuple[str, ...]
    fields: tuple[WordField, ...]
    labels: tuple[str, ...]
    numbers: tuple[str, ...]
    single: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The layout in short."""
        made_for = (self.spaces, self.fields, self.labels, self.numbers, *self.single, _LABELS)
        return hashlib.sha256(repr(made_for).encode()).hexdigest()[:8]


#: k1 and b for short texts: on LoCoMo turns .4 to .9 and .2 to .4 are alike, 1.5 and .75 cost .010 nDCG@10;
#: for whole sessions 1.2 and .75. An average is fixed for good, so it lies between those of the sets that it
#: was counted on. Terms of a memory: 16 with 134 characters, 44 with 390. LoCoMo and LongMemEval: 17 and 129
#: in a message, 43 and 78 in a window, 4 and 17 in what was asked, 297 and 1,454 in a session.
LAYOUTS: Final[Mapping[Index, Layout]] = {
    Index.MEMORIES: Layout(
        spaces=(TEXT,),
        fields=(WordField(TEXT, k1=0.9, b=0.4, average_words=30),),
        labels=("type", "metadata"),
        numbers=("created_at", "updated_at", "importance"),
    ),
    Index.TURNS: Layout(
        spaces=(TEXT, WINDOW),
        fields=(
            WordField(TEXT, k1=0.9, b=0.4, average_words=50),
            WordField(WINDOW, k1=0.9, b=0.4, average_words=60),
            WordField(ASKED, k1=0.9, b=0.4, average_words=8),
        ),
        labels=("conversation", "role", "speaker", "interface_type", "room", "user", "thread", "metadata"),
        numbers=("at",),
        single=(WINDOW,),
    ),
    Index.SESSIONS: Layout(
        spaces=(),
        fields=(WordField(SESSION, k1=1.2, b=0.75, average_words=700),),
        labels=("conversation", "interface_type", "room"),
        numbers=("started_at", "ended_at"),
    ),
}
