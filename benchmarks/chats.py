"""Made-up live conversations, the same in every run: many of different lengths, and one that is long.

The talk is that of `summaries`, with a note of the made-up memories at the end of each answer, so that
there are rare words and names as well. Questions about it are worded for every class of questions.
"""

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from typing import Final

from backstory.model.live import LiveTurn, NewConversation, NewTurn
from backstory.model.project import Project
from benchmarks.corpus import Corpus
from benchmarks.summaries import planted

_SEED: Final = 53
_END: Final = datetime(2026, 6, 1, tzinfo=UTC)
_DAYS: Final = 365

#: A tenth of all turns are one conversation's: of 100,000 turns 10,000.
_LONGEST: Final = 0.1
_MEDIAN_TURNS, _SIGMA_TURNS, _MAX_TURNS = 3.0, 1.0, 1_000  # the median as its logarithm: 20 turns

_PROJECTS: Final = [Project(f"project {number:02}") for number in range(1, 11)]
_INTERFACES: Final = ("cli", "matrix", "discord")
_USERS: Final = ("ann", "ben", "cleo")
_ANSWERS_AN_EARLIER: Final = 0.4  # turns that have a parent
_NOTES: Final = 5_000  # they are made slowly, and used again

#: One for each class of questions that search is asked for, and one that it is not.
_QUESTIONS: Final = (
    "What did we say about {words} last month?",
    "How does the {words} work?",
    "And what about {words}, should we change that too?",
    "What is the limit of the {words}?",
    "I want to build a new tool for {words} from scratch.",
    "The {words} is broken again.",
)
JUST_NOW: Final = "What did you just say?"


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation, and all that is said in it."""

    head: NewConversation
    turns: Sequence[NewTurn]


def chats(turns: int) -> Iterator[Chat]:
    """Conversations of together so many turns; the longest comes first."""
    chance, said = random.Random(_SEED), sayings("loaded")
    length = max(1, int(turns * _LONGEST))
    for number in count():
        yield _chat(number, length, chance, said)
        turns -= length
        if not turns:
            return
        length = min(turns, _MAX_TURNS, 1 + int(chance.lognormvariate(_MEDIAN_TURNS, _SIGMA_TURNS)))


def sayings(kind: str) -> Iterator[tuple[str, str]]:
    """What is asked and what is answered, turn by turn, without end; other kinds say other things."""
    chance = random.Random(f"{_SEED} {kind}")
    while True:
        for turn in planted(chance.getrandbits(32)).turns:
            yield turn.user, f"{turn.assistant} {chance.choice(_notes())}"


def question(turn: LiveTurn, number: int) -> str:
    """A question that a turn may answer, or one near to it."""
    chance = random.Random(f"{_SEED} {number}")
    text = chance.choice((turn.query, turn.response))
    words = [word.strip(".,:;?`") for word in text.split() if len(word) > 4]
    begin = chance.randrange(max(1, len(words) - 3))
    return _QUESTIONS[number % len(_QUESTIONS)].format(words=" ".join(words[begin : begin + 3]) or "release")


def _chat(number: int, length: int, chance: random.Random, said: Iterator[tuple[str, str]]) -> Chat:
    ended = _END - timedelta(days=chance.uniform(0, _DAYS) if number else 0)
    at = ended - timedelta(minutes=3 * length)
    head = NewConversation(
        _id(chance),
        _PROJECTS[number % len(_PROJECTS)],
        _INTERFACES[number % len(_INTERFACES)],
        f"room {number}",
        at,
    )
    turns: list[NewTurn] = []
    for query, response in (next(said) for _ in range(length)):
        has_parent = turns and chance.random() < _ANSWERS_AN_EARLIER
        at += timedelta(minutes=chance.uniform(0.5, 5.5))
        turns.append(
            NewTurn(
                _id(chance),
                query,
                response,
                at,
                user_id=(user := chance.choice(_USERS)),
                user_name=user.title(),
                parent=chance.choice(turns[-5:]).id if has_parent else "",
                metadata={"ticket": chance.randrange(50)},
            )
        )
    return Chat(head, turns)


def _id(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


@cache
def _notes() -> Sequence[str]:
    return [each.content for each in Corpus(1).newcomers(_NOTES)]
