"""Reading conversations: themselves, their turns, and how much was said when."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Result,
    Row,
    Select,
    String,
    bindparam,
    case,
    cast,
    distinct,
    func,
    select,
)

from backstory.errors import NotFound
from backstory.model.conversation import Conversation, ConversationCounts, Day, TurnText
from backstory.model.project import Project, Scope
from backstory.records import schema
from backstory.records.conversation_rows import conversation_of, turn_of
from backstory.records.message_reads import MessageReads
from backstory.records.paging import batched

_CONVERSATIONS: Final = schema.conversations
_MESSAGES: Final = schema.messages
_TOUCHES: Final = schema.touches
_TURNS: Final = schema.turns
_PASSAGES: Final = schema.passages

_AnyRow = Row[*tuple[Any, ...]]
_AnySelect = Select[*tuple[Any, ...]]

#: How many conversations of a day are named.
SAMPLES: Final = 5

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_INSIDE: Final = _CONVERSATIONS.c.project == bindparam("project")
_PARENT: Final = _CONVERSATIONS.alias("parent")
_IS_PARENT: Final = _PARENT.c.id == _CONVERSATIONS.c.parent
_IS_PARENT_INSIDE: Final = _IS_PARENT & (_PARENT.c.project == _CONVERSATIONS.c.project)
_HAS_NONE: Final = _CONVERSATIONS.c.parent == ""
_LISTED: Final = _HAS_NONE | ~select(_PARENT.c.id).where(_IS_PARENT).exists()
_LISTED_INSIDE: Final = _INSIDE & (_HAS_NONE | ~select(_PARENT.c.id).where(_IS_PARENT_INSIDE).exists())
_NEWEST_FIRST: Final = (_CONVERSATIONS.c.ended_at.desc().nulls_last(), _CONVERSATIONS.c.id)

_SELECT: Final = select(_CONVERSATIONS)
_FIND: Final = _SELECT.where(_CONVERSATIONS.c.id.in_(_IDS))
# Written so that SQLite goes by the ids, as for memories.
_FIND_INSIDE: Final = _FIND.where(_CONVERSATIONS.c.project.concat("") == bindparam("project"))
_GET: Final = _SELECT.where(_CONVERSATIONS.c.id == bindparam("id"))
_GET_INSIDE: Final = _GET.where(_INSIDE)
_OF_KEYS: Final = _SELECT.where(_CONVERSATIONS.c.key.in_(_IDS))
_IDS_OF_KEYS: Final = select(_CONVERSATIONS.c.key, _CONVERSATIONS.c.id).where(_CONVERSATIONS.c.key.in_(_IDS))
_ANY_PAGE: Final = _SELECT.order_by(*_NEWEST_FIRST).limit(bindparam("most")).offset(bindparam("past"))
_PAGE: Final = _ANY_PAGE.where(_LISTED)
_PAGE_INSIDE: Final = _ANY_PAGE.where(_LISTED_INSIDE)
_TOTAL: Final = select(func.count()).select_from(_CONVERSATIONS).where(_LISTED)
_TOTAL_INSIDE: Final = select(func.count()).select_from(_CONVERSATIONS).where(_LISTED_INSIDE)
_SUBAGENTS: Final = _SELECT.where(_CONVERSATIONS.c.parent == bindparam("id")).order_by(
    _CONVERSATIONS.c.started_at, _CONVERSATIONS.c.id
)
_IN_PROJECT: Final = _SELECT.where(_INSIDE).order_by(_CONVERSATIONS.c.id)
_LENGTHS: Final = (
    select(_CONVERSATIONS.c.id, _CONVERSATIONS.c.turns)
    .where(_CONVERSATIONS.c.id >= bindparam("first"))
    .order_by(_CONVERSATIONS.c.id)
)
_LENGTHS_INSIDE: Final = _LENGTHS.where(_INSIDE)
_OLDER: Final = (
    select(_CONVERSATIONS.c.id)
    .where(_CONVERSATIONS.c.ended_at < bindparam("moment"), ~_CONVERSATIONS.c.is_live)
    .order_by(_CONVERSATIONS.c.ended_at, _CONVERSATIONS.c.id)
)
_TURNS_OF: Final = (
    select(_TURNS)
    .where(_TURNS.c.conversation == bindparam("conversation"))
    .order_by(_TURNS.c.number)
    .limit(bindparam("most"))
    .offset(bindparam("past"))
)
_TURNS_AT: Final = select(_TURNS).where(
    _TURNS.c.conversation == bindparam("conversation"),
    _TURNS.c.number.in_(bindparam("numbers", expanding=True)),
)
_TEXTS: Final = select(_PASSAGES.c.id, _PASSAGES.c.text).where(_PASSAGES.c.id.in_(_IDS))

# A time is kept as text that begins with the day, in UTC.
_DATE: Final[ColumnElement[str]] = func.substr(cast(_MESSAGES.c.at, String), 1, 10)
_TALK: Final = func.coalesce(_PARENT.c.id, _CONVERSATIONS.c.id)
_SAID: Final = _MESSAGES.join(_CONVERSATIONS, _CONVERSATIONS.c.id == _MESSAGES.c.conversation)
_ANY_DAYS: Final = (
    select(_DATE.label("date"), _TALK.label("talk"), func.count().label("messages"))
    .where(_MESSAGES.c.at >= bindparam("since"))
    .group_by(_DATE, _TALK)
    .order_by(_DATE.desc(), func.max(_MESSAGES.c.at).desc(), _TALK)
)
_DAYS: Final = _ANY_DAYS.select_from(_SAID.outerjoin(_PARENT, _IS_PARENT))
_DAYS_INSIDE: Final = _ANY_DAYS.select_from(_SAID.outerjoin(_PARENT, _IS_PARENT_INSIDE)).where(_INSIDE)
_COUNTS: Final = select(
    func.coalesce(func.sum(case((_CONVERSATIONS.c.parent == "", 1), else_=0)), 0).label("conversations"),
    func.coalesce(func.sum(case((_CONVERSATIONS.c.parent == "", 0), else_=1)), 0).label("subagents"),
    func.coalesce(func.sum(_CONVERSATIONS.c.turns), 0).label("turns"),
    func.coalesce(func.sum(_CONVERSATIONS.c.human_utterances), 0).label("human_utterances"),
    func.count(_CONVERSATIONS.c.source_gone_at).label("gone"),
)
_COUNTS_INSIDE: Final = _COUNTS.where(_INSIDE)
_MESSAGE_COUNT: Final = select(func.count()).select_from(_MESSAGES)
_MESSAGE_COUNT_INSIDE: Final = _MESSAGE_COUNT.join(
    _CONVERSATIONS, _CONVERSATIONS.c.id == _MESSAGES.c.conversation
).where(_INSIDE)
_TOUCH_COUNTS: Final = select(
    func.count(distinct(_TOUCHES.c.path)).label("files"), func.count().label("touches")
).group_by(_TOUCHES.c.project)
_TOUCH_COUNTS_INSIDE: Final = _TOUCH_COUNTS.where(_TOUCHES.c.project == bindparam("project"))


class PageFilters(TypedDict, total=False):
    """Which conversations are on a page: all that are said here hold together, None is not said."""

    interface_type: str | None
    room: str | None
    since: datetime | None  # ended at or after
    until: datetime | None  # ended at or before
    live: bool | None


class ConversationReads(MessageReads):
    """What is kept of conversations."""

    def get(self, scope: Scope, id: str) -> Conversation | None:
        """The conversation with this id."""
        row = self._within(scope, _GET, _GET_INSIDE, id=id).one_or_none()
        return conversation_of(row) if row else None

    def live(self, scope: Scope, id: str) -> Conversation:
        """The conversation with this id; raises `NotFound` when there is none."""
        conversation = self.get(scope, id)
        if conversation is None:
            inside, elsewhere = "", ""
            if isinstance(scope, Project):
                inside, elsewhere = " in this project", "; if it is in another project, name that"
            raise NotFound(
                f"there is no conversation {id}{inside}",
                hint=f"use an id that list_conversations gives{elsewhere}",
            )
        return conversation

    def find(self, scope: Scope, ids: Iterable[str]) -> Mapping[str, Conversation]:
        """Those of the ids that are conversations."""
        return {
            row.id: conversation_of(row)
            for page in batched(ids)
            for row in self._within(scope, _FIND, _FIND_INSIDE, ids=page)
        }

    def of_keys(self, keys: Iterable[str]) -> Mapping[str, Conversation]:
        """The conversations that have these keys in the index and in the graph."""
        return {row.key: conversation_of(row) for row in self._paged(_OF_KEYS, keys)}

    def ids_of_keys(self, keys: Iterable[str]) -> Mapping[str, str]:
        """The ids of the conversations that have these keys."""
        return {row.key: row.id for row in self._paged(_IDS_OF_KEYS, keys)}

    def page(
        self, scope: Scope, *, limit: int, offset: int, **only: Unpack[PageFilters]
    ) -> tuple[list[Conversation], int]:
        """Some conversations, the last that ended first, and how many there are in all.

        A subagent's is among them only if the one it worked for is not kept in the same scope.
        """
        wanted = list(_conditions(only))
        rows = self._within(scope, _PAGE.where(*wanted), _PAGE_INSIDE.where(*wanted), most=limit, past=offset)
        total = self._within(scope, _TOTAL.where(*wanted), _TOTAL_INSIDE.where(*wanted)).scalar_one()
        return [conversation_of(row) for row in rows], total

    def subagents(self, id: str) -> list[Conversation]:
        """The conversations of the subagents that worked for one, in the order they began."""
        return [conversation_of(row) for row in self._connection.execute(_SUBAGENTS, {"id": id})]

    def in_project(self, project: Project) -> Iterator[Conversation]:
        """Every conversation of a project, in the order of the ids."""
        for row in self._connection.execute(_IN_PROJECT, {"project": project.name}):
            yield conversation_of(row)

    def lengths(self, scope: Scope, *, first: str = "") -> list[tuple[str, int]]:
        """The ids of all conversations from one on, in their order, and how many turns each has."""
        rows = self._within(scope, _LENGTHS, _LENGTHS_INSIDE, first=first)
        return [(id, turns) for id, turns in rows]

    def older_than(self, moment: datetime) -> list[str]:
        """The conversations that ended before a moment, oldest first; of those that were read from files."""
        return list(self._connection.scalars(_OLDER, {"moment": moment}))

    def turns(self, id: str, *, offset: int, limit: int) -> list[TurnText]:
        """Some turns of a conversation in order, with their texts."""
        values = {"conversation": id, "most": limit, "past": offset}
        return self._with_texts(self._connection.execute(_TURNS_OF, values).all())

    def turn(self, id: str, number: int) -> TurnText | None:
        """One turn of a conversation, with its texts."""
        return self.turn_texts([(id, number)]).get((id, number))

    def turn_texts(self, pairs: Iterable[tuple[str, int]]) -> Mapping[tuple[str, int], TurnText]:
        """Turns by their conversation and number, with their texts."""
        wanted: dict[str, list[int]] = defaultdict(list)
        for conversation, number in pairs:
            wanted[conversation].append(number)
        # One conversation after the other: for pairs SQLite would read every turn there is.
        rows = [
            row
            for conversation, numbers in wanted.items()
            for row in self._connection.execute(_TURNS_AT, {"conversation": conversation, "numbers": numbers})
        ]
        return {(each.conversation, each.turn.number): each for each in self._with_texts(rows)}

    def timeline(self, scope: Scope, since: datetime) -> list[Day]:
        """The days since a moment on which something was said, newest first.

        What a subagent said counts for the conversation that it worked for, if that is kept in the scope.
        """
        days: dict[str, list[_AnyRow]] = defaultdict(list)
        for row in self._within(scope, _DAYS, _DAYS_INSIDE, since=since):
            days[row.date].append(row)
        return [
            Day(date, len(rows), sum(row.messages for row in rows), [row.talk for row in rows[:SAMPLES]])
            for date, rows in days.items()
        ]

    def counts(self, scope: Scope) -> ConversationCounts:
        """How much is kept."""
        row = self._within(scope, _COUNTS, _COUNTS_INSIDE).one()
        touches = self._within(scope, _TOUCH_COUNTS, _TOUCH_COUNTS_INSIDE).all()
        return ConversationCounts(
            conversations=row.conversations,
            subagents=row.subagents,
            turns=row.turns,
            messages=self._within(scope, _MESSAGE_COUNT, _MESSAGE_COUNT_INSIDE).scalar_one(),
            human_utterances=row.human_utterances,
            files_touched=sum(each.files for each in touches),
            touches=sum(each.touches for each in touches),
            gone=row.gone,
        )

    def _with_texts(self, rows: Sequence[_AnyRow]) -> list[TurnText]:
        turns = [(row.conversation, turn_of(row)) for row in rows]
        ids = [id for _, turn in turns for id in turn.messages.values()]
        texts = {row.id: row.text for row in self._paged(_TEXTS, ids)}
        return [
            TurnText(conversation, turn, {role: texts[id] for role, id in turn.messages.items()})
            for conversation, turn in turns
        ]

    def _within(
        self, scope: Scope, anywhere: _AnySelect, inside: _AnySelect, **values: object
    ) -> Result[*tuple[Any, ...]]:
        if isinstance(scope, Project):
            return self._connection.execute(inside, {"project": scope.name, **values})
        return self._connection.execute(anywhere, values)


def _conditions(only: PageFilters) -> Iterator[ColumnElement[bool]]:
    for name in ("interface_type", "room"):
        if (value := only.get(name)) is not None:
            yield _CONVERSATIONS.c[name] == value
    if since := only.get("since"):
        yield _CONVERSATIONS.c.ended_at >= since
    if until := only.get("until"):
        yield _CONVERSATIONS.c.ended_at <= until
    if (live := only.get("live")) is not None:
        yield _CONVERSATIONS.c.is_live if live else ~_CONVERSATIONS.c.is_live
