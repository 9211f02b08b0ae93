"""The types of memories: which fields each has, what they may hold, and what they link to.

A type is one file in `declared`, and a new one needs nothing else. A type's fields are checked, completed
and described from that declaration alone, so the three cannot disagree. Fields are kept in a memory's
metadata, which stays open: keys that no field has are kept as they are.
"""
