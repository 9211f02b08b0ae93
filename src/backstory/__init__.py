"""Backstory: long-term memory for coding agents."""

from importlib.metadata import version

__version__ = version("backstory")
