"""What is kept of a session: a conversation, its turns and its messages, without the secrets in them.

Ids depend on nothing but what was said and where, so the same file gives the same ids however often it
is read, and a fork's copy of a turn those of the original. Which files there are, and writing any of it
down, is left to others.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import Final

from backstory.actions.transcripts.touching import Folders, touches_of
from backstory.model.conversation import Conversation, KeptTurn, Message, Role
from backstory.model.keeping import NewMessage
from backstory.model.project import Project
from backstory.model.transcript import FileTouch, Session, Title, ToolCall, Turn
from backstory.ranking.turns import cues_of, message_passage
from backstory.transcripts.redaction import MARK, redacted

#: What the ids of messages are made from.
_MESSAGES: Final = uuid.UUID("0f5d0a4e-7d0b-4f0e-8a59-9d3b6a1c2e47")

_PROSE: Final = (Role.USER, Role.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose conversation it is, and which file it was read from."""

    id: str  # of the conversation
    parent: str
    project: Project
    interface_type: str
    source: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What is to be stored of a session. `redactions` counts what was taken out of new texts, by kind."""

    origin: Origin
    conversation: Conversation
    turns: Sequence[KeptTurn]
    messages: Sequence[NewMessage]
    titles: Mapping[str, str]  # of other conversations, by the uuid of a record of theirs
    redactions: Mapping[str, int]
    made_from: Sequence[Turn] = field(repr=False)


def keep(session: Session, origin: Origin, changed_at: datetime, before: Kept | None = None) -> Kept:
    """What is to be stored of a session, whose file was last changed at a time.

    `before` is what was kept of the same file when it was shorter: turns that are still as they were
    then are not made again.
    """
    redact = _Redacting()
    conversation = _conversation(session, origin, redact)
    keeping = _Keeping(conversation, redact, session.started_at or changed_at)
    if before and before.origin == origin and before.conversation.folder == session.folder:
        keeping.go_on_from(before, _alike(before.made_from, session.turns))
    for turn in session.turns[len(keeping.turns) :]:
        keeping.take(turn)
    return Kept(
        origin,
        replace(conversation, messages=len(keeping.messages)),
        keeping.turns,
        keeping.messages,
        {leaf: title for leaf, told in session.summaries.items() if (title := redact(told))},
        redact.counts,
        session.turns,
    )


def _alike(before: Sequence[Turn], now: Sequence[Turn]) -> int:
    """How many turns, from the first on, have not changed."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))


class _Redacting:
    """Takes secrets out of texts, and counts them with those that are out already."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        if not text:
            return text
        clean = redacted(text)
        self.counts.update(clean.counts)
        # What was cut was redacted before.
        self.counts.update(MARK.findall(text))
        return str(clean.text)


def _conversation(session: Session, origin: Origin, redact: _Redacting) -> Conversation:
    return Conversation(
        id=origin.id,
        project=origin.project,
        interface_type=origin.interface_type,
        parent=origin.parent,
        title=Title(redact(session.title.text), session.title.source),
        slug=session.slug,
        folder=session.folder,
        git_branches=[redact(branch) for branch in session.git_branches],
        versions=session.versions,
        started_at=session.started_at,
        ended_at=session.ended_at,
        turns=len(session.turns),
        human_utterances=session.human_utterances,
        usage=session.usage,
        source=origin.source,
    )


class _Keeping:
    """The turns and messages made so far, and where the next one stands."""

    def __init__(self, conversation: Conversation, redact: _Redacting, began_at: datetime) -> None:
        self.turns: list[KeptTurn] = []
        self.messages: list[NewMessage] = []
        self._conversation = conversation
        self._redact = redact
        self._folders = Folders.of(conversation)
        self._place = 0
        #: Of the last turn that told its time. The first time of a turn stays what it is while the turn
        #: goes on, so a message that is read again has the time it had.
        self._at = began_at

    def go_on_from(self, before: Kept, turns: int) -> None:
        """Take over the first turns of what was kept before."""
        self.turns += before.turns[:turns]
        self.messages += [new for new in before.messages if new.message.turn <= turns]
        self._place = sum(new.message.role in _PROSE for new in self.messages)
        for turn in self.turns:
            self._at = turn.started_at or self._at

    def take(self, turn: Turn) -> None:
        """Add a turn with its messages."""
        self._at = turn.started_at or self._at
        calls = [self._redacted_call(call) for call in turn.tool_calls]
        messages = list(self._messages_of(replace(turn, tool_calls=calls)))
        self.messages += [
            NewMessage(message, message_passage(message, self._conversation), cues_of(message))
            for message in messages
        ]
        self.turns.append(
            KeptTurn(
                number=turn.number,
                started_at=turn.started_at,
                ended_at=turn.ended_at,
                branch=turn.branch,
                is_sidechain=turn.is_sidechain,
                commands=[self._redact(command) for command in turn.commands],
                tool_calls=[replace(call, result="") for call in calls],
                usage=turn.usage,
                last_uuid=turn.uuids[-1] if turn.uuids else "",
                messages={message.role: message.id for message in messages},
            )
        )

    def _redacted_call(self, call: ToolCall) -> ToolCall:
        # Each part by itself: what is marked as private in one must not reach into the next.
        shown = {
            key: self._redact(value) if isinstance(value, str) else value
            for key, value in call.rendering.items()
        }
        files = [FileTouch(self._redact(file.path), file.changed) for file in call.files]
        return replace(call, rendering=shown, result=self._redact(call.result), files=files)

    def _messages_of(self, turn: Turn) -> Iterator[Message]:
        said = {
            Role.USER: self._redact(turn.human_text),
            Role.ASSISTANT: self._redact(turn.assistant_text),
        }
        prose = [role for role in _PROSE if said[role]]
        for role in prose:
            self._place += 1
            yield self._message(turn, role, said[role], self._place)
        if turn.tool_calls:
            text = "\n\n".join(map(_tool_text, turn.tool_calls))
            message = self._message(turn, Role.TOOL, text, self._place if prose else self._place + 1)
            yield replace(message, touches=touches_of(turn.tool_calls, self._folders))

    def _message(self, turn: Turn, role: Role, text: str, place: int) -> Message:
        key = turn.uuids[0] if turn.uuids else f"{self._conversation.id}:{turn.number}"
        named = json.dumps([self._conversation.project.name, key, role.value, text])
        return Message(
            id=str(uuid.uuid5(_MESSAGES, named)),
            conversation=self._conversation.id,
            turn=turn.number,
            place=place,
            role=role,
            text=text,
            at=self._at,
        )


def _tool_text(call: ToolCall) -> str:
    """What a tool was asked, and below it what it gave back."""
    asked = [value for key, value in call.rendering.items() if key != "tool" and isinstance(value, str)]
    return "\n".join(filter(None, [" ".join(filter(None, [call.name, *asked])), call.result]))
