"""One transcript file into the records: all of it, with how far it was read, in one transaction.

Which files to look at, and letting search find what was stored, is left to `ingest`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from backstory.actions.transcripts.keeping import Kept, Origin, keep
from backstory.actions.transcripts.origins import origin_of, origin_of_agent, session_id
from backstory.actions.transcripts.reading import Contents, hold, look, read_contents
from backstory.engine import Engine, Transaction
from backstory.model.conversation import Conversation
from backstory.model.keeping import FileState, Replaced, key_of
from backstory.model.live import ConversationNews
from backstory.model.passage import Passage
from backstory.model.project import ALL_PROJECTS, Scope, is_inside
from backstory.model.transcript import Title, TitleSource
from backstory.ranking.turns import conversation_passage
from backstory.transcripts.discovery import TranscriptFile, Unreadable
from backstory.transcripts.reader import read_transcript
from backstory.transcripts.sources import Gone, Source, Unchanged

#: Titles that give way to one that another transcript holds.
_POOR_TITLES: Final = (TitleSource.SLUG, TitleSource.FIRST_WORDS, TitleSource.NONE)


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of reading a file: its conversation, and those of subagents that it tells of."""

    conversations: int = 0
    turns: int = 0
    added: int = 0
    removed: int = 0
    links: int = 0  # from message to message, and to files
    redactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Foreign:
    """The file belongs to another project than the one asked for; nothing of it was stored."""


Outcome = Taken | Unchanged | Foreign | Gone | Unreadable


def take_in(engine: Engine, file: TranscriptFile, known: FileState | None, scope: Scope) -> Outcome:
    """Store what is new in a file. Raises `OSError` when it breaks while it is read."""
    if known and known.gone_at:  # it is back, and its conversation may be another file's by now
        known = None
    seen = look(_source(known) if known else None, file.path, engine.recently_read)
    if isinstance(seen, Gone | Unreadable):
        return seen
    if isinstance(seen, Unchanged):
        _remember_unchanged(engine, known, seen.source)
        return seen
    contents = read_contents(seen, engine.recently_read)
    with engine.records.reading() as records:
        sessions = _kept(records, file, known, contents)
    if not is_inside(scope, sessions[0].origin.project):
        return Foreign()
    with engine.records.writing() as records:
        taken, news = _write(records, sessions)
        records.transcript_files.put(_state(contents, sessions[0]))
    hold(replace(contents, kept=sessions[0]), engine.recently_read)
    for each in news:
        engine.changes.tell(each)
    return taken


def note_failure(engine: Engine, path: Path, known: FileState | None, reason: str) -> None:
    """Remember why a file could not be read; it will be tried again."""
    if known and known.failure == reason:
        return
    state = known or FileState(str(path), "", 0, 0, -1, 0, "", datetime.now(UTC))
    with engine.records.writing() as records:
        records.transcript_files.put(replace(state, failure=reason))


def note_gone(engine: Engine, known: FileState) -> None:
    """Remember that a file is not there any more; what was said in it stays."""
    now = datetime.now(UTC)
    with engine.records.writing() as records:
        records.transcript_files.gone(known.path, now)
        records.conversations.mark_gone(known.path, now)


def _kept(
    records: Transaction, file: TranscriptFile, known: FileState | None, contents: Contents
) -> Sequence[Kept]:
    """What is to be stored of a file: of its own session first, then of the subagents that it tells of."""
    reading = read_transcript(contents.lines, id=session_id(file), agent=file.agent_id or "")
    main = origin_of(records, file, known, reading)
    changed_at = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    kept = [keep(reading.session, main, changed_at, contents.kept)]
    for agent in reading.agents:
        origin = origin_of_agent(records, main, agent)
        present = records.conversations.get(ALL_PROJECTS, origin.id)
        if present is None or present.source == main.source:  # else it has a file of its own
            kept.append(keep(agent, origin, changed_at))
    return kept


def _write(records: Transaction, sessions: Sequence[Kept]) -> tuple[Taken, Sequence[ConversationNews]]:
    told = [each for each in sessions if each.turns]
    forgotten = _not_told(records, sessions[0].origin, {each.origin.id for each in told})
    ids = [*forgotten, *(each.origin.id for each in told)]
    before = records.conversations.find(ALL_PROJECTS, ids)
    records.conversations.forget(forgotten)
    written = [_replace(records, each) for each in told]
    news = _news(before, records.conversations.find(ALL_PROJECTS, ids))
    titles = {leaf: title for each in sessions for leaf, title in each.titles.items()}
    for retitled in records.conversations.keep_titles(titles):
        records.conversations.retitle(retitled, _passage(retitled))
        news.append(ConversationNews(retitled.id))
    taken = Taken(
        conversations=len(told),
        turns=sum(len(each.turns) for each in told),
        added=sum(each.added for each in written),
        removed=sum(each.removed for each in written),
        links=sum(map(_links, told)),
        redactions=sum((Counter(each.redactions) for each in sessions), Counter()),
    )
    return taken, news


def _news(before: Mapping[str, Conversation], after: Mapping[str, Conversation]) -> list[ConversationNews]:
    return [
        ConversationNews(id, is_listed_anew=id not in before or id not in after)
        for id in {**before, **after}
        if before.get(id) != after.get(id)
    ]


def _not_told(records: Transaction, main: Origin, told: Set[str]) -> list[str]:
    """Conversations that were read from this file, and of which it tells nothing any more."""
    own = records.conversations.get(ALL_PROJECTS, main.id)
    candidates = [*([own] if own else []), *records.conversations.subagents(main.id)]
    return [each.id for each in candidates if each.source == main.source and each.id not in told]


def _replace(records: Transaction, kept: Kept) -> Replaced:
    conversation = _titled(records, kept)
    return records.conversations.replace(conversation, kept.turns, kept.messages, _passage(conversation))


def _titled(records: Transaction, kept: Kept) -> Conversation:
    """The conversation, with the title that another transcript holds for it if it has no good one."""
    if kept.conversation.title.source not in _POOR_TITLES:
        return kept.conversation
    leaves = [turn.last_uuid for turn in kept.turns if turn.last_uuid]
    titles = records.conversations.titles_elsewhere(leaves)
    latest = next((titles[leaf] for leaf in reversed(leaves) if leaf in titles), "")
    return (
        replace(kept.conversation, title=Title(latest, TitleSource.SUMMARY)) if latest else kept.conversation
    )


def _passage(conversation: Conversation) -> Passage:
    return conversation_passage(conversation, key_of(conversation.project, conversation.id))


def _links(kept: Kept) -> int:
    touched = sum(len(new.message.touches) for new in kept.messages)
    return touched + max(0, len(kept.messages) - 1)


def _remember_unchanged(engine: Engine, known: FileState | None, source: Source) -> None:
    """Keep how a file looks, if that is other than before: the next look compares with it."""
    if known and (known.failure or source != _source(known)):
        looks = replace(known, size=source.size, inode=source.inode, modified_ns=source.modified_ns)
        with engine.records.writing() as records:
            records.transcript_files.put(replace(looks, failure=None))


def _source(known: FileState) -> Source:
    return Source(
        Path(known.path), known.size, known.inode, known.modified_ns, known.consumed, known.prefix_hash
    )


def _state(contents: Contents, main: Kept) -> FileState:
    source, lines = contents.source, contents.lines
    return FileState(
        path=str(source.path),
        conversation=main.origin.id if main.turns else "",
        size=source.size,
        inode=source.inode,
        modified_ns=source.modified_ns,
        consumed=source.consumed,
        prefix_hash=source.prefix_hash,
        read_at=datetime.now(UTC),
        records=len(lines.records),
        repaired=lines.repaired,
        unreadable=lines.unreadable,
    )
