"""Memories: add, get, search, update, delete."""
