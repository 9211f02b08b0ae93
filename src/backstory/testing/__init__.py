"""Engines for tests, shipped so that you can test what you build on Backstory without files or models."""

from backstory.testing.vectors import InMemoryVectorStore

__all__ = ["InMemoryVectorStore"]
