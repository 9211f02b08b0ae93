"""Live conversations as they were written: who is in which room, every turn, and every summary.

Rows and values, nothing else: what may be done with a conversation is decided by the storage that is
built on this. What search knows of them is in `conversations`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from backstory.model.live import (
    ConversationCriteria,
    ConversationPage,
    LiveConversation,
    LiveTurn,
    TurnWindow,
)
from backstory.model.project import Project
from backstory.model.summary import Summary
from backstory.records import schema
from backstory.records.paging import batched

_HEADS: Final = schema.live_conversations
_ROOMS: Final = schema.live_rooms
_TURNS: Final = schema.live_turns
_SUMMARIES: Final = schema.live_summaries

#: Conversations read at once when Python has to choose among them.
_READ_AT_ONCE: Final = 500

_OF: Final[BindParameter[str]] = bindparam("of")

_INSERT: Final = insert(_HEADS)
_UPDATE: Final = update(_HEADS).where(_HEADS.c.id == _OF)
_GET: Final = select(_HEADS).where(_HEADS.c.id == _OF)
_IN_ROOM: Final = (
    select(_HEADS)
    .join(_ROOMS, _ROOMS.c.conversation == _HEADS.c.id)
    .where(
        _ROOMS.c.project == bindparam("project"),
        _ROOMS.c.interface_type == bindparam("interface_type"),
        _ROOMS.c.room == bindparam("room"),
    )
)
_ENTER: Final = insert(_ROOMS)
_LEAVE: Final = delete(_ROOMS).where(_ROOMS.c.conversation == _OF)
_INSERT_TURN: Final = insert(_TURNS)
_OWN_TURNS: Final = select(_TURNS).where(_TURNS.c.conversation == _OF)
_NEWEST: Final = (
    _OWN_TURNS.where(_TURNS.c.number >= bindparam("first"))
    .order_by(_TURNS.c.number.desc())
    .limit(bindparam("most"))
)
_NEWEST_UP_TO: Final = _NEWEST.where(_TURNS.c.number <= bindparam("last"))
_BY_ID: Final = _OWN_TURNS.where(_TURNS.c.id.in_(bindparam("ids", expanding=True)))
_INSERT_SUMMARY: Final = insert(_SUMMARIES)
_NEWEST_SUMMARIES: Final = (
    select(_SUMMARIES)
    .where(_SUMMARIES.c.conversation == _OF)
    .order_by(_SUMMARIES.c.first_turn.desc())
    .limit(bindparam("most"))
)
_FIND: Final = select(_HEADS).where(_HEADS.c.id > bindparam("after")).order_by(_HEADS.c.id)
# Written so that SQLite goes by what is not summarized; in the order of the ids it would read all of them.
_FIND_UNSUMMARIZED: Final = (
    select(_HEADS)
    .where(_HEADS.c.unsummarized > bindparam("over"), _HEADS.c.deleted_at.is_(None))
    .where(_HEADS.c.id.concat("") > bindparam("after"))
    .order_by(_HEADS.c.id.concat(""))
)


class LiveRecords:
    """Conversations that are written turn by turn."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, conversation: LiveConversation) -> None:
        """Keep a new conversation, in a room that is free."""
        self._connection.execute(_INSERT, {"id": conversation.id, **_head_columns(conversation)})
        self._connection.execute(_ENTER, _room_columns(conversation))

    def get(self, id: str, *, summaries: int = 0) -> LiveConversation | None:
        """The conversation with its newest summaries, deleted or not."""
        row = self._connection.execute(_GET, {"of": id}).one_or_none()
        if row is None:
            return None
        return replace(_conversation(row), summaries=self._summaries(id, summaries) if summaries else ())

    def in_room(self, project: Project, interface_type: str, room: str) -> LiveConversation | None:
        """The conversation that is in a room."""
        place = {"project": project.name, "interface_type": interface_type, "room": room}
        row = self._connection.execute(_IN_ROOM, place).one_or_none()
        return _conversation(row) if row else None

    def put(self, conversation: LiveConversation) -> None:
        """Let a conversation be as this one, without its summaries; a deleted one leaves its room."""
        self._connection.execute(_UPDATE, {"of": conversation.id, **_head_columns(conversation)})
        self._connection.execute(_LEAVE, {"of": conversation.id})
        if conversation.deleted_at is None:
            self._connection.execute(_ENTER, _room_columns(conversation))

    def append(self, conversation: LiveConversation, turns: Sequence[LiveTurn]) -> None:
        """Keep new turns, and what the conversation is with them."""
        if turns:
            self._connection.execute(_INSERT_TURN, [_turn_columns(turn) for turn in turns])
            self._connection.execute(_UPDATE, {"of": conversation.id, **_head_columns(conversation)})

    def turns(self, id: str, window: TurnWindow) -> list[LiveTurn]:
        """The turns that a window shows, in the order of their numbers."""
        if window.newest <= 0:
            return []
        if window.ids is not None:
            found = self.turns_by_id(id, window.ids).values()
            inside = [turn for turn in found if _is_inside(window, turn.number)]
            return sorted(inside, key=lambda turn: turn.number)[-window.newest :]
        values = {"of": id, "first": window.first, "last": window.last, "most": window.newest}
        rows = self._connection.execute(_NEWEST if window.last is None else _NEWEST_UP_TO, values).all()
        return [_turn(row) for row in reversed(rows)]

    def turns_by_id(self, id: str, wanted: Iterable[str]) -> dict[str, LiveTurn]:
        """Those of a conversation's turns that have these ids."""
        return {
            row.id: _turn(row)
            for page in batched(dict.fromkeys(wanted))
            for row in self._connection.execute(_BY_ID, {"of": id, "ids": page})
        }

    def add_summary(self, conversation: LiveConversation, summary: Summary) -> None:
        """Keep a summary, and what the conversation is with it."""
        columns = {"conversation": conversation.id, **_summary_columns(summary)}
        self._connection.execute(_INSERT_SUMMARY, columns)
        self._connection.execute(_UPDATE, {"of": conversation.id, **_head_columns(conversation)})

    def find(self, criteria: ConversationCriteria) -> ConversationPage:
        """The conversations that meet the criteria, in the order of their ids."""
        found = list(islice(self._meeting(criteria), criteria.limit + 1))
        return ConversationPage(found[: criteria.limit], more=len(found) > criteria.limit)

    def _meeting(self, criteria: ConversationCriteria) -> Iterator[LiveConversation]:
        query, values = _query(criteria)
        # Metadata is compared here: databases do not agree on when two values of JSON are equal.
        at_once = _READ_AT_ONCE if criteria.metadata else criteria.limit + 1
        after = criteria.after
        while rows := self._connection.execute(query.limit(at_once), {**values, "after": after}).all():
            for conversation in map(_conversation, rows):
                if criteria.metadata.items() <= conversation.metadata.items():
                    yield conversation
            after = rows[-1].id

    def _summaries(self, id: str, most: int) -> list[Summary]:
        rows = self._connection.execute(_NEWEST_SUMMARIES, {"of": id, "most": most}).all()
        return [_summary(row) for row in reversed(rows)]


def _is_inside(window: TurnWindow, number: int) -> bool:
    return window.first <= number and (window.last is None or number <= window.last)


def _query(criteria: ConversationCriteria) -> tuple[Select[*tuple[Any, ...]], Mapping[str, Any]]:
    over = criteria.unsummarized_over
    if over is not None and criteria.deleted is False:
        return _FIND_UNSUMMARIZED.where(*_conditions(criteria)), {"over": over}
    return _FIND.where(*_conditions(criteria)), {}


def _conditions(criteria: ConversationCriteria) -> Iterator[ColumnElement[bool]]:
    if isinstance(criteria.scope, Project):
        yield _HEADS.c.project == criteria.scope.name
    if criteria.interface_type is not None:
        yield _HEADS.c.interface_type == criteria.interface_type
    if criteria.room is not None:
        yield _HEADS.c.room == criteria.room
    if criteria.since is not None:
        yield _HEADS.c.updated_at >= criteria.since
    if criteria.until is not None:
        yield _HEADS.c.updated_at <= criteria.until
    if criteria.deleted is not None:
        yield _HEADS.c.deleted_at.is_not(None) if criteria.deleted else _HEADS.c.deleted_at.is_(None)
    if criteria.unsummarized_over is not None and criteria.deleted is not False:
        yield _HEADS.c.turns - _HEADS.c.summarized_to > criteria.unsummarized_over


def _head_columns(conversation: LiveConversation) -> dict[str, Any]:
    unsummarized = conversation.turns - conversation.summarized_to
    return {
        "project": conversation.project.name,
        "interface_type": conversation.interface_type,
        "room": conversation.room,
        "title": conversation.title,
        "metadata": dict(conversation.metadata),
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
        "deleted_at": conversation.deleted_at,
        "turns": conversation.turns,
        "summarized_to": conversation.summarized_to,
        "unsummarized": 0 if conversation.deleted_at else unsummarized,
    }


def _room_columns(conversation: LiveConversation) -> dict[str, Any]:
    return {
        "project": conversation.project.name,
        "interface_type": conversation.interface_type,
        "room": conversation.room,
        "conversation": conversation.id,
    }


def _conversation(row: Row[*tuple[Any, ...]]) -> LiveConversation:
    return LiveConversation(
        id=row.id,
        project=Project(row.project),
        interface_type=row.interface_type,
        room=row.room,
        created_at=row.created_at,
        updated_at=row.updated_at,
        title=row.title,
        metadata=row.metadata,
        deleted_at=row.deleted_at,
        turns=row.turns,
        summarized_to=row.summarized_to,
    )


def _turn_columns(turn: LiveTurn) -> dict[str, Any]:
    return {
        "conversation": turn.conversation,
        "number": turn.number,
        "id": turn.id,
        "query": turn.query,
        "response": turn.response,
        "at": turn.at,
        "user_id": turn.user_id,
        "user_name": turn.user_name,
        "parent": turn.parent,
        "thread": turn.thread,
        "metadata": dict(turn.metadata),
    }


def _turn(row: Row[*tuple[Any, ...]]) -> LiveTurn:
    return LiveTurn(**row._asdict())


def _summary_columns(summary: Summary) -> dict[str, Any]:
    return {
        "first_turn": summary.first_turn,
        "last_turn": summary.last_turn,
        "text": summary.text,
        "tokens": summary.tokens,
        "made_by": summary.made_by,
        "note": summary.note,
        "at": summary.at,
    }


def _summary(row: Row[*tuple[Any, ...]]) -> Summary:
    columns = row._asdict()
    del columns["conversation"]
    return Summary(**columns)
