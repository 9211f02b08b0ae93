"""Turning the rows of one state of a conversation into those of another, touching what differs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, Executable, bindparam, delete, insert, update

from backstory.model.passage import Passage
from backstory.records import schema
from backstory.records.conversation_states import Columns, State, differing, reworded
from backstory.records.paging import batched
from backstory.records.passages import Passages

_CONVERSATIONS: Final = schema.conversations
_MESSAGES: Final = schema.messages
_TOUCHES: Final = schema.touches
_TURNS: Final = schema.turns

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_INSERT: Final = insert(_CONVERSATIONS)
_UPDATE: Final = update(_CONVERSATIONS).where(_CONVERSATIONS.c.id == bindparam("wanted"))
_DELETE: Final = delete(_CONVERSATIONS).where(_CONVERSATIONS.c.id == bindparam("wanted"))
_INSERT_TURN: Final = insert(_TURNS)
_DELETE_TURN: Final = delete(_TURNS).where(
    _TURNS.c.conversation == bindparam("of"), _TURNS.c.number == bindparam("gone")
)
_INSERT_MESSAGE: Final = insert(_MESSAGES)
_UPDATE_MESSAGE: Final = update(_MESSAGES).where(_MESSAGES.c.id == bindparam("wanted"))
_DELETE_MESSAGES: Final = delete(_MESSAGES).where(_MESSAGES.c.id.in_(_IDS))
_INSERT_TOUCH: Final = insert(_TOUCHES)
_DELETE_TOUCH: Final = delete(_TOUCHES).where(
    _TOUCHES.c.message == bindparam("of"), _TOUCHES.c.path == bindparam("gone")
)


def rewrite(connection: Connection, conversation: Columns) -> None:
    """Let the row of a conversation be this one."""
    # Without what names it: SQLite would go through all its turns and messages, to see that they still do.
    columns = {name: value for name, value in conversation.items() if name not in ("id", "key")}
    connection.execute(_UPDATE, {"wanted": conversation["id"], **columns})


class ConversationWrites:
    """Writes conversations in the order that their references allow."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._passages = Passages(connection)

    def write(self, before: State, after: State, passages: Mapping[str, Passage]) -> None:
        """Let the rows be those of another state; `passages` are those of its messages."""
        self._add_passages(before, after, passages)
        self._write_conversation(before, after)
        self._remove_touches(before, after)
        self._write_messages(before, after)
        self._add_touches(before, after)
        self._write_turns(before, after)
        self._remove_passages(before, after)

    def _add_passages(self, before: State, after: State, passages: Mapping[str, Passage]) -> None:
        new = [passages[id] for id in after.messages if id not in before.messages]
        other = [passages[id] for id in reworded(before, after)]
        if after.passage and after.passage != before.passage:
            (other if before.passage else new).append(after.passage)
        self._passages.add_all(new)
        self._passages.replace_all(other)

    def _write_conversation(self, before: State, after: State) -> None:
        if after.conversation is None or after.conversation == before.conversation:
            return
        if before.conversation is None:
            self._connection.execute(_INSERT, after.conversation)
        else:
            rewrite(self._connection, after.conversation)

    def _remove_touches(self, before: State, after: State) -> None:
        gone = [key for key in differing(before.touches, after.touches) if key in before.touches]
        self._run(_DELETE_TOUCH, [{"of": message, "gone": path} for message, path in gone])

    def _write_messages(self, before: State, after: State) -> None:
        for page in batched(before.messages.keys() - after.messages.keys()):
            self._connection.execute(_DELETE_MESSAGES, {"ids": page})
        changed = differing(before.messages, after.messages)
        written = [row for id, row in after.messages.items() if id in changed]
        self._run(_INSERT_MESSAGE, [row for row in written if row["id"] not in before.messages])
        moved = [{"wanted": row["id"], **row} for row in written if row["id"] in before.messages]
        self._run(_UPDATE_MESSAGE, moved)

    def _add_touches(self, before: State, after: State) -> None:
        changed = differing(before.touches, after.touches)
        self._run(_INSERT_TOUCH, [row for key, row in after.touches.items() if key in changed])

    def _write_turns(self, before: State, after: State) -> None:
        changed = differing(before.turns, after.turns)
        gone = [before.turns[number] for number in changed if number in before.turns]
        self._run(_DELETE_TURN, [{"of": row["conversation"], "gone": row["number"]} for row in gone])
        self._run(_INSERT_TURN, [row for number, row in after.turns.items() if number in changed])

    def _remove_passages(self, before: State, after: State) -> None:
        gone = [id for id in before.messages if id not in after.messages]
        if before.conversation and after.conversation is None:
            self._connection.execute(_DELETE, {"wanted": before.conversation["id"]})
            gone.append(before.conversation["key"])
        self._passages.remove(gone)

    def _run(self, statement: Executable, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            self._connection.execute(statement, rows)
