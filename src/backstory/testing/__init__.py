"""Engines that need no disk and a deterministic embedder, for the tests of whoever builds on Backstory."""

from backstory.testing.embedder import WordEmbedder as WordEmbedder
from backstory.testing.graph import InMemoryGraphStore as InMemoryGraphStore
from backstory.testing.vectors import InMemoryVectorStore as InMemoryVectorStore
