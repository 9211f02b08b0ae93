"""Memories: kept, changed, read, found, compared, merged, deleted and brought back."""
