"""A text in clauses and a clause in tokens, with phrases that mean one thing made one word.

Pure, and English. What the tokens claim is left to `analysis.claims`.
"""

import re
from collections.abc import Iterator
from typing import Final

from backstory.analysis.sentences import pieces

_TOKEN = re.compile(
    r"~?(?=[\w./-]*[^\W\d])[\w.-]*(?:/[\w.-]*\w)+"  # a path
    r"|v?\d+(?:[.,]\d+)*(?:%|[a-z]*)(?![\w-])"
    r"|\w[\w']*"
    r"|,"
)
_CLAUSES = re.compile(
    r";\s+|,?\s+(?:because(?: of)?|since|so that)\s+|:\s+(?=\S+\s+\S+\s+\S)|\s+[\u2013\u2014]\s+|\n+"
)
_PORTIONS = re.compile(r"\S.{0,400}(?!\S)|\S{1,400}", re.DOTALL)  # comparing costs the product of lengths
_GO = re.compile(r"(?<=\w )Go\b")  # the language; the verb would be a small word
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")

# Phrases as one word each, in lower case, so that a clause can be read word by word.
_PHRASES: Final = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"[\u2019\u2018]", "'"),
        (r"\be-mail", "email"),
        (r"^the (?:system|product|software|application) (?=shall|must|should|may)", ""),
        (r"\b(?:is|are|was|were) (?:off|out of scope)\b", "is disabled"),
        (r"\bend[- ]to[- ]end\b", "e2e"),
        (r"\b(?:turn|switch)(?:ed|es|s|ing)? off\b", "disabled"),
        (r"\b(?:turn|switch)(?:ed|es|s|ing)? on\b", "enabled"),
        (r"\bcan(?:no|')t\b", "can not"),
        (r"\b(\w+)n't\b", r"\1 not"),
        (r"\bnot only\b", "only"),
        (r"\b(?:never|(?:do|to|must|should|shall) not) use\b", "insteadof"),
        (r"\b(?:is|are|was|were) (?:deprecated|obsolete)\b", "is dropped"),
        (r"\b(?:(?:is|are|was|were) )?(?:not (?:allowed|permitted|accepted)|disallowed)\b", "is forbidden"),
        (r"\btim(?:e|es|ed|ing)[ -]outs?\b", "timeout"),
        (r"\binter-(?=\w)", ""),
        (r"\b(characters|lines|tokens|words) long\b", r"\1"),
        (r"\b(?:the )?users? (?=(?:now )?(?:wants?|prefers?|(?:dis)?likes?|hates?|do(?:es)?|works?)\b)", ""),
        (r"\bturned out (?:to be )?too\b|\bproved too\b|\bconsidered and rejected\b", "is dropped"),
        (r"\bno longer\b|\bnot any ?more\b", "nolonger"),
        (r"\bin favou?r of\b", "infavour"),
        (r"\b(?:instead of|rather than|in place of|as opposed to)\b", "insteadof"),
        (r"\b(prefer\w*|likes?|favou?rs?|cho\w+)\b([^.,;]*?)\b(?:over|to)\b", r"\1\2insteadof"),
        (r"\b((?:switch|mov|migrat|chang|convert|port)\w*)\b([^.,;]*?)\bfrom\b", r"\1\2insteadof"),
        (r"\breplac(?:ed?|es|ing)\b(?=[^.,;]*\b(?:with|by)\b)", "insteadof"),
        (r"\b(?:was|were|(?:has|have) been) moved to\b", "lives in"),
        (r"\bwent through\b", "succeeded"),
        (r"\bhalf an hour\b", "30 minutes"),
        (r"\b(for|after|within|in|until) an? (?=(?:second|minute|hour|day|week|month|year)\b)", r"\1 1 "),
        (r"\btwice\b", "2 times"),
        (r"\bonce (?:an?|per|every) (?=\w)", "every "),
        (r"\b(?:is|are|was|were) (?:out|gone|off the table)\b(?! of\b)", "is dropped"),
        (r"\b(?:was|were|(?:has|have) been) (?:removed|replaced|given up|thrown out)\b", "is dropped"),
        (r"\bstop(?:s|ped|ping)? (?=\w+ing\b)", "insteadof "),
        (r"\bdecided against\b|\brul(?:e|ed|es|ing) out\b|\b(?:got|get(?:ting)?) rid of\b", "insteadof"),
    )
]


def clauses(text: str) -> Iterator[str]:
    """The sentences of a text, cut where a reason or another statement begins; none is long."""
    for piece in pieces(text):
        for clause in _CLAUSES.split(piece.text):
            yield from _PORTIONS.findall(clause)


def tokens(clause: str) -> list[str]:
    """The words, numbers, paths and commas of a clause, in lower case."""
    text = _GO.sub("golang", _ARGUMENTS.sub("", clause)).lower()
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    return _TOKEN.findall(text)
