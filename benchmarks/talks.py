"""Public question sets as conversations: LoCoMo's chats between two people, LongMemEval's with an assistant.

The files are those of `datasets`, where each turn is a memory; here a session is a conversation, and a
turn is one message of it. What is ranked is a turn, or the session that it stands in.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from backstory.engine import Engine
from backstory.model.conversation import Conversation, KeptTurn, Message, Role
from backstory.model.keeping import NewMessage, key_of
from backstory.model.project import Project
from backstory.ranking.turns import conversation_passage, cues_of, message_passage
from benchmarks.measures import Measure, hit, ndcg, recall

#: Conversations written in one transaction.
_TRANSACTION: Final = 100


@dataclass(frozen=True, slots=True)
class Saying:
    """One message, and the name under which questions know it."""

    unit: str
    role: Role
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """One session."""

    id: str
    project: Project
    at: datetime
    sayings: Sequence[Saying]

    @property
    def is_between_people(self) -> bool:
        """Whether no assistant takes part."""
        return all(saying.role is Role.USER for saying in self.sayings)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, where and when, and what answers it: by kind of unit, "turn" or "session"."""

    text: str
    project: Project
    relevant: Mapping[str, Set[str]]
    at: datetime | None = None
    split: str = ""


@dataclass(frozen=True, slots=True)
class TalkSet:
    """Talks, the questions about them, and how answers are judged, for each kind of unit."""

    name: str
    talks: Sequence[Talk]
    questions: Sequence[Asked]
    measures: Mapping[str, Mapping[str, Measure]]


def read_talk_sets(folder: Path) -> Iterator[TalkSet]:
    """Those of the question sets that the folder has."""
    for name, read in _READERS.items():
        if (path := folder / f"{name}.jsonl.gz").exists():
            yield read(path)


def keep_talks(engine: Engine, talks: Iterable[Talk]) -> int:
    """Write talks to the records, as transcripts are written; how many messages they have."""
    count = 0
    rest = iter(talks)
    while batch := [talk for _, talk in zip(range(_TRANSACTION), rest, strict=False)]:
        with engine.records.writing() as records:
            for talk in batch:
                conversation, turns, messages = _kept(talk)
                key = key_of(talk.project, talk.id)
                passage = conversation_passage(conversation, key)
                records.conversations.replace(conversation, turns, messages, passage)
                count += len(messages)
    return count


def _kept(talk: Talk) -> tuple[Conversation, list[KeptTurn], list[NewMessage]]:
    conversation = Conversation(
        id=talk.id,
        project=talk.project,
        interface_type="chat",
        started_at=talk.at,
        ended_at=talk.at + timedelta(seconds=len(talk.sayings)),
        turns=len(talk.sayings),
        messages=len(talk.sayings),
        is_between_people=talk.is_between_people,
    )
    messages = [
        Message(
            id=key_of(talk.project, f"{talk.id} {number}"),
            conversation=talk.id,
            turn=number,
            place=number,
            role=saying.role,
            text=saying.text,
            at=talk.at + timedelta(seconds=number),
            speaker=saying.speaker,
        )
        for number, saying in enumerate(talk.sayings, 1)
    ]
    turns = [
        KeptTurn(each.turn, each.at, each.at, last_uuid=each.id, messages={each.role: each.id})
        for each in messages
    ]
    new = [NewMessage(each, message_passage(each, conversation), cues_of(each)) for each in messages]
    return conversation, turns, new


def _locomo(path: Path) -> TalkSet:
    """One project a chat. Odd chats are for tuning, even ones for checking."""
    talks, questions = [], []
    for number, chat in enumerate(_rows(path), 1):
        project = Project(chat["conversation"])
        talks += [
            _chat(project, str(session), list(turns))
            for session, turns in groupby(chat["turns"], key=lambda turn: turn.get("session", 1))
        ]
        split = "odd" if number % 2 else "even"
        questions += [_about_chat(project, each, split) for each in chat["questions"]]
    turns = {"nDCG@10": partial(ndcg, depth=10), "recall@10": partial(recall, depth=10)}
    sessions = {"recall@5": partial(recall, depth=5), "recall@10": partial(recall, depth=10)}
    return TalkSet("LoCoMo", talks, questions, {"turn": turns, "session": sessions})


def _chat(project: Project, session: str, turns: Sequence[Mapping[str, Any]]) -> Talk:
    at = datetime.strptime(turns[0]["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    sayings = [Saying(f"{project} {turn['id']}", Role.USER, _said(turn), turn["speaker"]) for turn in turns]
    return Talk(f"{project} D{session}", project, at, sayings)


def _said(turn: Mapping[str, Any]) -> str:
    return f"{turn['text']} ({turn['caption']})" if turn["caption"] else str(turn["text"])


def _about_chat(project: Project, row: Mapping[str, Any], split: str) -> Asked:
    turns = {f"{project} {turn}" for turn in row["evidence"]}
    sessions = {turn.partition(":")[0] for turn in turns}
    return Asked(row["question"], project, {"turn": turns, "session": sessions}, split=split)


def _longmemeval(path: Path) -> TalkSet:
    """All sessions in one project; a session is found by its best turn."""
    project = Project("pooled sessions")
    talks: list[Talk] = []
    questions: list[Asked] = []
    for row in _rows(path):
        at = _moment(row["date"]) if "date" in row else None
        if row["kind"] == "session" and at is not None:
            sayings = [Saying(row["id"], Role(turn["role"]), turn["text"]) for turn in row["turns"]]
            talks.append(Talk(row["id"], project, at, sayings))
        elif row["kind"] == "question":
            questions.append(Asked(row["question"], project, {"session": set(row["sessions"])}, at))
    measures = {
        "nDCG@10": partial(ndcg, depth=10),
        "any@5": partial(hit, depth=5),
        "recall@5": partial(recall, depth=5),
    }
    return TalkSet("LongMemEval", talks, questions, {"session": measures})


def _moment(text: str) -> datetime:
    """2023/05/23 (Tue) 09:43"""
    day, _, clock = text.split()
    return datetime.strptime(f"{day} {clock}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


_READERS: Final[Mapping[str, Callable[[Path], TalkSet]]] = {
    "locomo": _locomo,
    "longmemeval_pooled": _longmemeval,
}
