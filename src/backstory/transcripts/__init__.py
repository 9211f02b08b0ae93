"""From the bytes of an agent's transcript to sessions and turns: pure functions, no files opened."""
