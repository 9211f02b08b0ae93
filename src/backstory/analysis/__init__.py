"""Judgements on values. Pure: nothing here reads, writes or asks."""
