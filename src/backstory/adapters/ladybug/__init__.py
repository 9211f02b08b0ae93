"""The graph on Ladybug, an embedded Cypher database: one database file for each graph."""

from backstory.adapters.ladybug.store import LadybugGraphStore

__all__ = ["LadybugGraphStore"]
