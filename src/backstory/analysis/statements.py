"""A message as statements: what it says in prose, one after the other, each with the words it was said in.

Pure, and English where it reads words. Code, quotations of others, logs and diffs are passed over: they are
not said by whoever sent the message. What a statement means is left to `analysis.wordings`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from backstory.analysis.sentences import LOOKED_AT, Kind, Piece, pieces

_QUOTED_LINE = re.compile(r"\s{0,3}>")
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|Traceback \(|File \"|at [\w.$<>]+ ?\(|E {2,}\S|"
    r"[+-]{3} \S|@@ |diff --git|>>> |\$ \S|\u276f |npm (?:ERR|WARN)|(?:error|warning)(?:\[\w+\])?: |"
    r"(?:FAILED|FAIL|PASS|ERROR|WARN(?:ING)?|INFO|DEBUG)\b[: ]|[\u2713\u2714\u2715\u2717\u00d7\u25cf] ?\S|"
    r"(?:Expected|Received)\b.{0,40}: |\w+(?:Error|Exception): |Tests?: +\d|={5,}|-{5,}|_{5,})"
)
_CODE_LINE = re.compile(
    r"\s*(?:def \w+\(|class \w+[(:{]|import [\w.]+$|import .* from |from [\w.]+ import |with .*:$|"
    r"(?:const|let|var) \w+ =|assert |@\w+(?:\(|$)|\"\"\"|#include|[{}]|/[/*]|\w+ = |[\w.]+\(.*\)[;,]?$|"
    r"\[Request interrupted)|.*[^:][{;]$"
)
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_MARKUP = re.compile(r"\*\*|^#{1,6}\s+|^\[Image #\d+\]\s*")
_HEADING_CHARS: Final = 80
_PASTED_CHARS: Final = 1_000  # nobody says so much in one sentence

# A longer message holds something that was pasted, and what its sender says of it stands at its ends.
_PASTED_FROM: Final = 3_000
_OWN_CHARS: Final = 1_000

# Where a second thing may begin in a sentence.
_JOINT = re.compile(r"; +|, (?:and|but) +| and (?=don't |please )", re.IGNORECASE)

# People in a hurry begin sentences in small letters, which `analysis.sentences` takes for one sentence.
_SMALL_START = re.compile(
    r"(?<=[a-z0-9)`\"'][.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)\s+(?=[a-z]+ ?)"
)

# What somebody says before the point: it is no part of what should be remembered.
_OPENER = re.compile(
    r"(?:(?:(?:ok(?:ay)?|yes|yeah|yep|sure)(?: please| then)?|fine|great|perfect|good|nice|cool|thanks|"
    r"thank you|alright|agreed|got it|h+m+|a+h+|oh|hey(?: claude)?|wait|fair enough|good (?:point|catch|"
    r"question)|makes sense|exactly|correct|no|nope|nah|right|well|actually|you(?:'re|"
    r" are) (?:absolutely )?right|btw|by the way|also|last thing|one (?:more )?thing|on second thought|"
    r"noted|understood|found it|done|fyi|sorry|lol)\s*[,.!:;\u2013\u2014-]+\s*|(?:and|but|so|then|also|"
    r"please|btw|by the way|just|"
    r"i think|i guess|i mean|ok|okay|actually|ah|oh|yeah|h+m+)\s+|(?:first|second|third|"
    r"finally|next),?\s+(?=we\b|let)|(?:first|second|third|finally|next):\s+)",
    re.IGNORECASE,
)

# A quotation or a name in backticks may hold any word, and says nothing by it.
_MENTIONED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d")
_WORD = re.compile(r"[\w.@/+#-]*\w")
_SMALL_WORDS = """
a also an and are as at be been but by can could did do does for from go had has have here i if in into is
it its just let let's me must my need needs new no not now of ok on one only or our out over please should
so some than that the their them then there these they this those to too up us use very was way we what
when which will with would yes you your
"""
_EMPTY_WORDS: Final = frozenset(_SMALL_WORDS.split())


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that was said. `quote` stands in the message letter by letter; `text` is its plain form."""

    text: str
    quote: str
    under: str = ""  # the heading, or the line that leads to the list that it is in
    start: int = 0  # of the quote in the message

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return "? " in self.text or self.text.rstrip("\"')]*_ ").endswith("?")

    @property
    def said(self) -> str:
        """The text with what it only mentions blotted out, for looking at its wording."""
        text = self.text.replace("\u2019", "'")
        return _MENTIONED.sub(lambda found: "\u25a1" * min(len(found.group()), 8), text)

    @property
    def words(self) -> frozenset[str]:
        """The words that carry its meaning, in small letters."""
        return meaning(self.text)


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn as statements: the person's, and what the agent answered."""

    number: int
    person: list[Statement]
    agent: list[Statement]


def meaning(text: str) -> frozenset[str]:
    """The words of a text that carry its meaning, in small letters."""
    return frozenset(word for word in _WORD.findall(text.lower()) if word not in _EMPTY_WORDS)


def own_words(said: str) -> str:
    """What of a message somebody is likely to have written: of a long one its beginning and its end.

    People write a few sentences, and paste pages in between. Of 20 wrong candidates in real talks 14 were
    from pasted pages.
    """
    if len(said) <= _PASTED_FROM:
        return said
    head, _, _ = said[:_OWN_CHARS].rpartition("\n")
    _, _, tail = said[-_OWN_CHARS:].partition("\n")
    return f"{head}\n\n{tail}"


def statements(message: str) -> list[Statement]:
    """What a message says in prose, in order; what is too long for a sentence is left out."""
    found: list[Statement] = []
    marks = _Marks(message)
    under, at = "", 0
    for text, is_item in _said(_own_words(message)):
        if _leads(text) and not is_item:
            under = plain(text).rstrip(": ").lower()
            continue
        under = under if is_item else ""
        if len(text) <= _PASTED_CHARS and (place := marks.place(text, at)):
            start, at = place
            found.append(Statement(plain(text), message[start:at], under, start))
    return found


def has_unread_middle(message: str) -> bool:
    """Whether a message is so long that `statements` leaves out what stands in its middle."""
    return len(message) > LOOKED_AT and len(_own_words(message)) > LOOKED_AT


def parts(whole: Statement) -> list[Statement]:
    """The clauses that a statement may be cut into; only itself where it cannot be cut."""
    joints = list(_JOINT.finditer(whole.quote))
    starts = [0, *(joint.end() for joint in joints)]
    spans = zip(starts, [*(joint.start() for joint in joints), len(whole.quote)], strict=True)
    return [
        Statement(plain(quote), quote, whole.under, whole.start + start)
        for start, end in spans
        if (quote := whole.quote[start:end].strip())
    ]


def plain(text: str) -> str:
    """A text without markup and without what leads to its point, in one line."""
    bare = " ".join(_ITEM.sub("", _MARKUP.sub("", text), count=1).split())
    while (opener := _OPENER.match(bare)) and bare[opener.end() :]:
        bare = bare[opener.end() :]
    return bare[:1].upper() + bare[1:] if bare[:2].islower() or bare[1:2] == " " else bare


def _own_words(message: str) -> str:
    """A message without the lines that somebody or something else wrote; a gap stays where they were."""
    others = (_QUOTED_LINE, _LOG_LINE, _CODE_LINE)
    return "\n".join(
        "" if any(each.match(line) for each in others) else line for line in message.splitlines()
    )


def _said(text: str) -> Iterator[tuple[str, bool]]:
    """Each sentence, and whether it is an item of a list."""
    for piece in pieces(text):
        match piece.kind:
            case Kind.PROSE:
                yield from ((sentence, False) for sentence in _SMALL_START.split(piece.text))
            case Kind.LIST:
                yield from _items(piece)


def _items(piece: Piece) -> Iterator[tuple[str, bool]]:
    item = ""
    for line in piece.text.split("\n"):
        if _ITEM.match(line) or not item:
            if item:
                yield item, bool(_ITEM.match(item))
            item = line
        else:
            item = f"{item}\n{line}"
    yield item, bool(_ITEM.match(item))


def _leads(text: str) -> bool:
    """Whether a line only announces what follows."""
    bare = text.strip("* _")
    return len(bare) <= _HEADING_CHARS and (text.startswith("#") or bare.endswith(":"))


class _Marks:
    """The marks of a message, without blanks: where a sentence stands whose line breaks are gone."""

    def __init__(self, message: str) -> None:
        self._places = [place for place, mark in enumerate(message) if not mark.isspace()]
        self._marks = "".join(message.split())
        self._seen = list(accumulate((not mark.isspace() for mark in message), initial=0))

    def place(self, text: str, after: int) -> tuple[int, int] | None:
        """Start and end of a text at or after a place; None if it does not stand there in one go."""
        wanted = "".join(_ITEM.sub("", text, count=1).split())
        first = self._marks.find(wanted, self._seen[after])
        if first < 0 or not wanted:
            return None
        return self._places[first], self._places[first + len(wanted) - 1] + 1
