"""The tables, in a form that SQLite and PostgreSQL both understand.

Words are indexed beside these tables, in `keywords`: that part is the engine's own.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    false,
)

from backstory.records.columns import BigId, UtcTime
from backstory.records.columns import metadata as metadata
from backstory.records.live_schema import live_conversations as live_conversations
from backstory.records.live_schema import live_rooms as live_rooms
from backstory.records.live_schema import live_summaries as live_summaries
from backstory.records.live_schema import live_turns as live_turns

#: Facts about the store itself: schema version, its id, the last revision given out.
store = Table(
    "store",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("name", String(500), primary_key=True),
    Column("created_at", UtcTime, nullable=False),
)

#: The text of every retrievable thing, once. `terms` is empty when the thing is not to be found.
passages = Table(
    "passages",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("index_name", String(32), nullable=False),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("text", Text, nullable=False),
    Column("terms", Text, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("numbers", JSON, nullable=False),
    Column("live", Boolean, nullable=False),
    Index("passages_by_index", "index_name", "number"),
    sqlite_autoincrement=True,
)

memories = Table(
    "memories",
    metadata,
    Column("id", ForeignKey("passages.id"), primary_key=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("type", String(32), nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("importance", Float, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("deleted_at", UtcTime),
    Index("memories_by_type", "project", "type"),
)

#: What a memory was before each of its updates.
memory_versions = Table(
    "memory_versions",
    metadata,
    Column("memory_id", ForeignKey("memories.id"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("importance", Float, nullable=False),
    Column("written_at", UtcTime, nullable=False),
)

#: Apart from `memories`, so that counting a read never touches the memory itself.
memory_use = Table(
    "memory_use",
    metadata,
    Column("memory_id", ForeignKey("memories.id"), primary_key=True),
    Column("access_count", Integer, nullable=False),
    Column("last_used_at", UtcTime, nullable=False),
)

#: Outlives what it speaks of, hence no foreign key.
audit = Table(
    "audit",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("project", String(500), nullable=False),
    Column("subject", String(36), nullable=False),
    Column("operation", String(32), nullable=False),
    Column("version", Integer, nullable=False),
    Column("at", UtcTime, nullable=False),
    # What it was done with: the memories that were merged, the version that was gone back to.
    Column("details", JSON(none_as_null=True)),
    Index("audit_by_subject", "subject", "number"),
    sqlite_autoincrement=True,
)

#: `to_id` is empty while only the name of the other end is known.
links = Table(
    "links",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("from_id", String(36), nullable=False),
    Column("type", String(32), nullable=False),
    Column("to_id", String(36)),
    Column("to_name", Text),
    Column("certainty", Float, nullable=False),
    Column("owner", Text, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("metadata", JSON, nullable=False),
    # The field of its owner that asks for a link; nothing for one that was asked for by itself.
    Column("field", String(64), nullable=False, server_default=""),
    Index("links_once", "from_id", "type", "to_id", unique=True),
    Index("links_by_end", "to_id"),
    Index("links_by_owner", "owner"),
    Index("links_by_project", "project", "number"),
    sqlite_autoincrement=True,
)

#: What a memory can be named by, beside its id: the id of a requirement, the name of a component.
memory_names = Table(
    "memory_names",
    metadata,
    Column("project", ForeignKey("projects.name"), primary_key=True),
    Column("name", String(500), primary_key=True),
    Column("memory_id", ForeignKey("memories.id"), primary_key=True),
    Index("memory_names_by_memory", "memory_id"),
)

#: Whom the fields of a memory name, whether there is such a one or not. Links are made of those there are.
memory_references = Table(
    "memory_references",
    metadata,
    Column("memory_id", ForeignKey("memories.id"), primary_key=True),
    Column("field", String(64), primary_key=True),
    Column("name", String(500), primary_key=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Index("memory_references_by_name", "project", "name"),
)

#: Memories that were made one. `before` is what undoing it needs: the links as they were.
merges = Table(
    "merges",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("kept_id", ForeignKey("memories.id"), nullable=False),
    Column("version", Integer, nullable=False),  # of the kept one, after it
    Column("folded", JSON, nullable=False),
    Column("before", JSON, nullable=False),
    Column("why", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("undone_at", UtcTime),
    Index("merges_by_project", "project", "at"),
    Index("merges_by_kept", "kept_id"),
)

#: Files that were read, and how far. A path is relative to its repository.
sources = Table(
    "sources",
    metadata,
    Column("project", ForeignKey("projects.name"), primary_key=True),
    Column("path", String(4096), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("read_to", BigInteger, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("changed_at", UtcTime, nullable=False),
    Column("gone_at", UtcTime),
)

#: What was said, conversation by conversation. `key` names it in the index and in the graph.
conversations = Table(
    "conversations",
    metadata,
    Column("id", String(300), primary_key=True),
    Column("key", ForeignKey("passages.id"), nullable=False, unique=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("parent", String(300), nullable=False),
    Column("interface_type", String(100), nullable=False),
    Column("title", Text, nullable=False),
    Column("title_source", String(16), nullable=False),
    Column("slug", String(200), nullable=False),
    Column("folder", Text, nullable=False),
    Column("git_branches", JSON, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("started_at", UtcTime),
    Column("ended_at", UtcTime),
    Column("turns", Integer, nullable=False),
    Column("messages", Integer, nullable=False),
    Column("human_utterances", Integer, nullable=False),
    Column("is_between_people", Boolean, nullable=False),
    Column("usage", JSON, nullable=False),
    Column("room", String(300), nullable=False, server_default=""),
    Column("is_live", Boolean, nullable=False, server_default=false()),
    Column("source", Text, nullable=False),
    Column("source_gone_at", UtcTime),
    Index("conversations_by_end", "project", "ended_at"),
    Index("conversations_by_parent", "parent"),
    Index("conversations_by_room", "room"),
)

turns = Table(
    "turns",
    metadata,
    Column("conversation", ForeignKey("conversations.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("started_at", UtcTime),
    Column("ended_at", UtcTime),
    Column("branch", Integer, nullable=False),
    Column("is_sidechain", Boolean, nullable=False),
    Column("commands", JSON, nullable=False),
    Column("tool_calls", JSON, nullable=False),
    Column("usage", JSON, nullable=False),
    Column("last_uuid", String(100), nullable=False),
    Column("user_message", String(36)),
    Column("assistant_message", String(36)),
    Column("tool_message", String(36)),
    Index("turns_by_last_uuid", "last_uuid"),
    Index("turns_by_user_message", "user_message"),
    Index("turns_by_assistant_message", "assistant_message"),
    Index("turns_by_tool_message", "tool_message"),
)

#: The unit that is searched; its text is in its passage. A fork's copies are the first one's messages.
messages = Table(
    "messages",
    metadata,
    Column("id", ForeignKey("passages.id"), primary_key=True),
    Column("conversation", ForeignKey("conversations.id"), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("role", String(16), nullable=False),
    Column("speaker", String(200), nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("cues", JSON, nullable=False),  # what ranking wants to know of it, computed once
    Index("messages_by_place", "conversation", "place"),
    Index("messages_by_time", "at"),
)

#: Which files the tool calls of a message read or changed.
touches = Table(
    "touches",
    metadata,
    Column("message", ForeignKey("messages.id"), primary_key=True),
    Column("path", String(4096), primary_key=True),
    Column("project", ForeignKey("projects.name"), nullable=False),
    Column("name", String(300), nullable=False),  # its last part, in lower case
    Column("changed", Boolean, nullable=False),
    Index("touches_by_name", "project", "name"),
    Index("touches_by_path", "project", "path"),
)

#: Files of transcripts, how far they were read, and how that went.
transcript_files = Table(
    "transcript_files",
    metadata,
    Column("path", String(4096), primary_key=True),
    Column("conversation", String(300), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("inode", String(32), nullable=False),  # it may have 64 bits and no sign
    Column("modified_ns", BigInteger, nullable=False),
    Column("consumed", BigInteger, nullable=False),
    Column("prefix_hash", String(64), nullable=False),
    Column("read_at", UtcTime, nullable=False),
    Column("gone_at", UtcTime),
    Column("records", Integer, nullable=False),
    Column("repaired", Integer, nullable=False),
    Column("unreadable", Integer, nullable=False),
    Column("failure", Text),  # why it could not be read, the last time
    Index("transcript_files_by_conversation", "conversation"),
)

#: Titles that one transcript holds for another, by the uuid of a record of the other.
elsewhere_titles = Table(
    "elsewhere_titles",
    metadata,
    Column("leaf", String(100), primary_key=True),
    Column("title", Text, nullable=False),
)

#: What projections have still to see. Refused ones wait for a change or a rebuild.
marks = Table(
    "marks",
    metadata,
    Column("target", String(16), primary_key=True),
    Column("subject", String(36), primary_key=True),
    Column("place", String(32), nullable=False),
    Column("project", String(500), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("refusal", Text),
    Index("marks_in_order", "target", "revision"),
    Index("marks_by_project", "target", "project", "revision"),
)

generations = Table(
    "generations",
    metadata,
    Column("target", String(32), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("fingerprint", String(200), nullable=False),
    Column("state", String(16), nullable=False),
    Column("built_to", BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
)
