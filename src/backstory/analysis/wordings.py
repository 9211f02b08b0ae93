"""What a statement is, by its wording: decision, preference, requirement, convention, or nothing to keep.

Pure and English. The types are told apart so:

- *preference*: how the person wants the work done or the code written, beyond the task at hand.
- *requirement*: what the product must do or hold, whoever builds it.
- *code_pattern*: what is so of all code of a kind in the project.
- *design*: what the product is built with or how, chosen among other ways.

A task ("add a button"), a question, a guess and a story are none of them. What is wanted and required is
taken from the person alone, because agents repeat and explain it. An agent's general remarks on code are
taken where the person asked for them; elsewhere they mostly praise what was just written.

The confidences are no probabilities. They order the wordings, from those that can hardly mean anything else
to those that often do. The wordings themselves are in `analysis.wording_cues`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from backstory.analysis.statements import Statement
from backstory.analysis.wording_cues import CUES, Voice

#: Of a longer statement the rest is not looked at: it is pasted, and has a cue of every sort by chance.
LOOKED_AT: Final = 500


@dataclass(frozen=True, slots=True)
class Verdict:
    """The type of memory that a statement would make, and how sure its wording is."""

    type: str
    confidence: float


# Under such a heading every item is of that type. An agent's list of what is required is a plan of its own.
_HEADINGS: Final[Mapping[str, re.Pattern[str]]] = {
    "design": re.compile(
        r"(?:key |main |our |design |the )*decisions?(?: \w+){0,2}|(?:what )?we (?:decided|agreed)(?: on)?"
    ),
    "requirement": re.compile(
        r"(?:the |hard )*(?:requirements?|acceptance criteria|constraints|must[- ]haves)"
    ),
    "code_pattern": re.compile(
        r"(?:our |code |coding |the )*(?:conventions|patterns|standards|style|guidelines)"
    ),
    "preference": re.compile(r"(?:my )?preferences|how i (?:like|want|work)\b.*|(?:my |house )rules"),
}
_LISTED: Final = 0.85
_LISTED_BY_AGENT: Final = frozenset(("design",))
_ORDER = re.compile(
    r"^(?:please |do |don't |use |stay |write |read |stop |create |calculate |return |update |store |get )",
    re.IGNORECASE,
)

_NOT_MEANT: Final = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # guessed
        (
            r"\b(?:maybe|perhaps|might|could(?! you)|what if|how about|what about|not sure|i wonder|"
            r"wondering|would (?:it|be (?:nice|good))|thinking (?:about|of)|consider(?:ing)?|possibly|"
            r"probably|(?:one|another|an) option|alternatively|depends|undecided|(?:haven't|not|hasn't been|"
            r"hasn't) (?:yet )?decided|no decision|either way|one (?:should|could)|generally|i'll think|"
            r"i don't know|tell me if|no idea|try (?:to )?\w+ing)\b"
        ),
        # told of another time
        (
            r"\b(?:used to (?!be able)|last (?:company|job|year|month)|back then|in my (?:last|old|"
            r"previous|former)|previously|"
            r"years ago|at my (?:old|last)|was a nightmare)\b"
        ),
        # told of others
        (
            r"\b(?:the|their|its) (?:docs?|documentation|readme|article|error|message|comment|log|linter|"
            r"compiler|manual|blog)\b[\w ']{0,20}\b"
            r"(?:say|says|said|claims?|reads?|complains?)\b"
        ),
        # news of tests
        (
            r"\b(?:tests?|specs?|suite|checks?|build|jobs?|runs?)\b.*\b(?:pass(?:es|ed|ing)?|green|red|"
            r"fail(?:s|ed|ures?)|broke|flaky|unhappy)\b"
        ),
        # remarks on what was said
        r"^(?:that|this|it)(?:'s| is) (?:a|an|the|our|just|why|how|what)\b",
        # faults
        r"\bbut (?:it )?should\b|\b(?:the (?:issue|problem|bug)|what happens) is\b|\bdoesn't work\b",
    )
]
_NARRATES = re.compile(
    r"^(?:now |next,? |first,? |then )*(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i see|"
    r"i found|looking at|here(?:'s| is)|running|checking|reading|you need|you have|you can|you should|"
    r"use |try |accept )|\b(?:now|have been|has been|are showing)\b",
    re.IGNORECASE,
)
_POLITE_RULE = re.compile(
    r"^(?:could|can|would|will) you (?:please )?(?:always|never|from now on)\b", re.IGNORECASE
)


def verdict(statement: Statement, voice: Voice) -> Verdict | None:
    """What a statement would be as a memory; None if it is not worth one."""
    if type_ := _listed_as(statement, voice):
        return Verdict(type_, _LISTED)
    said = statement.said[:LOOKED_AT]
    if not _is_meant(statement, said, voice):
        return None
    found = [cue for cue in CUES if voice <= cue.voice and cue.pattern.search(said)]
    best = max(found, key=lambda cue: cue.confidence, default=None)
    return Verdict(best.type, best.confidence) if best else None


def _is_meant(statement: Statement, said: str, voice: Voice) -> bool:
    """Whether a statement is meant as it stands: neither asked nor guessed nor told of others."""
    if statement.asks and not _POLITE_RULE.search(said):
        return False
    if voice is not Voice.PERSON and (statement.under or _NARRATES.search(said)):
        return False
    return not any(pattern.search(said) for pattern in _NOT_MEANT)


def _listed_as(statement: Statement, voice: Voice) -> str:
    """The type that the heading gives to an item, unless the item is an order or a question."""
    if not statement.under or statement.asks or _ORDER.search(statement.said):
        return ""
    type_ = next((name for name, pattern in _HEADINGS.items() if pattern.fullmatch(statement.under)), "")
    return type_ if voice is Voice.PERSON or type_ in _LISTED_BY_AGENT else ""
