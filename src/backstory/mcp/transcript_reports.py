"""What is told of all conversations together: what was read in, how much is kept, what was said when."""

from collections.abc import Mapping, Sequence
from typing import Final

from backstory.actions.transcripts.ingest import Ingested
from backstory.actions.transcripts.stats import ConversationStats
from backstory.mcp.answers import Answer
from backstory.model.conversation import Day
from backstory.model.project import Project, Scope

#: Errors told of one run of the index; a folder without permission makes one for each of its files.
MOST_ERRORS: Final = 20


class FileFailed(Answer):
    """A file that could not be read in."""

    path: str
    reason: str


class ConversationsIndexed(Answer):
    """What one run of the index did."""

    files_processed: int
    files_read: int
    files_unchanged: int
    files_gone: int
    files_too_old: int
    conversations: int
    turns_indexed: int
    messages_added: int
    messages_removed: int
    embeddings: int
    links: int
    redactions: Mapping[str, int] | None = None
    pending: int
    errors: Sequence[FileFailed] | None = None
    degraded: Sequence[str] | None = None
    notes: Sequence[str] | None = None

    @classmethod
    def of(cls, done: Ingested) -> "ConversationsIndexed":
        """What is told of a run."""
        failed = [FileFailed(path=str(each.path), reason=each.reason) for each in done.errors]
        notes = [f"{MOST_ERRORS} of {len(failed)} errors are shown"] if len(failed) > MOST_ERRORS else []
        if done.has_waited:
            notes.append("another run was waited for; what that one read is not counted here")
        return cls(
            files_processed=done.files,
            files_read=done.read,
            files_unchanged=done.unchanged,
            files_gone=done.gone,
            files_too_old=done.too_old,
            conversations=done.conversations,
            turns_indexed=done.turns,
            messages_added=done.messages_added,
            messages_removed=done.messages_removed,
            embeddings=done.embeddings,
            links=done.links,
            redactions=done.redactions or None,
            pending=done.pending,
            errors=failed[:MOST_ERRORS] or None,
            degraded=list(done.degraded) or None,
            notes=notes or None,
        )


class ConversationsCounted(Answer):
    """How much is kept of conversations. What is not of the project alone is of the whole store."""

    project: str
    conversations: int
    subagents: int
    turns: int
    messages: int
    human_utterances: int
    files_touched: int
    links: int
    sources_gone: int
    vectors: int | None = None
    graph_messages: int | None = None
    transcript_files: int
    failed_files: int
    capture_rate: float
    pending: Mapping[str, int]
    storage_bytes: Mapping[str, int]

    @classmethod
    def of(cls, stats: ConversationStats, project: str) -> "ConversationsCounted":
        """What is told of the counts."""
        counts = stats.counts
        return cls(
            project=project,
            conversations=counts.conversations,
            subagents=counts.subagents,
            turns=counts.turns,
            messages=counts.messages,
            human_utterances=counts.human_utterances,
            files_touched=counts.files_touched,
            links=counts.touches,
            sources_gone=counts.gone,
            vectors=stats.vectors,
            graph_messages=stats.graph_messages,
            transcript_files=stats.files,
            failed_files=stats.failed,
            capture_rate=round(stats.capture_rate, 4),
            pending=stats.pending,
            storage_bytes=stats.storage_bytes,
        )


class DayTold(Answer):
    """What was said on one day."""

    date: str
    conversations: int
    messages: int
    sample_ids: Sequence[str]

    @classmethod
    def of(cls, day: Day) -> "DayTold":
        """What is told of a day."""
        return cls(
            date=day.date,
            conversations=day.conversations,
            messages=day.messages,
            sample_ids=day.sample_ids,
        )


class Timeline(Answer):
    """The days on which something was said, newest first."""

    project: str
    days: Sequence[DayTold]
    notes: Sequence[str] | None = None


def scope_name(scope: Scope) -> str:
    """How an answer names what it is about."""
    return scope.name if isinstance(scope, Project) else scope.value
