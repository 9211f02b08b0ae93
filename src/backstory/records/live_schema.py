"""The tables of live conversations. All others are in `schema`, where these are found too."""

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint

from backstory.records.columns import UtcTime, metadata

#: Conversations that are written turn by turn. What search knows of them is in `conversations`, as of all.
live_conversations = Table(
    "live_conversations",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("project", String(500), nullable=False),
    Column("interface_type", String(100), nullable=False),
    Column("room", String(300), nullable=False),
    Column("title", Text, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("deleted_at", UtcTime),
    Column("turns", Integer, nullable=False),
    Column("summarized_to", Integer, nullable=False),
    # Those who ask which have to be summarized ask often, and find few.
    Column("unsummarized", Integer, nullable=False),
    Index("live_conversations_to_summarize", "unsummarized"),
)

#: Who is in a room: not in `live_conversations`, because deleted ones leave their rooms.
live_rooms = Table(
    "live_rooms",
    metadata,
    Column("project", String(500), primary_key=True),
    Column("interface_type", String(100), primary_key=True),
    Column("room", String(300), primary_key=True),
    Column("conversation", ForeignKey("live_conversations.id"), nullable=False, unique=True),
)

live_turns = Table(
    "live_turns",
    metadata,
    Column("conversation", ForeignKey("live_conversations.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("id", String(36), nullable=False),
    Column("query", Text, nullable=False),
    Column("response", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("user_id", String(300), nullable=False),
    Column("user_name", String(300), nullable=False),
    Column("parent", String(36), nullable=False),
    Column("thread", String(36), nullable=False),
    Column("metadata", JSON, nullable=False),
    UniqueConstraint("conversation", "id"),
)

live_summaries = Table(
    "live_summaries",
    metadata,
    Column("conversation", ForeignKey("live_conversations.id"), primary_key=True),
    Column("first_turn", Integer, primary_key=True, autoincrement=False),
    Column("last_turn", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("made_by", String(200), nullable=False),
    Column("note", Text, nullable=False),
    Column("at", UtcTime),
)
