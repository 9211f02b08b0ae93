"""Long texts in pieces that are short enough for one vector each.

Pure. A vector of a long text blurs: with one a session, the built-in model finds .33 of the sessions
that answer LongMemEval's questions among its first five; by the best piece of each .64, and between
.64 and .66 at any size from 200 to 1,600 characters. Embedding the pieces is left to others.
"""

import re
from typing import Final

# Where a text may be cut, best first: after a paragraph, a line, a sentence, a word. Each pattern is
# greedy and so finds the last such place.
_BREAKS = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r".*\n\s*\n",
        r".*\n",
        r".*(?:[.!?][\"')\]]*\s|[\u3002\uff01\uff1f])",
        r".*\s",
    )
]


#: At most so many characters in a piece: see above.
CHUNK_CHARS: Final = 400


def chunks(text: str, max_chars: int = CHUNK_CHARS) -> list[str]:
    """The text in pieces of at most `max_chars`, in order; nothing but blanks around them is lost."""
    text = text.strip()
    pieces = []
    start = 0
    while len(text) - start > max_chars:
        end = _cut(text, start, max_chars)
        pieces.append(text[start:end].strip())
        start = end
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def _cut(text: str, start: int, max_chars: int) -> int:
    """The best place to end a piece: in the second half of what may be taken, so that none is tiny."""
    # The last piece gets a quarter too, rather than a crumb.
    reach = min(start + max_chars, len(text) - max_chars // 4)
    for pattern in _BREAKS:
        if found := pattern.match(text, start + max_chars // 2, reach):
            return found.end()
    return reach
