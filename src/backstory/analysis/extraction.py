"""What of a talk is worth remembering: decisions, preferences, requirements, conventions, failed tests.

Pure and deterministic, and English where it reads words. Every candidate is one fact with the words that it
was taken from; the session as a whole is one more. Nothing is stored here. What a statement means is left to
`analysis.wordings`, what a reply makes of the turn before it to `analysis.replies`, failed tests to
`analysis.failures`, the fields to `analysis.details`.

Prose alone is read. Code, quotations and what tools gave back count only where they report a failed test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backstory.analysis.details import fields_of, title
from backstory.analysis.failures import Failure, Fix, fix_among, reported, told, united
from backstory.analysis.replies import (
    agrees,
    as_agreed,
    chosen_by_agent,
    leans_on_what_was_before,
    proposal_in,
    question_answered,
    takes_back,
)
from backstory.analysis.session_summary import outcomes, summary
from backstory.analysis.statements import Heard, Statement, meaning, own_words, parts, statements
from backstory.analysis.wording_cues import Voice
from backstory.analysis.wordings import Verdict, verdict
from backstory.model.candidate import CandidateMemory
from backstory.model.summary import SaidTurn

# Agents explain more often than they decide; a sentence that needs another one may need a third.
_BY_AGENT: Final = -0.1
_LEANING: Final = -0.1
_AGREED: Final = 0.75
_CHOSEN: Final = 0.7
_LEFT_TO_AGENT: Final = 0.6
_SAID_AGAIN: Final = 0.05
_FIXED_AND_SEEN: Final = 0.9
_FIXED: Final = 0.65
_FAILED: Final = 0.6
_SESSION: Final = 0.8

# Of a session that decided more, the last ones: metadata has its limits, and each is a memory of its own.
_DECISIONS: Final = 50

# Two candidates with so many of their words in common, and the same negations, are one.
_ALIKE: Final = 0.75
_NEGATIONS: Final = frozenset(("never", "without", "instead", "don't", "not", "no", "against"))


def extract(turns: Sequence[SaidTurn], tools: Mapping[int, str] | None = None) -> list[CandidateMemory]:
    """What is worth remembering, in the order in which it was said; the session as a whole comes last.

    `tools` holds what tools gave back, by the number of the turn. Failed tests alone are taken from it.
    """
    heard = [
        Heard(turn.number, statements(own_words(turn.user)), statements(turn.assistant)) for turn in turns
    ]
    said = _merged(_said(turns, heard))
    failed = list(_failed(turns, heard, tools or {}))
    found = sorted([*said, *failed], key=lambda each: each.turn)
    return [*found, *_session(turns, heard, found)]


def _said(turns: Sequence[SaidTurn], heard: Sequence[Heard]) -> list[CandidateMemory]:
    """What the sentences say by themselves, and what replies make of those before them."""
    found: list[CandidateMemory] = []
    for place, turn in enumerate(heard):
        before = heard[place - 1] if place else Heard(0, [], [])
        by_person = list(_judged(turn.number, turn.person, before, Voice.PERSON))
        if takes_back(turns[place].user):
            found = _without_taken_back(found, by_person, before.number)
        if not any(each.type == "design" for each in by_person):
            found += _replied(turns[place], turn, before)
        found += by_person
        asked = any(each.asks for each in turn.person)
        voice = Voice.ANSWER if asked else Voice.AGENT
        by_agent = list(_judged(turn.number, turn.agent, Heard(turn.number, turn.person, []), voice))
        chosen = chosen_by_agent(turn.person, turn.agent)
        if chosen and not any(each.type == "design" for each in by_agent):
            by_agent.append(_made("design", chosen.text, chosen.quote, turn.number, _LEFT_TO_AGENT))
        found += by_agent
    return found


def _judged(number: int, said: Sequence[Statement], before: Heard, voice: Voice) -> Iterator[CandidateMemory]:
    """The candidates among some statements. `before` is what both sides said last before them."""
    last = " ".join(each.text for each in [*before.person[-1:], *before.agent[-1:]])
    for whole in said:
        for each, judged in _verdicts(whole, voice):
            if judged:
                confidence = judged.confidence + (_BY_AGENT if voice else 0)
                yield _candidate(judged.type, each, last, number, confidence)
            last = each.text


def _verdicts(whole: Statement, voice: Voice) -> list[tuple[Statement, Verdict | None]]:
    """A statement's clauses with what each is, if a person says two things in it; else the whole of it."""
    clauses = [(each, verdict(each, voice)) for each in parts(whole)] if voice is Voice.PERSON else []
    if sum(judged is not None for _, judged in clauses) > 1:
        return clauses
    return [(whole, verdict(whole, voice))]


def _candidate(type_: str, said: Statement, before: str, number: int, confidence: float) -> CandidateMemory:
    """A statement as a candidate, with what it leans on: the heading over it, or the statement before."""
    lead = f"{said.under}:".capitalize() if said.under else before
    leans = bool(lead) and leans_on_what_was_before(said)
    content = f"{lead} {said.text}" if leans else said.text
    return _made(type_, content, said.quote, number, confidence + (_LEANING if leans else 0))


def _made(type_: str, content: str, evidence: str, number: int, confidence: float) -> CandidateMemory:
    return CandidateMemory(type_, content, fields_of(type_, content), evidence, number, round(confidence, 2))


def _replied(turn: SaidTurn, heard: Heard, before: Heard) -> Iterator[CandidateMemory]:
    """The decision that a reply made of what the agent had proposed or asked."""
    proposal = proposal_in(before.agent)
    if proposal and agrees(heard.person, turn.user):
        place = before.agent.index(proposal)
        agreed = replace(proposal, text=as_agreed(proposal))
        lead = before.agent[place - 1].text if place else ""
        yield _candidate("design", agreed, lead, before.number, _AGREED)
    elif question := question_answered(before.agent, heard.person):
        answer = heard.person[0]
        yield _made("design", f"{question.text} {answer.text}", answer.quote, heard.number, _CHOSEN)


def _without_taken_back(
    found: list[CandidateMemory], instead: Sequence[CandidateMemory], turn: int
) -> list[CandidateMemory]:
    """What is left when somebody changes their mind: nothing that the new words are about.

    Without new words, nothing that was decided in the turn before.
    """
    now = frozenset().union(*(meaning(each.content) for each in instead)) if instead else frozenset[str]()
    types = {each.type for each in instead} or {"design"}
    return [
        each
        for each in found
        if each.type not in types or (each.turn != turn if not instead else not meaning(each.content) & now)
    ]


def _merged(found: Sequence[CandidateMemory]) -> list[CandidateMemory]:
    """Each fact once, in the words that are surest of it; that it was said again makes it surer."""
    kept: list[tuple[_Gist, CandidateMemory]] = []
    for each in found:
        gist = _Gist(each.type, meaning(each.content), _negations(each.content))
        place = next((place for place, (other, _) in enumerate(kept) if gist.is_that_of(other)), None)
        if place is None:
            kept.append((gist, each))
        else:
            better = max(kept[place][1], each, key=lambda one: one.confidence)
            surer = round(min(1.0, better.confidence + _SAID_AGAIN), 2)
            kept[place] = (kept[place][0], replace(better, confidence=surer))
    return [candidate for _, candidate in kept]


@dataclass(frozen=True, slots=True)
class _Gist:
    """What two candidates must have in common to be one."""

    type: str
    words: frozenset[str]
    negations: frozenset[str]

    def is_that_of(self, other: "_Gist") -> bool:
        if (self.type, self.negations) != (other.type, other.negations):
            return False
        return len(self.words & other.words) >= _ALIKE * len(self.words | other.words)


def _negations(text: str) -> frozenset[str]:
    return _NEGATIONS & frozenset(text.lower().replace("\u2019", "'").replace(",", " ").split())


def _failed(
    turns: Sequence[SaidTurn], heard: Sequence[Heard], tools: Mapping[int, str]
) -> Iterator[CandidateMemory]:
    """Each test that failed, with the first fix that was told after it."""
    known: set[str] = set()
    for place, (turn, said) in enumerate(zip(turns, heard, strict=True)):
        for failure, after in _failures(turn, said, tools.get(turn.number, "")):
            if failure.short_name not in known:
                known.add(failure.short_name)
                yield _test(
                    failure, turn, _fix(failure, [after, *(each.agent for each in heard[place + 1 :])])
                )


def _failures(turn: SaidTurn, said: Heard, tools: str) -> Iterator[tuple[Failure, list[Statement]]]:
    """The failures of a turn, each with what the agent said after it in the same turn."""
    of_person = [*reported(turn.user), *filter(None, map(told, said.person)), *reported(tools)]
    of_agent = [*reported(turn.assistant), *filter(None, map(told, said.agent))]
    by_agent = {id(failure) for failure in of_agent}
    for failure in united([*of_person, *of_agent]):
        after = [each for each in said.agent if id(failure) not in by_agent or each.start > failure.start]
        yield failure, after


def _fix(failure: Failure, talks: Sequence[Sequence[Statement]]) -> Fix | None:
    return next((fix for said in talks if (fix := fix_among(said, failure))), None)


def _test(failure: Failure, turn: SaidTurn, fix: Fix | None) -> CandidateMemory:
    """A failed test as a memory."""
    fields: dict[str, object] = {"test_name": failure.name, "status": "Failed"}
    fields |= {"test_file": failure.file} if failure.file else {}
    fields |= {"failure_message": failure.message} if failure.message else {}
    fields |= {"fix_applied": fix.text} if fix else {}
    fields |= {"execution_time": turn.at.isoformat()} if turn.at else {}
    told_as = (
        failure.message if failure.was_told else f"{failure.name} failed: {failure.message}".rstrip(": ")
    )
    lines = [told_as, f"Cause: {fix.cause}" if fix and fix.cause else "", f"Fix: {fix.text}" if fix else ""]
    sure = _FAILED if fix is None else _FIXED_AND_SEEN if fix.is_sure else _FIXED
    content = "\n".join(filter(None, lines))
    return CandidateMemory("test_history", content, fields, failure.quote, turn.number, sure)


def _session(
    turns: Sequence[SaidTurn], heard: Sequence[Heard], found: Sequence[CandidateMemory]
) -> Iterator[CandidateMemory]:
    """The talk as a whole, if it is more than one exchange and came to something."""
    done = outcomes(heard)
    opening = next(((turn.number, each.quote) for turn in heard for each in turn.person), None)
    if len(turns) < 2 or opening is None or not (found or done):
        return
    number, evidence = opening
    decided = [each.content for each in found if each.type != "test_history"]
    fixed = [each.content.replace("\n", " ") for each in found if each.type == "test_history"]
    content = summary(heard, decided, fixed)
    fields: dict[str, object] = {"title": title(evidence), "summary": content}
    fields["key_decisions"] = decided[-_DECISIONS:]
    fields |= {"outcome": done[-1]} if done else {}
    times = [turn.at for turn in turns if turn.at]
    fields |= {"start_time": min(times).isoformat(), "end_time": max(times).isoformat()} if times else {}
    yield CandidateMemory("session", content, fields, evidence, number, _SESSION)
