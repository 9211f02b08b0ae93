"""Vectors and words in Qdrant Edge: Qdrant's engine inside this process, a folder for each index."""

from backstory.adapters.qdrant_edge.store import QdrantEdgeVectorStore

__all__ = ["QdrantEdgeVectorStore"]
