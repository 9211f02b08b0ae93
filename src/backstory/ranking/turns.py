"""What search knows of what was said, what a question about it asks for, and how answers are ranked.

Pure. Both sides are here because they must name labels and numbers alike. The messages' texts, and the
lists of candidates, come from others.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from backstory.model.conversation import Conversation, Message, Role
from backstory.model.keeping import MessageCues
from backstory.model.live import LiveTurn
from backstory.model.passage import Index, Passage
from backstory.model.project import Scope
from backstory.model.search import AnyOf, Between, Scored, TurnQuery, Where
from backstory.ranking.dates import MONTHS, spans
from backstory.ranking.fusion import Fused, normalised
from backstory.ranking.labels import metadata_label, metadata_labels
from backstory.ranking.sentences import asks_when, ends_asking, questions_of, stated, tells_when
from backstory.ranking.words import terms

# Measured on LoCoMo (five chats between two people, 997 questions) and LongMemEval (882 sessions of users
# with an agent, 240 questions), a session standing where its best message stands:
#
#                                    LoCoMo messages   sessions | LongMemEval sessions
#                                    nDCG@10   R@10   R@5   R@10 | any@5   R@5  nDCG@10
#   six lists and all cues             .694    .839   .908  .954 |  .917  .828   .801
#   without answers                    .658    .825   .904  .953 |  .921  .833   .803
#   without words                      .673    .832   .907  .958 |  .912  .822   .798
#   without window words               .674    .829   .911  .955 |  .908  .817   .801
#   without session words              .688    .835   .910  .952 |  .904  .813   .799
#   without meaning                    .690    .837   .904  .950 |  .912  .822   .794
#   without window meaning             .690    .837   .910  .955 |  .917  .827   .795
#   windows of two after as well       .692    .840   .909  .955 |  .917  .822   .793
#
# The weights lie on a plateau. Changing one of them by a third moved LoCoMo's nDCG@10 by at most .007, in odd
# and in even chats; weights fitted on four chats and asked of the fifth were no better than these.

#: Candidates asked of each list of messages, and of the list of conversations. With 100 LoCoMo's recall@10 is
#: .838 and LongMemEval's any@5 .908; 200 and 300 find no more and take longer.
CANDIDATES: Final = 150
SESSIONS: Final = 20

#: What a list's best candidate is worth. A message that is not projected yet is found by its own words alone,
#: which then count for its window too. Files are a guess: no public set of questions names them.
WEIGHTS: Final[Mapping[str, float]] = {
    "words": 1.0,
    "window words": 1.2,
    "answers": 1.2,
    "session words": 0.5,
    "meaning": 0.8,
    "window meaning": 0.5,
    "files": 1.0,
    "new words": 2.2,
}

# What a user answers an agent is found by the agent's question as well, but agents often ask out of courtesy:
# LongMemEval .803 with none of it, .801 with a quarter, .800 with half, .792 with all. A quarter costs
# little, and finds the "yes, the second one" that has no words of its own.
_ANSWERS_AN_AGENT: Final = 0.25

# Agents say again in many words what they were told. Without it LongMemEval .782.
_BY_AN_AGENT: Final = -0.8

# People who talk with each other answer by stating something. Centred, so that in a store with chats of both
# kinds neither comes first for its kind. Without both LoCoMo .676.
_STATES: Final = 1.5
_USUAL_STATEMENT: Final = 0.8
_ASKS: Final = -0.5

# Small, because what one person did is often told by the other. Without it LoCoMo .684.
_NAMED_SPEAKER: Final = 0.4

# More than any list: a time that is named is meant. Without it LoCoMo .691, LongMemEval .794.
_IN_SPAN: Final = 1.5

# Without it LoCoMo .689.
_TELLS_WHEN: Final = 0.9

# People ask about what is recent. LongMemEval .776 without it, .787 at half, .803 at one and a half; there it
# helps too much, as its sessions are those of many people at different times, hence the cautious value. By
# the logarithm: among old things a year more or less is nothing.
_A_YEAR_OLD: Final = -1.0

# What was said a day after the question cannot answer it: LongMemEval .740 without. It is not left out, as a
# clock may have been wrong. Where questions are asked now, nothing is later.
_LATER: Final = -3.0

# An agent's long answers would drown what its user said: with 60 terms LongMemEval loses .009.
_LEADING_TERMS: Final = 30

# Every message's terms end with its day, month and year.
_DATE_TERMS: Final = 3

#: What only turns of live conversations can be filtered by.
LIVE_LABELS: Final = ("user", "thread", "metadata")
_NONE: Final[Mapping[str, Sequence[str]]] = {}

_DAY: Final = 86_400.0
_YEAR_LOG: Final = math.log1p(365)


def message_passage(
    message: Message, conversation: Conversation, extra: Mapping[str, Sequence[str]] = _NONE
) -> Passage:
    """The passage under which a message is found: by its text, its speaker's name and its date.

    `extra` are the labels that only turns of live conversations have, as `live_labels` gives them.
    """
    return Passage(
        id=message.id,
        index=Index.TURNS,
        project=conversation.project,
        text=message.text,
        terms=terms(f"{message.speaker} {message.text} {_date_words(message.at)}"),
        labels={
            **_labels(conversation),
            "role": [message.role.value],
            "speaker": [message.speaker] if message.speaker else [],
            **{label: list(extra.get(label, ())) for label in LIVE_LABELS},
        },
        numbers={"at": message.at.timestamp()},
    )


def live_labels(turn: LiveTurn) -> Mapping[str, Sequence[str]]:
    """What a turn of a live conversation can be filtered by, beside what every turn can."""
    return {
        "user": [turn.user_id] if turn.user_id else [],
        "thread": [turn.thread],
        "metadata": list(metadata_labels(turn.metadata)),
    }


def lets_through(where: Where, turn: LiveTurn, room: str) -> bool:
    """Whether a turn of a live conversation meets the conditions on labels that live turns have."""
    labels = {**live_labels(turn), "conversation": [turn.conversation], "room": [room]}
    return all(
        not set(each.values).isdisjoint(labels[each.label]) for each in where.labels if each.label in labels
    )


def conversation_passage(conversation: Conversation, key: str) -> Passage:
    """The passage of a whole conversation: its title. Its messages' terms are added when it is projected."""
    started = conversation.started_at or conversation.ended_at
    ended = conversation.ended_at or started
    return Passage(
        id=key,
        index=Index.SESSIONS,
        project=conversation.project,
        text=conversation.title.text,
        terms=terms(conversation.title.text),
        labels=_labels(conversation),
        numbers={
            "started_at": started.timestamp() if started else 0.0,
            "ended_at": ended.timestamp() if ended else 0.0,
        },
    )


def _labels(conversation: Conversation) -> dict[str, list[str]]:
    ids = [conversation.id, conversation.parent] if conversation.parent else [conversation.id]
    room = [conversation.room] if conversation.room else []
    return {"conversation": ids, "interface_type": [conversation.interface_type], "room": room}


def _date_words(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at.day} {MONTHS[at.month - 1]} {at.year}"


def window_part(role: str, terms: str) -> str:
    """What a message gives to the windows around it: its terms without its date, of an agent the first 30."""
    own = terms.split()[:-_DATE_TERMS]
    return " ".join(own if role == Role.USER else own[:_LEADING_TERMS])


def window_words(centre: str, parts: Iterable[str]) -> str:
    """The terms of a window: the parts of its messages, and the date of the one that it belongs to."""
    return " ".join([*parts, *centre.split()[-_DATE_TERMS:]])


def asked_words(text: str) -> str:
    """The terms of the questions in a message: the one after it is found by them, as their answer."""
    return terms(questions_of(text))


def session_words(title: str, messages: Iterable[str]) -> str:
    """The terms of a whole conversation: of its title, and of all its messages, each date once."""
    split = [each.split() for each in messages]
    dates = dict.fromkeys(" ".join(each[-_DATE_TERMS:]) for each in split)
    return " ".join([title, *(" ".join(each[:-_DATE_TERMS]) for each in split), *dates]).strip()


def cues_of(message: Message) -> Mapping[str, float]:
    """What ranking will want to know of a message's text, small enough to keep beside it."""
    cues = {
        "states": round(stated(message.text), 3),
        "asks": float(ends_asking(message.text)),
        "when": float(tells_when(message.text)),
    }
    return {name: value for name, value in cues.items() if value}


def conditions(scope: Scope, query: TurnQuery) -> Where:
    """What a question's filters mean to the index of messages."""
    role = query.role.value if query.role else None
    own = _any_of({"role": role, "user": query.user, "thread": query.thread})
    metadata = [AnyOf("metadata", [metadata_label(*each)]) for each in query.metadata.items()]
    span = _between(query.since, query.until)
    numbers = {"at": span} if query.since or query.until else {}
    return Where(scope, [*_asked_labels(query), *own, *metadata], numbers)


def session_conditions(scope: Scope, query: TurnQuery) -> Where:
    """What a question's filters mean to the index of conversations: those held in the span asked for.

    What only turns have cannot be asked there: it is asked of the turns.
    """
    numbers = {}
    if query.since:
        numbers["ended_at"] = _between(query.since, None)
    if query.until:
        numbers["started_at"] = _between(None, query.until)
    return Where(scope, _asked_labels(query), numbers)


def _asked_labels(query: TurnQuery) -> list[AnyOf]:
    return _any_of(
        {
            "conversation": query.conversation,
            "interface_type": query.interface_type,
            "room": query.room,
        }
    )


def _any_of(asked: Mapping[str, str | None]) -> list[AnyOf]:
    return [AnyOf(label, [value]) for label, value in asked.items() if value is not None]


def _between(since: datetime | None, until: datetime | None) -> Between:
    return Between(since.timestamp() if since else None, until.timestamp() if until else None)


def rank(
    query: TurnQuery, lists: Mapping[str, Sequence[Scored]], cues: Mapping[str, MessageCues]
) -> list[Fused]:
    """All messages of all lists that have cues, best first, with what each list and each cue added.

    "session words" holds ids of conversations; what was said in one gets that conversation's share.
    """
    shares = {name: normalised(scored) for name, scored in lists.items()}
    sessions = shares.pop("session words", {})
    shares["answers"] = _answering(shares.get("answers", {}), cues)
    candidates = {id: cues[id] for share in shares.values() for id in share if id in cues}
    question = _Question.read(query, candidates.values())
    parts = {id: question.parts(own) for id, own in candidates.items()}
    for id, own in candidates.items():
        if own.conversation in sessions:
            parts[id]["session words"] = WEIGHTS["session words"] * sessions[own.conversation]
    for name, share in shares.items():
        for id in share.keys() & parts.keys():
            parts[id][name] = WEIGHTS[name] * share[id]
    ranked = sorted((-sum(added.values()), id) for id, added in parts.items())
    return [Fused(id, -score, parts[id]) for score, id in ranked]


def _answering(share: Mapping[str, float], cues: Mapping[str, MessageCues]) -> dict[str, float]:
    """What is left of a list of answers: people's in full, some of what a user answered an agent."""
    return {
        id: value if cues[id].is_between_people else _ANSWERS_AN_AGENT * value
        for id, value in share.items()
        if id in cues and cues[id].role == Role.USER
    }


@dataclass(frozen=True, slots=True)
class _Question:
    """What a question asks for beside its words."""

    asks_when: bool
    speaker: str | None  # the one person it names
    days: Set[int]  # those of the candidates' days that it names, counted from 1970
    asked_at: float | None

    @classmethod
    def read(cls, query: TurnQuery, candidates: Collection[MessageCues]) -> "_Question":
        words = set(terms(query.text).split())
        speakers = {each.speaker for each in candidates}
        names = {speaker: set(terms(speaker).split()) for speaker in sorted(speakers)}
        named = [speaker for speaker, name in names.items() if name and name <= words]
        return cls(
            asks_when=asks_when(query.text),
            speaker=named[0] if len(named) == 1 else None,
            days=_days_named(query, {_day(each.at) for each in candidates}),
            asked_at=query.asked_at.timestamp() if query.asked_at else None,
        )

    def parts(self, cues: MessageCues) -> dict[str, float]:
        """What the cues of one candidate add."""
        parts: dict[str, float] = {}
        if cues.is_between_people:
            parts["states"] = _STATES * (cues.own.get("states", 0.0) - _USUAL_STATEMENT)
            if cues.own.get("asks"):
                parts["asks"] = _ASKS
            if cues.speaker == self.speaker:
                parts["speaker named"] = _NAMED_SPEAKER
        elif cues.role != Role.USER:
            parts["agent"] = _BY_AN_AGENT
        if self.asks_when and cues.own.get("when"):
            parts["tells when"] = _TELLS_WHEN
        if _day(cues.at) in self.days:
            parts["time named"] = _IN_SPAN
        elif self.asked_at is not None:
            parts["age"] = _age((self.asked_at - cues.at) / _DAY)
        return parts


def _age(days: float) -> float:
    """What it costs to have been said so many days before the question."""
    return _A_YEAR_OLD * math.log1p(max(days, 0.0)) / _YEAR_LOG if days > -1 else _LATER


def _days_named(query: TurnQuery, days: Set[int]) -> Set[int]:
    """The days that lie inside a span that the question names; none if all do: then it tells nothing."""
    dates = {day: datetime.fromtimestamp(day * _DAY, UTC).date() for day in days}
    years = sorted({each.year for each in dates.values()})
    asked_on = query.asked_at.astimezone(UTC).date() if query.asked_at else None
    found = spans(query.text, asked_on, years)
    inside = {day for day, date in dates.items() if any(span.holds(date) for span in found)}
    return set() if inside == days else inside


def _day(at: float) -> int:
    return int(at // _DAY)
