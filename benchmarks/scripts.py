"""Made-up transcripts of Claude Code, the same in every run, with about the proportions of real ones.

Of their bytes 3 % are prose, twice 30 % the results of tools, 28 % progress; of real ones 2, about 38
for one copy of the results, and 21. What is said means nothing.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.corpus import Corpus

#: Turns of a session, tool calls of a turn, and texts (370 characters) of a tool's result: a turn then has
#: 7 calls and 74 KB; in 15 MB of real transcripts it had 7 and 83.
_TURNS: Final = 12
_CALLS: Final = 7
_RESULT_TEXTS: Final = 8
_PROGRESS: Final = 1

#: Texts are used again after so many; they are made slowly.
_TEXTS: Final = 2_000


class Scripts:
    """Writes sessions into a folder."""

    def __init__(self) -> None:
        self._texts = [each.content for each in Corpus(1).newcomers(_TEXTS)]
        self._next = 0

    def write(self, folder: Path, megabytes: float) -> list[Path]:
        """Sessions of together about so many megabytes, in ten projects; their files."""
        files: list[Path] = []
        size = 0
        while size < megabytes * 1e6:
            files.append(self._session(folder, len(files)))
            size += files[-1].stat().st_size
        return files

    def append_turn(self, file: Path, words: str) -> None:
        """Let a session go on with a turn in which the user says these words."""
        with file.open("ab") as out:
            out.writelines(_lines(file.stem, "/srv/append", self._turn(words)))

    def _session(self, folder: Path, number: int) -> Path:
        project = f"project-{number % 10}"
        file = folder / f"-srv-{project}" / f"{uuid.uuid5(uuid.NAMESPACE_OID, str(number))}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            for _ in range(_TURNS):
                out.writelines(_lines(file.stem, f"/srv/{project}", self._turn(self._text())))
        return file

    def _turn(self, words: str) -> Iterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": words}}
        for call in range(_CALLS):
            self._next += 1
            id, file = f"toolu_{self._next}", f"/srv/src/module_{self._next % 500}.py"
            yield _answer({"type": "text", "text": self._text()}) if call % 3 == 0 else _nothing()
            yield _answer({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": file}})
            for _ in range(_PROGRESS):
                yield {"type": "progress", "data": {"type": "bash_progress", "output": self._long()[:3000]}}
            result = self._long()
            block = {"type": "tool_result", "tool_use_id": id, "content": result}
            yield {
                "type": "user",
                "message": {"role": "user", "content": [block]},
                "toolUseResult": {"type": "text", "file": {"filePath": file, "content": result}},
            }
        yield _answer({"type": "text", "text": self._text()})

    def _text(self) -> str:
        self._next += 1
        return f"{self._texts[self._next % _TEXTS]} ({self._next})"

    def _long(self) -> str:
        return "\n".join(self._text() for _ in range(_RESULT_TEXTS))


def _answer(block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 12, "output_tokens": 340}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block], "usage": usage}}


def _nothing() -> dict[str, Any]:
    return {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {}}}


def _lines(session: str, folder: str, records: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """The records as lines, each with the envelope that all have."""
    for record in records:
        envelope = {
            "uuid": str(uuid.uuid4()),
            "sessionId": session,
            "cwd": folder,
            "timestamp": "2026-03-01T09:30:00.000Z",
            "version": "2.1.80",
            "isSidechain": False,
        }
        yield json.dumps({**envelope, **record}, separators=(",", ":")).encode() + b"\n"
