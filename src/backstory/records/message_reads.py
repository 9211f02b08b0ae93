"""Reading messages: their texts, what is known of them, and the files they touched.

Where they stand is read in `chain_reads`.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import BindParameter, Integer, Row, String, bindparam, cast, func, select

from backstory.model.conversation import Message, Role, Touch
from backstory.model.keeping import REACH, MessageCues, prose_of
from backstory.model.project import Project, Scope
from backstory.records import schema
from backstory.records.chain_reads import ChainReads
from backstory.records.conversation_rows import last_part, message_of
from backstory.records.paging import batched

_AnyRow = Row[*tuple[Any, ...]]

_CONVERSATIONS: Final = schema.conversations
_MESSAGES: Final = schema.messages
_TOUCHES: Final = schema.touches
_PASSAGES: Final = schema.passages

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_WITH_TEXT: Final = select(_MESSAGES, _PASSAGES.c.text).join(_PASSAGES, _PASSAGES.c.id == _MESSAGES.c.id)
_FIND: Final = _WITH_TEXT.where(_MESSAGES.c.id.in_(_IDS))
_OWN: Final = _WITH_TEXT.where(_MESSAGES.c.conversation == bindparam("conversation")).order_by(
    _MESSAGES.c.place, _MESSAGES.c.turn, _MESSAGES.c.role
)
# As texts: making 300 times and mappings one by one takes longer than to find the rows (1.6 against 1.2 ms).
_CUES: Final = (
    select(
        _MESSAGES.c.id,
        _MESSAGES.c.conversation,
        _MESSAGES.c.turn,
        _MESSAGES.c.role,
        _MESSAGES.c.speaker,
        cast(_MESSAGES.c.at, String),
        _CONVERSATIONS.c.is_between_people,
        cast(_MESSAGES.c.cues, String),
    )
    .join(_CONVERSATIONS, _CONVERSATIONS.c.id == _MESSAGES.c.conversation)
    .where(_MESSAGES.c.id.in_(_IDS))
)
_TERMS: Final = select(_PASSAGES.c.id, _PASSAGES.c.terms).where(_PASSAGES.c.id.in_(_IDS))
_NEAR: Final = _MESSAGES.alias("near")
_IS_NEAR: Final = (_NEAR.c.conversation == _MESSAGES.c.conversation) & _NEAR.c.place.between(
    _MESSAGES.c.place - REACH, _MESSAGES.c.place
)
_TERMS_AROUND: Final = (
    select(_MESSAGES.c.id, _NEAR.c.id.label("near"), _PASSAGES.c.terms)
    .join(_NEAR, _IS_NEAR)
    .join(_PASSAGES, _PASSAGES.c.id == _NEAR.c.id)
    .where(_MESSAGES.c.id.in_(_IDS), (_NEAR.c.role != Role.TOOL.value) | (_NEAR.c.id == _MESSAGES.c.id))
)
_TOUCHES_OF: Final = select(_TOUCHES).where(_TOUCHES.c.message.in_(_IDS)).order_by(_TOUCHES.c.path)
_FILES_OF: Final = (
    select(_TOUCHES.c.path, func.max(cast(_TOUCHES.c.changed, Integer)).label("changed"))
    .join(_MESSAGES, _MESSAGES.c.id == _TOUCHES.c.message)
    .where(_MESSAGES.c.conversation == bindparam("conversation"))
    .group_by(_TOUCHES.c.path)
    .order_by(_TOUCHES.c.path)
)
_FIRST_TOUCHES: Final = (
    select(_TOUCHES.c.path, func.min(_MESSAGES.c.at).label("at"))
    .join(_MESSAGES, _MESSAGES.c.id == _TOUCHES.c.message)
    .where(_TOUCHES.c.project == bindparam("project"))
    .group_by(_TOUCHES.c.path)
)
_FIRST_TOUCHES_OF: Final = _FIRST_TOUCHES.where(_TOUCHES.c.path.in_(bindparam("paths", expanding=True)))
_TOUCHING: Final = (
    select(_TOUCHES.c.message, _TOUCHES.c.path)
    .join(_MESSAGES, _MESSAGES.c.id == _TOUCHES.c.message)
    .where(_TOUCHES.c.name == bindparam("name"))
    .order_by(_MESSAGES.c.at.desc(), _TOUCHES.c.message)
)
_TOUCHING_INSIDE: Final = _TOUCHING.where(_TOUCHES.c.project == bindparam("project"))
# Written so that SQLite looks the name up in each project; it would read all touches otherwise.
_TOUCHING_ANYWHERE: Final = _TOUCHING.where(_TOUCHES.c.project.in_(select(schema.projects.c.name)))


class MessageReads(ChainReads):
    """What is kept of messages."""

    def messages(self, ids: Iterable[str]) -> Mapping[str, Message]:
        """Those of the ids that are messages, with their texts and what they touched."""
        return {message.id: message for message in self._with_touches(list(self._paged(_FIND, ids)))}

    def own_messages(self, conversation: str) -> list[Message]:
        """The messages that a conversation holds itself, in order; a fork's copies are the original's."""
        rows = self._connection.execute(_OWN, {"conversation": conversation}).all()
        return list(self._with_touches(rows))

    def cues(self, ids: Iterable[str]) -> Mapping[str, MessageCues]:
        """What is known of messages without reading their texts."""
        rows = list(self._paged(_CUES, ids))
        cues = json.loads(f"[{','.join(row[-1] for row in rows)}]")
        return {
            id: MessageCues(conversation, turn, role, speaker, _seconds(at), is_between_people, own)
            for (id, conversation, turn, role, speaker, at, is_between_people, _), own in zip(
                rows, cues, strict=True
            )
        }

    def all_terms(self, conversation: str) -> list[str]:
        """The terms of each prose message of a conversation, in order."""
        ids = [link.id for link in prose_of(self.chain(conversation))]
        terms = {row.id: row.terms for row in self._paged(_TERMS, ids)}
        return [terms[id] for id in ids]

    def terms_around(self, ids: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """The terms of each message, and after them those of the rest of its window."""
        around: dict[str, list[str]] = defaultdict(list)
        for row in self._paged(_TERMS_AROUND, ids):
            around[row.id].insert(0 if row.near == row.id else len(around[row.id]), row.terms)
        return around

    def files(self, conversation: str) -> list[Touch]:
        """Every file that a conversation's own messages touched, once."""
        rows = self._connection.execute(_FILES_OF, {"conversation": conversation})
        return [Touch(row.path, bool(row.changed)) for row in rows]

    def first_touches(self, project: Project, paths: Iterable[str] | None = None) -> Mapping[str, datetime]:
        """When each file of a project was touched first; of those paths, or of all that are touched."""
        if paths is None:
            rows = self._connection.execute(_FIRST_TOUCHES, {"project": project.name})
            return {row.path: row.at for row in rows}
        return {
            row.path: row.at
            for page in batched(paths)
            for row in self._connection.execute(_FIRST_TOUCHES_OF, {"project": project.name, "paths": page})
        }

    def touching(self, scope: Scope, path: str, limit: int) -> list[str]:
        """The messages that touched a file, newest first. It may be named by the last parts of its path."""
        found = dict.fromkeys(
            row.message
            for row in self._touches_named(scope, last_part(path))
            if _is_same_file(row.path, path)
        )
        return list(found)[:limit]

    def _touches_named(self, scope: Scope, name: str) -> Iterable[_AnyRow]:
        if isinstance(scope, Project):
            return self._connection.execute(_TOUCHING_INSIDE, {"name": name, "project": scope.name})
        return self._connection.execute(_TOUCHING_ANYWHERE, {"name": name})

    def _with_touches(self, rows: Sequence[_AnyRow]) -> Iterator[Message]:
        touches: dict[str, list[Touch]] = defaultdict(list)
        for row in self._paged(_TOUCHES_OF, [row.id for row in rows if row.role == Role.TOOL]):
            touches[row.message].append(Touch(row.path, row.changed))
        for row in rows:
            yield message_of(row, touches.get(row.id, []))


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()


def _is_same_file(known: str, asked: str) -> bool:
    """Whether one path is the other, or the end of it."""
    known, asked = (f"/{path.lower().strip('/')}" for path in (known, asked.replace("\\", "/")))
    return known.endswith(asked) or asked.endswith(known)
