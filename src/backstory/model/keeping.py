"""What passes between those who read transcripts, the records that keep them, and what is made from these.

Here too: the names under which the index and the graph know conversations and files, and the order in
which the messages of a conversation stand. Both are said once, because several must agree on them.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from backstory.model.conversation import KeptTurn, Message, Role
from backstory.model.passage import Passage
from backstory.model.project import Project

_NAMES: Final = uuid.UUID("6d1f6f43-6d0c-5b7e-9d55-3c1c7f0a2b94")

#: How many prose messages before one belong to its window. None after it do: an answer follows what is asked,
#: and what is said next changes no window that there is. With two after it as well LoCoMo's nDCG@10 is .692
#: in place of .694, LongMemEval's .793 in place of .801.
REACH: Final = 2


def key_of(project: Project, conversation: str) -> str:
    """The key that a conversation has in the index and in the graph."""
    return str(uuid.uuid5(_NAMES, json.dumps(["conversation", project.name, conversation])))


def file_key(project: Project, path: str) -> str:
    """The id that a touched file has in the graph."""
    return str(uuid.uuid5(_NAMES, json.dumps(["file", project.name, path])))


class Link(NamedTuple):
    """Where a message stands in a conversation, its own or a fork's."""

    id: str
    turn: int
    place: int
    role: Role


def chain_of(turns: Iterable[KeptTurn]) -> list[Link]:
    """The messages of a conversation in order: in each turn the user's, the assistant's, the tools'.

    Places count prose. The tools' message has the place of the prose before it in its turn, or where
    there is none the next one.
    """
    return linked(
        (turn.number, said.get(Role.USER), said.get(Role.ASSISTANT), said.get(Role.TOOL))
        for turn in turns
        for said in [turn.messages]
    )


def linked(turns: Iterable[tuple[int, str | None, str | None, str | None]]) -> list[Link]:
    """The chain of turns that are told by their number and the ids of their messages."""
    chain: dict[str, Link] = {}
    prose = 0
    for number, user, assistant, tool in turns:
        beside = prose + 1
        for role, id in ((Role.USER, user), (Role.ASSISTANT, assistant)):
            if id and id not in chain:
                prose += 1
                beside = prose
                chain[id] = Link(id, number, prose, role)
        if tool and tool not in chain:
            chain[tool] = Link(tool, number, beside, Role.TOOL)
    return list(chain.values())


def prose_of(chain: Sequence[Link]) -> list[Link]:
    """The links of a chain that are no tool messages; they stand at their places from 1 on."""
    return [link for link in chain if link.role is not Role.TOOL]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as it is to be kept: with its passage, and what ranking will want to know of it."""

    message: Message
    passage: Passage
    cues: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replaced:
    """How many messages came, went and stayed when a conversation was written again."""

    added: int = 0
    removed: int = 0
    kept: int = 0


class MessageCues(NamedTuple):
    """What is known of a message without reading it. `own` is what was given when it was kept.

    A tuple, as a `Link` is: hundreds are made for one question, and it takes a third of the time.
    """

    conversation: str
    turn: int
    role: str
    speaker: str
    at: float
    is_between_people: bool
    own: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FileState:
    """A transcript file: how it looked when it was last read, how far it was read, and how that went."""

    path: str
    conversation: str
    size: int
    inode: int
    modified_ns: int
    consumed: int
    prefix_hash: str
    read_at: datetime
    gone_at: datetime | None = None
    records: int = 0
    repaired: int = 0
    unreadable: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How many transcript files are known, and how reading them went."""

    files: int = 0
    gone: int = 0
    failed: int = 0
    records: int = 0
    unreadable: int = 0


def windows_in(chain: Sequence[Link]) -> dict[str, list[str]]:
    """The ids in the window of each message of a chain, in order: up to its own place."""
    prose = [link.id for link in prose_of(chain)]
    return {link.id: prose[max(link.place - 1 - REACH, 0) : link.place] for link in chain}
