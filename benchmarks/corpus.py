"""Made-up memories and questions, the same in every run.

Word frequencies, lengths, projects and dates are like those of real notes: Zipf, log-normal, uneven,
spread over two years. The vocabulary is that of the built-in model, so that a text takes as many
tokens as a real one does. What the texts say means nothing: quality is measured on real data.
"""

import hashlib
import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from backstory.adapters.embedders.static import SHIPPED
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import Memory, MemoryId, NewMemory, Relationship
from backstory.model.project import Project

_SEED: Final = 20_240_229
_BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS: Final = 730

#: Weights 1/sqrt(rank): the largest project holds 13 %, the smallest 3 %, the seventh 5 %.
_PROJECTS: Final = [Project(f"project {rank:02}") for rank in range(1, 21)]
_TYPES: Final = list(KINDS)
_LINKED: Final = 0.2  # memories that relate to the one before them in their project

#: The seventh largest: 5 % of the memories.
SEARCHED: Final = _PROJECTS[6]

#: The commonest words; they make up a fifth of a text.
_GRAMMAR_WORDS: Final = "the of to and in is for it that with on this as be was are by we not from or an at"
_GRAMMAR: Final = _GRAMMAR_WORDS.split()
_MEDIAN_WORDS, _SIGMA_WORDS, _MAX_WORDS = 40, 0.7, 400
_SENTENCE_WORDS: Final = 12
_NAME_EVERY: Final = 11  # every so many words there is the name of something


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is ready to be kept, with the links it brings."""

    memory: Memory
    links: Sequence[Relationship] = ()


class Corpus:
    """As many memories as asked for. Only their projects, types and dates are held in memory."""

    def __init__(self, size: int) -> None:
        self.size = size
        chance = np.random.default_rng(_SEED)
        weights = 1 / np.sqrt(np.arange(1, len(_PROJECTS) + 1))
        self._projects = chance.choice(len(_PROJECTS), size, p=weights / weights.sum()).astype(np.int8)
        self._types = chance.integers(0, len(_TYPES), size, np.int8)
        self._days = np.sort(chance.uniform(0, _DAYS, size))

    def drafts(self) -> Iterator[Draft]:
        """Every memory, oldest first."""
        newest: dict[Project, MemoryId] = {}
        for number in range(self.size):
            memory = self._memory(number)
            before = newest.get(memory.project)
            linked = before is not None and _chance("link", number).random() < _LINKED
            links = [Relationship(RelationshipType.RELATES_TO, before)] if before and linked else []
            newest[memory.project] = memory.id
            yield Draft(memory, links)

    def some_ids(self, count: int) -> list[tuple[Project, MemoryId]]:
        """Ids of memories from all over the corpus, each with its project."""
        numbers = np.random.default_rng(_SEED + 1).integers(0, self.size, count)
        return [(_PROJECTS[self._projects[number]], _id(number)) for number in numbers.tolist()]

    def questions(self, count: int) -> list[str]:
        """Distinct questions: words from memories of the searched project, rare ones and common ones."""
        own = np.flatnonzero(self._projects == _PROJECTS.index(SEARCHED)).tolist() or [0]
        return [_question(_text("memory", own[number % len(own)]), number) for number in range(count)]

    def newcomers(self, count: int) -> list[NewMemory]:
        """Memories that are not in the corpus."""
        types = [_TYPES[n % len(_TYPES)] for n in range(count)]
        return [NewMemory(type_, _text("newcomer", n), _least(type_, n)) for n, type_ in enumerate(types)]

    def _memory(self, number: int) -> Memory:
        at = _BEGIN + timedelta(days=float(self._days[number]))
        return Memory(
            id=_id(number),
            project=_PROJECTS[self._projects[number]],
            type=_TYPES[self._types[number]],
            content=_text("memory", number),
            metadata={"branch": f"feature-{number % 50}"},
            importance=0.5,
            version=1,
            created_at=at,
            updated_at=at,
        )


def _least(type_: str, number: int) -> dict[str, object]:
    """The fields that a type requires; those that name something name something new."""
    fields = [field for field in KINDS[type_].fields if field.required]
    named = {"name", "key", "test_name"}
    metadata = {each.name: f"newcomer {number}" if each.name in named else each.example for each in fields}
    return metadata | ({"requirement_id": f"REQ-NEW-{number}"} if type_ == "requirement" else {})


def _id(number: int) -> MemoryId:
    return MemoryId(str(uuid.UUID(bytes=hashlib.sha256(str(number).encode()).digest()[:16], version=4)))


def _question(text: str, number: int) -> str:
    chance = _chance("question", number)
    words = list({word: None for word in text.replace(".", "").split() if word not in _GRAMMAR})
    chosen = chance.permutation(words)[: chance.integers(3, 9)]
    return f"how is {' '.join(chosen)} in case {number}?"


def _text(kind: str, number: int) -> str:
    chance = _chance(kind, number)
    count = int(min(_MAX_WORDS, max(5, chance.lognormal(math.log(_MEDIAN_WORDS), _SIGMA_WORDS))))
    vocabulary, bounds = _vocabulary()
    ranks = np.searchsorted(bounds, chance.random(count)).tolist()
    words = [vocabulary[rank] for rank in ranks]
    words[_NAME_EVERY::_NAME_EVERY] = map(_name, ranks[_NAME_EVERY::_NAME_EVERY])
    sentences = [words[at : at + _SENTENCE_WORDS] for at in range(0, count, _SENTENCE_WORDS)]
    return " ".join(f"{' '.join(sentence)}." for sentence in sentences)


def _name(rank: int) -> str:
    """The name of a function or a variable; there are as many as words, and as unevenly used."""
    vocabulary, _ = _vocabulary()
    first, second = vocabulary[rank], vocabulary[len(vocabulary) - 1 - rank]
    return f"{first}_{second}" if rank % 2 else first + second.title()


def _chance(kind: str, number: int) -> np.random.Generator:
    """Chance of its own for each text, so that any one can be made without those before it."""
    return np.random.default_rng([_SEED, *kind.encode(), number])


@cache
def _vocabulary() -> tuple[list[str], NDArray[np.float64]]:
    """Words, commonest first, and where each one's share of all words ends."""
    tokens = Tokenizer.from_file(str(SHIPPED / "tokenizer.json")).get_vocab()
    words = [token for token in sorted(tokens, key=tokens.__getitem__) if token.isascii() and token.isalpha()]
    ordered = _GRAMMAR + [word for word in words if len(word) > 2 and word not in _GRAMMAR]
    shares = np.cumsum(1 / (np.arange(len(ordered)) + 2.7))
    return ordered, shares / shares[-1]
