"""Storages of live conversations: in memory, in the records, and in JSONL files."""
