"""The graph: what is around something."""
