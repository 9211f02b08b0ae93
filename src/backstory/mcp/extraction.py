"""What is told of memories found in a talk: the answer, how it is made to fit, and its text.

As in `answers`, what is None is left out. The longest candidates are shortened first; if that is not enough,
the least sure ones are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from backstory.actions.memory.extract import Extraction, Proposal
from backstory.mcp.answers import Answer, ConflictTold
from backstory.mcp.budget import USUAL_TOKENS, beginning, fair_share, size, written
from backstory.mcp.render import conflicts
from backstory.mcp.wording import every, fact, lines, number, said

#: The least that is shown of a text, however little room there is: a sentence.
_LEAST_EXCERPT: Final = 40

#: Kept for what is said around the candidates.
_AROUND: Final = 500

#: Conflicts shown with a candidate: the gravest. Each may take 100 tokens.
_MOST_CONFLICTS: Final = 3


class CandidateTold(Answer):
    """A memory that might be kept. `id` is what it is kept as, `double_of` what says the same already."""

    type: str
    confidence: float
    turn: int
    content: str
    metadata: Mapping[str, Any] | None = None
    evidence: str
    conflicts: Sequence[ConflictTold] | None = None
    double_of: str | None = None
    id: str | None = None
    shortened: Sequence[str] | None = None

    @classmethod
    def of(cls, proposal: Proposal) -> "CandidateTold":
        """The candidate, whole."""
        candidate = proposal.candidate
        gravest = proposal.conflicts[:_MOST_CONFLICTS]
        return cls(
            type=candidate.type,
            confidence=candidate.confidence,
            turn=candidate.turn,
            content=candidate.content,
            metadata=candidate.fields or None,
            evidence=candidate.evidence,
            conflicts=[ConflictTold.of(each) for each in gravest] or None,
            double_of=proposal.double_of,
            id=proposal.memory.id if proposal.is_kept else None,
        )


class MemoriesExtracted(Answer):
    """What was found in the turns `first_turn` to `last_turn`, of `turns` that there are."""

    project: str
    session_id: str | None = None
    first_turn: int
    last_turn: int
    turns: int
    kept: int
    candidates: Sequence[CandidateTold]
    next_turn: int | None = None
    pending: Sequence[str] | None = None
    notes: Sequence[str] | None = None


def told(found: Extraction, project: str, session: str | None, most: int = USUAL_TOKENS) -> MemoriesExtracted:
    """What was found, as much of it as fits into an answer."""
    turns = [turn.number for turn in found.talk.turns] or [0]
    candidates, notes = _fitting([CandidateTold.of(each) for each in found.proposals], most - _AROUND)
    return MemoriesExtracted(
        project=project,
        session_id=session,
        first_turn=turns[0],
        last_turn=turns[-1],
        turns=found.talk.total,
        kept=sum(each.is_kept for each in found.proposals),
        candidates=candidates,
        next_turn=found.talk.next_turn,
        pending=found.pending or None,
        notes=[*found.notes, *notes] or None,
    )


def shown(answer: MemoriesExtracted) -> str:
    """How much was found and kept, then each candidate."""
    read = f"turns {answer.first_turn} to {answer.last_turn} of {answer.turns}"
    return lines(
        f"{number(len(answer.candidates), 'candidate')} in {read}; {answer.kept} kept.",
        f"project: {answer.project}",
        *fact("session", answer.session_id),
        *fact("next turn", answer.next_turn),
        *every("pending", answer.pending),
        *every("note", answer.notes),
        *(_candidate(place, each) for place, each in enumerate(answer.candidates, 1)),
    )


def _candidate(place: int, each: CandidateTold) -> str:
    return lines(
        "",
        f"{place}. {each.type}, confidence {each.confidence}, turn {each.turn}",
        *fact("   kept as", each.id),
        *fact("   kept already as", each.double_of),
        *conflicts(each.conflicts),
        *([f"   metadata: {written(each.metadata)}"] if each.metadata else []),
        *([f"   shortened: {', '.join(each.shortened)}"] if each.shortened else []),
        *said("   evidence", each.evidence),
        each.content,
    )


def _fitting(candidates: Sequence[CandidateTold], room: int) -> tuple[list[CandidateTold], list[str]]:
    """The candidates that fit, and in words what was cut."""
    share = fair_share([size(each) for each in candidates], room)
    fitted = [each if size(each) <= share else _shortened(each, share) for each in candidates]
    notes = []
    if any(each.shortened for each in fitted):
        notes.append("some candidates are shortened; fewer of them, by types or min_confidence, come whole")
    sizes = {place: size(each) for place, each in enumerate(fitted)}
    by_worth = sorted(sizes, key=lambda place: (fitted[place].confidence, -place), reverse=True)
    while sum(sizes[place] for place in by_worth) > room:
        by_worth.pop()
    if left_out := len(fitted) - len(by_worth):
        notes.append(f"{left_out} candidates, the least sure, are left out for their length")
    return [fitted[place] for place in sorted(by_worth)], notes


def _shortened(each: CandidateTold, most: int) -> CandidateTold:
    """A candidate without its metadata, with the gravest conflict and the beginnings of its texts."""
    gravest = each.conflicts[:1] if each.conflicts else None
    bare = each.model_copy(update={"metadata": None, "conflicts": gravest, "content": "", "evidence": ""})
    room = max((most - size(bare)) // 2, _LEAST_EXCERPT)
    cut = {name: beginning(getattr(each, name), room) for name in ("content", "evidence")}
    short = bare.model_copy(update=cut)
    names = ("content", "evidence", "metadata", "conflicts")
    lost = [name for name in names if getattr(short, name) != getattr(each, name)]
    return short.model_copy(update={"shortened": lost})
