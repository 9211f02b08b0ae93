"""Memories in files: written out with everything that belongs to them, and read in again."""
