"""What a reply makes of what was said before it: agreed to, chosen among, taken back, or pointed at.

Pure and English. Only short replies are read as answers; a longer one says by itself what it means.
"""

import re
from collections.abc import Sequence
from typing import Final

from backstory.analysis.statements import Statement, meaning

_ANSWER_WORDS: Final = 12
_AGREEMENT_WORDS: Final = 6
_FEW: Final = 3  # words that carry meaning: a statement with fewer leans on the one before it

_AGREES = re.compile(
    r"\W*(?:yes|yep|yeah|yup|sure|ok(?:ay)?|agreed?|i agree|sounds (?:good|great|right)|perfect|fine|good|"
    r"great|nice|do (?:it|that|so|this)|go(?: ahead| for it|$|[.!])|please do|let'?s do (?:it|that|this)|"
    r"makes sense|works for me|exactly|approved|lgtm|\+1|absolutely)\b",
    re.IGNORECASE,
)
_HESITATES = re.compile(
    r"\b(?:no|not|nope|don't|but|wait|think about|later|revert|instead|however|although|thanks|thank you|"
    r"why|leave)\b",
    re.IGNORECASE,
)
_CHOICE_VERBS = (
    r"(?:use|switch|store|keep|put|move|go with|replace|split|drop|make|take|pick|choose|count|rely|cache|"
    r"write|build|model|treat|add (?:a|an) (?:index|cache|queue|table|column)|separate|wrap|expose|limit)"
)
_PROPOSES = re.compile(
    r"\bI(?:'d| would) (?!like|love|say|expect|guess|be\b|have|need|not|wait|hope|think|want)\w+"
    rf"|\bI (?:suggest|recommend|propose)\b|\bI could (?:also )?{_CHOICE_VERBS}\b|\b(?:shall|"
    rf"should) (?:I|we) {_CHOICE_VERBS}\b"
    rf"|\bdo you want (?:me )?to {_CHOICE_VERBS}\b|\bmy (?:recommendation|suggestion|"
    rf"proposal) (?:is|would be)\b|\bhow about\b",
    re.IGNORECASE,
)
_PROPOSING = re.compile(
    r"^(?:(?:then|so) )?(?:I(?:'d| would| could)(?: rather| probably| simply| just| also)?|(?:shall|"
    r"should) (?:I|we)|do you want (?:me )?to) (?!suggest|recommend|propose)",
    re.IGNORECASE,
)
_ASKS_WHICH = re.compile(r"\w,? or\b.*\?|\bwhich (?:one|of)\b.*\?", re.IGNORECASE)
_LISTS_WAYS = re.compile(
    r"\b(?:the alternative|alternatively|two ways|two options|the other option)\b", re.IGNORECASE
)
_LAST: Final = 3  # statements of a message in which a choice is offered
_CHOOSES = re.compile(
    r"\b(?:first|second|third|former|latter|both|neither|option \w|the other|no big)\b", re.IGNORECASE
)
_DELEGATES = re.compile(
    r"\b(?:you (?:pick|choose|decide)|your call|up to you|whatever you think)\b", re.IGNORECASE
)
_NO_CHOICE = re.compile(
    r"^(?:let me|i'll|i will|sure|i need|here(?:'s| is)|both|it depends)\b", re.IGNORECASE
)
_TELLS = re.compile(rf"{_AGREES.pattern}|(?:we're|we are|it's|it is|i'm|i|there)\b", re.IGNORECASE)
_TAKES_BACK = re.compile(
    r"\b(?:scratch that|on second thoughts?|changed my mind|forget (?:that|it|what i)|never ?mind|"
    r"actually,? no|undo that|i take that back|let's not after all)\b|"
    r"^\W*actually\b.*\b(?:instead|rather|not|stay|back to|after all)\b|"
    r"^(?:\w+,? ){0,2}revert(?: it| that)?\W*$",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"^(?:it|they|he|she|both|neither|the (?:former|latter|first|second|other)(?: one)?)\b|^(?:this|that|"
    r"these|those)(?:'s|'ll)? (?:is|are|was|were|must|should|shall|will|has|have|needs?|means|can|would|"
    r"only|also|goes|works?|makes|keeps|way|one)\b|^(?:this|that)'s\b|\bsomething\b|\b(?:do|use|with|keep|"
    r"replace|prefer|make|drop|move|put|call|split|store|of) (?:it|them|both|the (?:former|latter|"
    r"other)(?: one)?|(?:that|this|those)(?=[.,;!?]|$| (?:for|in|with|to|and|as|instead|then|too|here|"
    r"way)\b))(?!\w)",
    re.IGNORECASE,
)


def proposal_in(said: Sequence[Statement]) -> Statement | None:
    """The last thing that an agent proposed."""
    return next((each for each in reversed(said) if _PROPOSES.search(each.said)), None)


def agrees(reply: Sequence[Statement], message: str) -> bool:
    """Whether a reply agrees, and says little else at first."""
    first = reply[0].quote if reply else message
    return (
        bool(_AGREES.match(first)) and len(first.split()) <= _AGREEMENT_WORDS and not _HESITATES.search(first)
    )


def as_agreed(proposal: Statement) -> str:
    """A proposal as the decision that it became."""
    bare = _PROPOSING.sub("", proposal.text)
    if bare == proposal.text:
        return f"Agreed: {bare}"
    return f"{bare[:1].upper()}{bare[1:].rstrip('?. ')}."


def question_answered(said: Sequence[Statement], reply: Sequence[Statement]) -> Statement | None:
    """The choice that an agent offered, if a short reply chooses."""
    last = said[-_LAST:]
    offered = next((each for each in reversed(last) if _ASKS_WHICH.search(each.said)), None)
    ways = next((each for each in reversed(last) if _LISTS_WAYS.search(each.said)), None)
    if not (offered or ways) or not reply or reply[0].asks or len(reply[0].quote.split()) > _ANSWER_WORDS:
        return None
    words = offered.words if offered else frozenset().union(*(each.words for each in said))
    chooses = _CHOOSES.search(reply[0].said) or words & reply[0].words
    return (offered or ways) if chooses and not _TELLS.match(reply[0].quote) else None


def chosen_by_agent(said: Sequence[Statement], answer: Sequence[Statement]) -> Statement | None:
    """What an agent chose first when the choice was left to it."""
    if not any(_DELEGATES.search(each.said) for each in said):
        return None
    return next((each for each in answer if not each.asks and not _NO_CHOICE.search(each.said)), None)


def takes_back(message: str) -> bool:
    """Whether somebody changes their mind."""
    return bool(_TAKES_BACK.search(message))


def leans_on_what_was_before(statement: Statement) -> bool:
    """Whether a statement says little without the one before it."""
    return bool(_POINTS.search(statement.said)) or len(meaning(statement.text)) < _FEW
