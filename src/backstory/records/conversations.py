"""Conversations: each is written whole, but only what differs is touched and marked, all or nothing.

A message that several conversations name (a fork is a copy) is held by the one that had it first. When
that one lets go of it, another that names it becomes its holder; when none is left, it goes. It is found
inside each of them: its passage is labelled with all, and the holder comes first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BindParameter, Select, bindparam, insert, select, update

from backstory.model.conversation import Conversation, KeptTurn
from backstory.model.graph import NodeType
from backstory.model.keeping import NewMessage, Replaced, chain_of, file_key, linked
from backstory.model.passage import Index, Passage
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.transcript import Title, TitleSource
from backstory.model.upkeep import Target
from backstory.records import schema
from backstory.records.conversation_growth import GrowingConversations
from backstory.records.conversation_states import Columns, State, to_index, to_label, to_link
from backstory.records.conversation_writes import ConversationWrites
from backstory.records.marks import Marks
from backstory.records.paging import IDS_AT_ONCE
from backstory.records.passages import Passages
from backstory.records.projects import Projects

_CONVERSATIONS: Final = schema.conversations
_MESSAGES: Final = schema.messages
_PASSAGES: Final = schema.passages
_TITLES: Final = schema.elsewhere_titles
_TOUCHES: Final = schema.touches
_TURNS: Final = schema.turns

_IDS: Final[BindParameter[str]] = bindparam("ids", expanding=True)
_ROW: Final = select(_CONVERSATIONS).where(_CONVERSATIONS.c.id == bindparam("of"))
_TURN_ROWS: Final = select(_TURNS).where(_TURNS.c.conversation == bindparam("of")).order_by(_TURNS.c.number)
_MESSAGE_ROWS: Final = select(_MESSAGES).where(_MESSAGES.c.conversation == bindparam("of"))
_TOUCH_ROWS: Final = (
    select(_TOUCHES)
    .join(_MESSAGES, _MESSAGES.c.id == _TOUCHES.c.message)
    .where(_MESSAGES.c.conversation == bindparam("of"))
)
_KNOWN: Final = select(_MESSAGES.c.id).where(_MESSAGES.c.id.in_(_IDS))
_HOLDERS: Final = (
    select(_MESSAGES.c.id, _MESSAGES.c.conversation, _PASSAGES.c.labels)
    .join(_PASSAGES, _PASSAGES.c.id == _MESSAGES.c.id)
    .where(_MESSAGES.c.id.in_(_IDS))
)
_LABELS: Final = (
    select(_CONVERSATIONS.c.id, _PASSAGES.c.labels)
    .join(_PASSAGES, _PASSAGES.c.id == _CONVERSATIONS.c.key)
    .where(_CONVERSATIONS.c.id.in_(_IDS))
)
# The labels alone: with its terms, a passage's words would be indexed anew.
_RELABEL: Final = update(_PASSAGES).where(_PASSAGES.c.id == bindparam("wanted"))
_MOVE: Final = update(_MESSAGES).where(_MESSAGES.c.id == bindparam("wanted"))
_RETITLE: Final = update(_CONVERSATIONS).where(_CONVERSATIONS.c.id == bindparam("wanted"))
_MARK_GONE: Final = update(_CONVERSATIONS).where(_CONVERSATIONS.c.source == bindparam("file"))
_TITLES_OF: Final = select(_TITLES).where(_TITLES.c.leaf.in_(_IDS))
_INSERT_TITLE: Final = insert(_TITLES)
_UPDATE_TITLE: Final = update(_TITLES).where(_TITLES.c.leaf == bindparam("wanted"))
_TITLED: Final = (
    select(_TURNS.c.last_uuid, _CONVERSATIONS.c.id)
    .join(_CONVERSATIONS, _CONVERSATIONS.c.id == _TURNS.c.conversation)
    .where(_TURNS.c.last_uuid.in_(_IDS), ~_CONVERSATIONS.c.is_live)
    .where(_CONVERSATIONS.c.title_source.in_([TitleSource.SLUG, TitleSource.FIRST_WORDS, TitleSource.NONE]))
    .order_by(_CONVERSATIONS.c.id, _TURNS.c.number)
)


class Conversations(GrowingConversations):
    """What was said between people and agents."""

    def replace(
        self,
        conversation: Conversation,
        turns: Sequence[KeptTurn],
        messages: Sequence[NewMessage],
        passage: Passage,
    ) -> Replaced:
        """Let a conversation be this one; what is as it was is neither written nor marked.

        `passage` is the conversation's own, under its key. `messages` are all that its turns name.
        """
        before = self._state(conversation.id)
        if before.passage and before.passage.id != passage.id:  # it belongs to another project now
            self.forget([conversation.id])
            before = State()
        ids = [link.id for link in chain_of(turns)]
        given = {new.message.id: new for new in messages}
        elsewhere = {row.id for row in self._paged(_KNOWN, set(ids) - before.messages.keys())}
        own = {id: given[id] for id in ids if id not in elsewhere}
        Projects(self._connection).enter(conversation.project)
        removed = self._rewrite(before, State.wanted(conversation, passage, turns, own), own)
        added = len(own.keys() - before.messages.keys())
        return Replaced(added, removed, len(ids) - added)

    def forget(self, ids: Iterable[str]) -> None:
        """Let conversations be no more; messages that others name stay with them."""
        for id, conversation in self.find(ALL_PROJECTS, ids).items():
            if not conversation.is_live:
                self._rewrite(self._state(id), State(), {})
            while conversation.is_live and self.shorten(id, IDS_AT_ONCE):
                pass

    def mark_gone(self, path: str, at: datetime | None) -> None:
        """Note since when the file that conversations were read from is not there; None: it is there."""
        self._connection.execute(_MARK_GONE, {"file": path, "source_gone_at": at})

    def titles_elsewhere(self, leaves: Iterable[str]) -> Mapping[str, str]:
        """The titles that other transcripts hold, by the uuid of a record."""
        return {row.leaf: row.title for row in self._paged(_TITLES_OF, leaves)}

    def keep_titles(self, titles: Mapping[str, str]) -> list[Conversation]:
        """Keep titles by the uuid of a record; the conversations, retitled, that have no better one.

        Those have still to be written, with `retitle`.
        """
        known = self.titles_elsewhere(titles)
        if new := [{"leaf": leaf, "title": titles[leaf]} for leaf in titles if leaf not in known]:
            self._connection.execute(_INSERT_TITLE, new)
        if other := [
            {"wanted": leaf, "title": titles[leaf]} for leaf in known if known[leaf] != titles[leaf]
        ]:
            self._connection.execute(_UPDATE_TITLE, other)
        found = {row.id: titles[row.last_uuid] for row in self._paged(_TITLED, titles)}
        return [
            replace(conversation, title=Title(found[id], TitleSource.SUMMARY))
            for id, conversation in self.find(ALL_PROJECTS, found).items()
        ]

    def retitle(self, conversation: Conversation, passage: Passage) -> None:
        """Give a conversation its new title, and the passage made from it."""
        title = {"title": conversation.title.text, "title_source": conversation.title.source.value}
        self._connection.execute(_RETITLE, {"wanted": conversation.id, **title})
        Passages(self._connection).replace(passage)
        marks = Marks(self._connection)
        marks.set(
            passage.id,
            {Target.VECTORS: Index.SESSIONS, Target.GRAPH: NodeType.CONVERSATION},
            passage.project.name,
        )

    def _state(self, id: str) -> State:
        row = self._connection.execute(_ROW, {"of": id}).one_or_none()
        if row is None:
            return State()
        turns = self._rows(_TURN_ROWS, id)
        return State(
            row._asdict(),
            Passages(self._connection).find([row.key])[row.key],
            {turn["number"]: turn for turn in turns},
            {message["id"]: message for message in self._rows(_MESSAGE_ROWS, id)},
            {(touch["message"], touch["path"]): touch for touch in self._rows(_TOUCH_ROWS, id)},
            linked(
                (turn["number"], turn["user_message"], turn["assistant_message"], turn["tool_message"])
                for turn in turns
            ),
        )

    def _rows(self, query: Select[*tuple[Any, ...]], id: str) -> list[dict[str, Any]]:
        found = self._connection.execute(query, {"of": id})
        names = list(found.keys())
        return [dict(zip(names, row, strict=True)) for row in found.all()]

    def _rewrite(self, before: State, after: State, own: Mapping[str, NewMessage]) -> int:
        """Bring a conversation from one state to another; how many messages are no more."""
        either = after.passage or before.passage
        if either is None or before == after:
            return 0
        dropped = {id: row for id, row in before.messages.items() if id not in after.messages}
        heirs = self._hand_over(dropped)
        left = before.without(set().union(*heirs.values()))
        ConversationWrites(self._connection).write(left, after, {id: own[id].passage for id in own})
        relabelled = self._relabel(to_label(before, after))
        marks = {
            (Target.VECTORS, Index.SESSIONS.value): [either.id],
            (Target.GRAPH, NodeType.CONVERSATION.value): [either.id, *heirs],
            (Target.VECTORS, Index.TURNS.value): to_index(before, after) | relabelled,
            (Target.GRAPH, NodeType.CONVERSATION_MESSAGE.value): to_link(before, after),
            (Target.GRAPH, NodeType.FILE.value): _left_files(before, after, either.project),
        }
        Marks(self._connection).set_all(marks, either.project)
        return len(dropped) - sum(map(len, heirs.values()))

    def _hand_over(self, held: Mapping[str, Columns]) -> Mapping[str, Set[str]]:
        """Give messages to other conversations that name them; to which, by their keys, and what."""
        heirs: dict[str, set[str]] = defaultdict(set)
        for id, naming in self.naming(held).items():
            if others := [each for each in naming if each != held[id]["conversation"]]:
                heirs[others[0]].add(id)
        return {self._take_over(heir, inherited): inherited for heir, inherited in heirs.items()}

    def _take_over(self, heir: str, ids: Set[str]) -> str:
        """Let a conversation hold messages that it names; its key."""
        self._connection.execute(
            _MOVE,
            [
                {"wanted": link.id, "conversation": heir, "turn": link.turn, "place": link.place}
                for link in self.chain(heir)
                if link.id in ids
            ],
        )
        key: str = self._connection.execute(_ROW, {"of": heir}).one().key
        return key

    def _relabel(self, ids: Set[str]) -> set[str]:
        """Label messages with the conversations that name them now; those that had other labels."""
        naming = self.naming(ids)
        labels = {row.id: row.labels for row in self._paged(_LABELS, set().union(*naming.values()))}
        other: dict[str, Mapping[str, list[str]]] = {}
        for id, holder, known in self._paged(_HOLDERS, ids):
            own = sorted(naming[id], key=lambda each: (each != holder, each))
            inside = dict.fromkeys(name for each in own for name in labels[each]["conversation"])
            wanted = {**known, **labels[holder], "conversation": list(inside)}
            if wanted != known:
                other[id] = wanted
        if other:
            rows = [{"wanted": id, "labels": wanted} for id, wanted in other.items()]
            self._connection.execute(_RELABEL, rows)
        return set(other)


def _left_files(before: State, after: State, project: Project) -> set[str]:
    """Files that a message held here does not touch any more; an edge to them, or they, may have to go."""
    return {file_key(project, path) for _, path in before.touches.keys() - after.touches.keys()}
