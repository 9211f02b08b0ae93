"""What in a sentence's wording makes it worth keeping: that it decides, binds, names, counts, leaves open.

Pure, and English where it reads words; names and numbers look the same in every language. Whether a
sentence stands for what was said around it is left to `analysis.selection`.

The worths were chosen on generated conversations, and on real ones in which decisions were planted. Mean
recall at 200 and 400 tokens is .931; with any one of them halved or half as large again, .91 to .94.
Without the cue of decisions it is .87, without that of questions .89, without length .88; by length and
form alone it is .49.
"""

import re
from typing import Final

from backstory.analysis.sentences import Kind, Piece

# A cue in the thousandth character says little about a piece, and searching costs time.
_LOOKED_AT: Final = 1_000

_NOT_DECIDED = (
    "see|look|start|check|take|begin|continue|first|say|try|dive|break|walk|examine|explore|consider|run|read|"
    "review|verify"
)
_DECIDES = (
    r"\b(?:decid(?:e|ed|es)|decision|agreed?|settled? (?:on|for)|settling on|conclu(?:ded|sion)|"
    r"cho(?:se|sen|osing)|picked|(?:go|goes|going|went|stick|sticks|sticking|stay|stays|staying) "
    rf"(?:with|for)|opt(?:ed|ing)? for|let['\u2019]?s (?!{_NOT_DECIDED})\w+|"
    r"(?:i|we)(?:['\u2019]d| would) (?:rather|prefer)|prefer(?:s|red|ence)?|(?:i|we) want|instead of|"
    r"rather than|in favou?r of|in place of|no longer|any ?more|from now on|"
    r"going forward|switch(?:es|ed|ing)? (?:to|from|over)|replac(?:e|es|ed|ing)|"
    r"the (?:plan|deal|rule|convention|policy|requirement|answer|verdict) is|approved|rejected|"
    r"consensus|signed off|ruled? out|off the table|final(?:ly|ised|ized)?|won['\u2019]?t|will not|"
    r"we(?:['\u2019]re| are) (?:going|using|keeping|dropping|not)|deadline|budget)\b"
)
_INTENDS = (
    r"\b(?:we(?:['\u2019]ll| will| should| need)|will be|should(?:n['\u2019]t)? (?:be|have|use|go|stay|not)|"
    r"shall)\b"
)
_BINDS = (
    r"\b(?:must(?:n['\u2019]t)?|never|always|require[sd]?|mandatory|forbidden|prohibited|may not|only|alone|"
    r"at most|at least|no more than|do not|make sure|ensure|has to|have to|needs? to|everywhere|nothing else|"
    r"unsupported|every|all (?!right)\w+s|limit(?:ed)?|cap|maximum|minimum)\b"
)
_ORDERS = (
    r"^(?:please |so |ok(?:ay)?,? |yes,? |and |then |just |also )*(?:use|keep|put|make|add|remove|drop|"
    r"store|set|call|name|avoid|prefer|write|move|rename|delete|do|don['\u2019]?t|stop|leave|treat|return|limit|adopt|"
    r"deploy|skip|ship|merge|split)\b"
)
_FAILS = (
    r"\b(?:\w{1,60}(?:error|exception)|errors?|fail(?:s|ed|ures?|ing)?|crash(?:es|ed)?|traceback|"
    r"timed? ?outs?|deadlocks?|regression|root cause|caused by|bugs?|broken|leak(?:s|ed)?|"
    r"race condition|segfault|panic)\b"
)
_LEFT_OPEN = (
    r"\b(?:todo|fixme|still open|open (?:question|point|issue)s?|not yet|pending|blocked|follow[- ]?ups?|"
    r"next steps?|remaining|unresolved|undecided|tbd|out of scope)\b"
)
_NAMES = (
    r"`[^`\n]+`|https?://\S|\b[\w-]+/[\w.-]|\b\w[\w-]*\.[a-z]{1,4}\b|\b\w+_\w|\b[a-z]+[A-Z]\w|"
    r"\b[A-Z]{2,}[A-Z_\d]*\b|\b[A-Z][a-z]+[A-Z]"
)
_COUNTS = r"(?<![\w.])[#$\u20ac\u00a3]?\d[\d.,:]*+(?!\)\s)"
_CHATS = (
    r"^\W*(?:thanks?|thank you|great|perfect|nice|cool|sounds good|good (?:point|question|idea|luck)|got it|"
    r"alright|hi|hello|hey|no problem|you['\u2019]?re (?:right|welcome)|absolutely|certainly|of course|sure|"
    r"i hope|hope this|happy to|here(?:['\u2019]s| is| are)|feel free|looking at|as you can see|congrat\w+|"
    r"that['\u2019]s (?:a )?(?:great|fantastic|wonderful)|"
    r"i['\u2019]?m (?:glad|happy|thinking|planning|looking|trying|just|sorry))\b"
)
_NARRATES = (
    r"^\W*(?:(?:now |next,? |first,? |then )?(?:i['\u2019]?ll|i will|i(?:['\u2019]?m| am) going to|"
    r"i(?:['\u2019]ve| have)? (?:read|look|check|found|see|saw|notice|added|ran|updated|created|think|was|"
    rf"just|understand|need))|let['\u2019]?s (?:{_NOT_DECIDED})|let me|running|checking|reading)\b"
)
_HEDGES = (
    r"\b(?:might|maybe|perhaps|could|may|can|possibly|probably|in general|generally|typically|usually|"
    r"depend(?:s|ing)|one option|another option|would be|consider|some|various|such as|for example|e\.g)\b"
)

_CUES: Final = [
    (re.compile(pattern, flags), worth)
    for pattern, worth, flags in (
        (_DECIDES, 1.7, re.IGNORECASE),
        (_INTENDS, 0.7, re.IGNORECASE),
        (_BINDS, 0.7, re.IGNORECASE),
        (_ORDERS, 0.8, re.IGNORECASE),
        (_FAILS, 0.5, re.IGNORECASE),
        (_LEFT_OPEN, 0.5, re.IGNORECASE),
        (_NAMES, 0.4, re.NOFLAG),
        (_COUNTS, 0.4, re.NOFLAG),
        (_CHATS, -1.0, re.IGNORECASE),
        (_NARRATES, -1.5, re.IGNORECASE),
        (_HEDGES, -0.7, re.IGNORECASE),
    )
]

# People decide more often than agents do, who explain.
_BY_A_PERSON: Final = 0.6
_QUESTION: Final = -1.5
_HEADING: Final = -2.0  # it announces, and says nothing
_KINDS: Final = {Kind.PROSE: 0.0, Kind.LIST: -0.3, Kind.CODE: -1.0}

# A long piece has a cue of every sort by chance and takes the room of several; a fragment says little.
_FOR_100_CHARS: Final = -1.0
_SPARED_CHARS: Final = 100
_FRAGMENT: Final = -0.3
_FRAGMENT_CHARS: Final = 40


def weight(piece: Piece, *, by_person: bool) -> float:
    """How much a piece's wording and form speak for it; below 0 they speak against it."""
    text = piece.text[:_LOOKED_AT]
    worth = sum(each for pattern, each in _CUES if pattern.search(text))
    worth += _BY_A_PERSON * by_person + _QUESTION * _asks(piece.text) + _HEADING * _announces(piece.text)
    return worth + _KINDS[piece.kind] + _size(len(piece.text))


def _size(length: int) -> float:
    long = max(0, length - _SPARED_CHARS) / 100
    short = max(0, _FRAGMENT_CHARS - length) / _FRAGMENT_CHARS
    return _FOR_100_CHARS * long + _FRAGMENT * short


def _asks(text: str) -> bool:
    return text.rstrip("\"')]*_ ").endswith(("?", "\uff1f", "\u061f"))


def _announces(text: str) -> bool:
    return text.startswith("#") or text.endswith((":", ":**", "\uff1a"))
