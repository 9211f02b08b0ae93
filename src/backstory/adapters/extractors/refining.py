"""What a language model's answer about a talk is worth: memories whose evidence was really said.

Pure. A model invents; so a memory counts only if the words that it gives as evidence stand in the talk, and
if it could be kept as it is. What it does not say of a candidate stays as the rules had it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from backstory.adapters.language_model import NoAnswer
from backstory.analysis.details import fields_of
from backstory.model.candidate import EXTRACTED_TYPES, SESSION, CandidateMemory, Extracted
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import NewMemory, problems_of
from backstory.model.summary import SaidTurn

#: What a model is sure of, if it does not say: as much as the rules are of most.
_USUAL_CONFIDENCE: Final = 0.7

#: Fewer words prove nothing: they stand in any talk. Unless somebody said no more.
_LEAST_WORDS: Final = 3

#: Quotations are passages of a message, not the message.
_MOST_QUOTED: Final = 2_000

_LIST: Final = re.compile(r"\[\s*[{\]]")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some turns of a talk, what tools gave back in them by number, and what the rules found there."""

    turns: Sequence[SaidTurn]
    tools: Mapping[int, str]
    candidates: Sequence[CandidateMemory]

    def said_in(self, turn: SaidTurn) -> tuple[str, str, str]:
        """What can be quoted from a turn."""
        return turn.user, turn.assistant, self.tools.get(turn.number, "")


def refined(answer: str, stretch: Stretch) -> Extracted:
    """The memories in a model's answer, each once; raises `NoAnswer` if it is no list of them.

    The note says how many were left out.
    """
    items = _items(answer)
    made = [each for item in items if (each := _memory(item, stretch))]
    once = list({(each.type, each.content.casefold()): each for each in made}.values())
    invented = len(items) - len(made)
    return Extracted(
        once, f"{invented} were left out: they quote what was not said, or cannot be kept" if invented else ""
    )


def _items(answer: str) -> list[Any]:
    """The items of the list in an answer, whatever is written around it."""
    begin = _LIST.search(answer)
    items: list[Any] | None = None
    with suppress(ValueError, RecursionError):  # no JSON, or nested without end
        items = json.JSONDecoder().raw_decode(answer, begin.start())[0] if begin else None
    if items is None:
        raise NoAnswer("its answer is no list of memories")
    return items


def _memory(item: Any, stretch: Stretch) -> CandidateMemory | None:
    """The memory that an item tells of, if it was said and can be kept."""
    if not isinstance(item, dict):
        return None
    known = _known(item.get("candidate"), stretch.candidates)
    type_, content = _text(item, "type", known), _text(item, "content", known)
    quote = _text(item, "evidence", known)
    is_kept = known is not None and quote == known.evidence
    found = (known.turn, quote) if known and is_kept else _found(quote, item.get("turn"), stretch)
    if type_ not in EXTRACTED_TYPES or found is None or (type_ == SESSION and known is None):
        return None
    turn, evidence = found
    fields = {**_own_fields(type_, content, known), **_given_fields(type_, item.get("fields"))}
    if any(problems_of(NewMemory(type_, content, fields))):
        return None
    return CandidateMemory(type_, content, fields, evidence, turn, _confidence(item.get("confidence"), known))


def _known(number: object, candidates: Sequence[CandidateMemory]) -> CandidateMemory | None:
    """The candidate that is refined; they are numbered from 1."""
    if isinstance(number, int) and 1 <= number <= len(candidates):
        return candidates[number - 1]
    return None


def _text(item: Mapping[str, object], name: str, known: CandidateMemory | None) -> str:
    given = item.get(name)
    if isinstance(given, str) and given.strip():
        return given.strip()
    return getattr(known, name) if known else ""


def _own_fields(type_: str, content: str, known: CandidateMemory | None) -> Mapping[str, object]:
    """The fields by the content, and those that the rules found beside it."""
    if known is None or known.type != type_:
        return fields_of(type_, content)
    if known.content == content:
        return known.fields
    own = {"summary": content} if type_ == SESSION else fields_of(type_, content)
    return {**known.fields, **own}


def _given_fields(type_: str, given: object) -> dict[str, object]:
    """The fields that the model gives and the type takes; but names and links are not its to make up."""
    kind = KINDS[type_]
    return {
        field.name: given[field.name]
        for field in kind.fields
        if isinstance(given, dict) and field.name in given and field.accepts.fits(given[field.name])
        if field.links is None and field.name not in kind.named_by
    }


def _found(quote: str, turn: object, stretch: Stretch) -> tuple[int, str] | None:
    """Where a quotation stands and how it is written there; best in the turn that was named."""
    words = quote[:_MOST_QUOTED].split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    for each in sorted(stretch.turns, key=lambda each: each.number != turn):
        for text in stretch.said_in(each):
            if (match := pattern.search(text)) and (len(words) >= _LEAST_WORDS or match[0] == text.strip()):
                return each.number, match[0]
    return None


def _confidence(given: object, known: CandidateMemory | None) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1:
        return round(float(given), 2)
    return known.confidence if known else _USUAL_CONFIDENCE
