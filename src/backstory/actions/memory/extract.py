"""Finding in a talk what is worth remembering, and keeping it if that is asked for.

Who finds it is `engine.extractor`; how much of a talk is read is said in `talks`. Nothing is kept unless it
is asked for. Then all that was found is kept, or nothing, but for what is kept already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backstory.actions.memory.adding import Draft, first_version, keep_all
from backstory.actions.memory.conflicting import ConflictFound, conflicts_of
from backstory.actions.memory.talks import Talk, talk_in, talk_of
from backstory.analysis.conflicts import ConflictKind
from backstory.engine import Engine, Work
from backstory.errors import InputError
from backstory.model.candidate import SESSION, USUAL_CONFIDENCE, CandidateMemory
from backstory.model.memory import Memory, MemoryId, NewMemory, problems_of
from backstory.model.project import Project


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be read, a text or a session from a turn on, and which memories in it are wanted.

    Whoever asks again for the same to be kept, with the same `key`, gets what was kept the first time.
    """

    text: str | None = None
    session: str | None = None
    first_turn: int = 1
    types: Sequence[str] = ()
    min_confidence: float = USUAL_CONFIDENCE
    keep: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate, the memory that it would be, or is, and what that conflicts with.

    `double_of` is the memory that says the same already: the candidate is not kept beside it.
    """

    candidate: CandidateMemory
    memory: Memory
    conflicts: Sequence[ConflictFound] = ()
    double_of: MemoryId | None = None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in a talk. `notes` say how less was found or seen than there may be, and why.

    `pending` says what search cannot see yet of what was kept.
    """

    talk: Talk
    proposals: Sequence[Proposal]
    notes: Sequence[str] = ()
    pending: Sequence[str] = ()


def extract_memories(engine: Engine, project: Project, wish: Wish, work: Work) -> Extraction:
    """What is worth remembering in a talk, and how it stands to what is kept."""
    talk = _talk(engine, project, wish, work)
    found = engine.extractor.extract(
        talk.turns, talk.tools, lambda done, of: work.step(done, of, "looking for what is worth remembering")
    )
    wanted = [each for each in found.candidates if _is_wanted(each, wish)]
    proposals, degraded = _weighed(engine, project, wanted, wish, work)
    extraction = Extraction(talk, proposals, [*filter(None, [found.note]), *degraded])
    return _kept(engine, project, extraction) if wish.keep else extraction


def _talk(engine: Engine, project: Project, wish: Wish, work: Work) -> Talk:
    if wish.session is not None and wish.text is None:
        return talk_of(engine, project, wish.session, wish.first_turn, work)
    if wish.text is not None and wish.session is None:
        return talk_in(wish.text)
    raise InputError(
        "a text or a session is read: one of them, and not both",
        hint="give text, or as session_id one that list_conversations gives",
    )


def _is_wanted(candidate: CandidateMemory, wish: Wish) -> bool:
    is_of_type = not wish.types or candidate.type in wish.types
    return is_of_type and candidate.confidence >= wish.min_confidence


def _weighed(
    engine: Engine, project: Project, wanted: Sequence[CandidateMemory], wish: Wish, work: Work
) -> tuple[list[Proposal], list[str]]:
    """Each candidate beside what is kept, and in words what could not be looked at."""
    session = _kept_session(engine, project, wish.session) if wish.session else None
    proposals: list[Proposal] = []
    degraded: list[str] = []
    for place, candidate in enumerate(wanted):
        work.step(place, len(wanted), "comparing with what is kept")
        memory = first_version(project, _new(candidate, wish), wish.key)
        conflicts = conflicts_of(engine, memory)
        same = [each.memory.id for each in conflicts.found if each.kind is ConflictKind.DUPLICATE]
        same += [session] if session and candidate.type == SESSION else []
        double = next((id for id in same if id != memory.id), None)
        proposals.append(Proposal(candidate, memory, conflicts.found, double))
        degraded += conflicts.degraded
    return proposals, list(dict.fromkeys(degraded))


def _kept_session(engine: Engine, project: Project, id: str) -> MemoryId | None:
    """The memory of a session. One is enough, however far the session has come since it was kept."""
    with engine.records.reading() as records:
        named = records.references.known(project, [id]).get(id, [])
        kept = records.memories.find(project, named).values()
    return next((each.id for each in kept if each.type == SESSION), None)


def _new(candidate: CandidateMemory, wish: Wish) -> NewMemory:
    """The memory as it is asked for, with where it comes from."""
    origin: dict[str, object] = {"evidence": candidate.evidence, "confidence": candidate.confidence}
    if wish.session is not None:
        origin |= {"session_id": wish.session, "turn": candidate.turn}
    return NewMemory(candidate.type, candidate.content, {**candidate.fields, **origin})


def _kept(engine: Engine, project: Project, found: Extraction) -> Extraction:
    """Keep all that is not kept already, or nothing."""
    new = [each.memory for each in found.proposals if each.double_of is None]
    for memory in new:
        for problem in problems_of(NewMemory(memory.type, memory.content, memory.metadata)):
            raise InputError(problem.what, hint=problem.remedy)
    added = keep_all(engine, project, [Draft(memory) for memory in new]) if new else []
    proposals = [replace(each, is_kept=each.double_of is None) for each in found.proposals]
    pending = dict.fromkeys(reason for each in added for reason in each.pending)
    return replace(found, proposals=proposals, pending=list(pending))
