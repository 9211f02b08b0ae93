"""Conversations for tests: said in a few words, kept as transcripts would be."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from backstory.actions.projection.now import project_batch
from backstory.actions.projection.upkeep import upkeep
from backstory.engine import Engine, Work
from backstory.model.conversation import Conversation, KeptTurn, Message, Role, Touch
from backstory.model.keeping import NewMessage, chain_of, key_of
from backstory.model.project import Project
from backstory.model.transcript import Title, TitleSource
from backstory.model.upkeep import Target
from backstory.ranking.turns import conversation_passage, cues_of, message_passage

SHOP, BANK = Project("shop"), Project("bank")

#: When conversations begin, if a test does not say.
MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """One turn. Turns with one `key` and the same words are copies of each other, as in a fork."""

    user: str = ""
    assistant: str = ""
    tool: str = ""
    touches: Sequence[Touch] = ()
    key: str = ""

    @property
    def texts(self) -> dict[Role, str]:
        said = {Role.USER: self.user, Role.ASSISTANT: self.assistant, Role.TOOL: self.tool}
        return {role: text for role, text in said.items() if text}


def held(
    id: str,
    *,
    project: Project = SHOP,
    parent: str = "",
    interface_type: str = "claude-code",
    title: str = "",
    began: datetime = MORNING,
) -> Conversation:
    """A conversation that nothing was said in yet."""
    return Conversation(
        id=id,
        project=project,
        interface_type=interface_type,
        parent=parent,
        title=Title(title, TitleSource.AI) if title else Title(),
        folder=f"/{project}",
        started_at=began,
    )


def keep(engine: Engine, conversation: Conversation, *said: Said) -> Conversation:
    """Keep a conversation in the records, a turn a minute; what is derived from them does not have it yet."""
    turns = [_turn(conversation, number, each) for number, each in enumerate(said, 1)]
    messages = [
        message
        for turn, each in zip(turns, said, strict=True)
        for message in _messages(conversation, turn, each)
    ]
    whole = replace(
        conversation,
        ended_at=turns[-1].started_at if turns else conversation.started_at,
        turns=len(turns),
        messages=len(messages),
        human_utterances=sum(bool(each.user) for each in said),
    )
    places = {link.id: link.place for link in chain_of(turns)}
    new = [
        NewMessage(placed, message_passage(placed, whole), cues_of(placed))
        for message in messages
        for placed in [replace(message, place=places[message.id])]
    ]
    passage = conversation_passage(whole, key_of(whole.project, whole.id))
    with engine.records.writing() as records:
        records.conversations.replace(whole, turns, new, passage)
    return whole


def tell(engine: Engine, conversation: Conversation, *said: Said) -> Conversation:
    """Keep a conversation, and let search find it; the graph is made when somebody reads it."""
    whole = keep(engine, conversation, *said)
    while project_batch(engine, Target.VECTORS):
        pass
    return whole


def project_all(engine: Engine) -> None:
    """Do all upkeep that waits, for search and for the graph."""
    while upkeep(engine, Work()):
        pass


def message_id(conversation: Conversation, number: int, said: Said, role: Role) -> str:
    """The id that what was said has."""
    key = said.key or f"{conversation.id}:{number}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{conversation.project} {key} {role} {said.texts[role]}"))


def _turn(conversation: Conversation, number: int, said: Said) -> KeptTurn:
    at = (conversation.started_at or MORNING) + timedelta(minutes=number)
    ids = {role: message_id(conversation, number, said, role) for role in said.texts}
    return KeptTurn(number, started_at=at, ended_at=at, messages=ids)


def _messages(conversation: Conversation, turn: KeptTurn, said: Said) -> Iterator[Message]:
    for role, id in turn.messages.items():
        yield Message(
            id=id,
            conversation=conversation.id,
            turn=turn.number,
            place=0,
            role=role,
            text=said.texts[role],
            at=turn.started_at or MORNING,
            touches=said.touches if role is Role.TOOL else (),
        )
