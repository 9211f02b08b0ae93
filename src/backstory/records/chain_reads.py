"""Reading where messages stand: in which turns, in what order, and what is near them.

A conversation may have 100,000 turns. What is near a message is read without the rest of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Executable,
    Row,
    bindparam,
    case,
    select,
    union_all,
)

from backstory.model.conversation import Role
from backstory.model.keeping import REACH, Link, linked
from backstory.records import schema
from backstory.records.conversation_rows import MESSAGE_COLUMNS
from backstory.records.paging import batched

_AnyRow = Row[*tuple[Any, ...]]

#: Turns that are read although nobody asked for them, rather than to ask once more.
_BETWEEN: Final = 10

_TURNS: Final = schema.turns
_EARLIER: Final = _TURNS.alias("earlier")

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_OF: Final = _TURNS.c.conversation == bindparam("conversation")
_CHAIN: Final = (
    select(_TURNS.c.number, _TURNS.c.user_message, _TURNS.c.assistant_message, _TURNS.c.tool_message)
    .where(_OF)
    .order_by(_TURNS.c.number)
)
_NAMING: Final = union_all(
    *(
        select(_TURNS.c[column].label("id"), _TURNS.c.conversation, _TURNS.c.number).where(
            _TURNS.c[column].in_(_IDS)
        )
        for column in MESSAGE_COLUMNS.values()
    )
)


def _is_new(column: str) -> ColumnElement[bool]:
    """Whether a turn names a message that no earlier turn of its conversation names."""
    # Written so that SQLite goes by the message; by the conversation it would read all turns before this one.
    is_same_talk = _EARLIER.c.conversation.concat("") == _TURNS.c.conversation
    is_same = (_EARLIER.c[column] == _TURNS.c[column]) & is_same_talk
    earlier = select(_EARLIER.c.number).where(is_same, _EARLIER.c.number < _TURNS.c.number)
    return _TURNS.c[column].is_not(None) & ~earlier.exists()


_NEW: Final = {role: _is_new(column) for role, column in MESSAGE_COLUMNS.items()}
_HAS_PROSE: Final = _NEW[Role.USER] | _NEW[Role.ASSISTANT]
_NEAR: Final = (
    select(
        _TURNS.c.number, *(case((_NEW[role], _TURNS.c[MESSAGE_COLUMNS[role]])) for role in MESSAGE_COLUMNS)
    )
    .where(_OF, _TURNS.c.number >= bindparam("first"))
    .order_by(_TURNS.c.number)
)
_NEAR_UP_TO: Final = _NEAR.where(_TURNS.c.number <= bindparam("last"))
_PROSE: Final = select(_TURNS.c.number).where(_OF, _HAS_PROSE)
_PROSE_BEFORE: Final = (
    _PROSE.where(_TURNS.c.number < bindparam("first")).order_by(_TURNS.c.number.desc()).limit(REACH)
)
_PROSE_AFTER: Final = _PROSE.where(_TURNS.c.number > bindparam("last")).order_by(_TURNS.c.number).limit(1)


class ChainReads:
    """The order in which messages stand."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def chain(self, conversation: str) -> list[Link]:
        """All messages of a conversation in order, also those that another one holds."""
        rows = self._connection.execute(_CHAIN, {"conversation": conversation}).all()
        return linked((number, user, assistant, tool) for number, user, assistant, tool in rows)

    def stretches(self, conversation: str, turns: Iterable[int]) -> list[list[Link]]:
        """Parts of a conversation's chain that hold some turns, with all that is near their messages.

        Near are a message's window, the message before it and the one after it. Places count from the
        first message of each part.
        """
        return [self._part(conversation, *span) for span in self._spans(conversation, turns)]

    def standing(self, ids: Iterable[str]) -> Mapping[str, Mapping[str, int]]:
        """The turn in which each message stands, by conversation: its own, and forks of it."""
        standing: dict[str, dict[str, int]] = defaultdict(dict)
        for row in self._paged(_NAMING, ids):
            own = standing[row.conversation]
            own[row.id] = min(row.number, own.get(row.id, row.number))
        return dict(standing)

    def naming(self, ids: Iterable[str]) -> Mapping[str, list[str]]:
        """The conversations in which each message stands: its own, and forks of it."""
        naming: dict[str, list[str]] = defaultdict(list)
        for conversation, turns in sorted(self.standing(ids).items()):
            for id in turns:
                naming[id].append(conversation)
        return dict(naming)

    def _spans(self, conversation: str, turns: Iterable[int]) -> list[tuple[int, int | None]]:
        """The first and the last turn of each part, which do not overlap; None is the end."""
        spans: list[tuple[int, int | None]] = []
        for first, last in _runs(turns):
            begin, end = self._reach(conversation, first, last)
            before = spans[-1][1] if spans else 0
            if before is None or begin <= before:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((begin, end))
        return spans

    def _reach(self, conversation: str, first: int, last: int) -> tuple[int, int | None]:
        """From where to where turns are near these: as far as prose is in the window, and the next."""
        values = {"conversation": conversation, "first": first, "last": last}
        before = self._connection.scalars(_PROSE_BEFORE, values).all()
        after = self._connection.scalars(_PROSE_AFTER, values).first()
        return before[-1] if before else 1, after

    def _part(self, conversation: str, first: int, last: int | None) -> list[Link]:
        values = {"conversation": conversation, "first": first, "last": last}
        rows = self._connection.execute(_NEAR if last is None else _NEAR_UP_TO, values).all()
        return linked((number, user, assistant, tool) for number, user, assistant, tool in rows)

    def _paged(self, query: Executable, ids: Iterable[str]) -> Iterator[_AnyRow]:
        for page in batched(ids):
            yield from self._connection.execute(query, {"ids": page}).all()


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Numbers in their order, those that are close together as one."""
    run: tuple[int, int] | None = None
    for number in sorted(numbers):
        if run and number - run[1] <= _BETWEEN:
            run = (run[0], number)
            continue
        if run:
            yield run
        run = (number, number)
    if run:
        yield run
