"""Extractors: they find in a talk what is worth remembering."""
