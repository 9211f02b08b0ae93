"""Live conversations in JSONL files. (To be written.)"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from backstory.adapters.conversations.in_memory import InMemoryConversationStorage


class JsonlConversationStorage(InMemoryConversationStorage):
    """Keeps conversations in files."""

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, max_file_bytes: int, compaction_interval_s: float) -> Iterator[Self]:
        """Open the files of a folder, and close them at the end of the block."""
        del folder, max_file_bytes, compaction_interval_s
        yield cls()
