"""Documents: what they say is read in as memories, and follows them when they change."""
