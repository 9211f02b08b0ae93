# /// script
# requires-python = ">=3.11"
# dependencies = ["backstory"]
#
# [tool.uv.sources]
# backstory = { path = ".", editable = true }
# ///
"""Search past conversations with coding agents, over MCP on stdin and stdout, with nothing to install.

    uv run conversation_search.py [PATTERN]

It reads the transcripts that Claude Code left on this machine, watches for more, and offers four tools:
search_conversations, list_conversations, read_turn and read_conversation. The index is made anew at
every start and thrown away at the end. To keep it, use `backstory mcp` instead.
"""

import os
import signal
import sys
import threading
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NoReturn, overload

from backstory.engine import Engine, TranscriptPlaces
from backstory.errors import BackstoryError
from backstory.http.logs import logger, logging_to
from backstory.http.watcher import Watcher
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.mcp.tool import ALL
from backstory.mcp.tools.transcripts import TOOLS
from backstory.settings import Settings, read_settings
from backstory.wiring import open_engine

OFFERED: Final = ("search_conversations", "list_conversations", "read_turn", "read_conversation")

INSTRUCTIONS: Final = """\
What was said in past sessions with coding agents on this machine. Search (search_conversations) when the
user refers to earlier work, or before solving what may have been solved before; then read the turn
(read_turn) or the conversation around it (read_conversation). list_conversations shows the newest.
"""

#: What of the environment holds for an index of its own: where transcripts lie, and how much is told.
HEEDED: Final = (
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_PROJECTS_DIR",
    "MAX_CONVERSATION_AGE_DAYS",
    "BACKSTORY_MIN_FREE_MB",
    "LOG_LEVEL",
    "LOG_FORMAT",
)

#: By which programs are told to end; a terminal that is closed sends the last.
SIGNALS: Final = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]

_log = logger("conversation_search")


def main() -> int:
    """Serve until stdin ends, or a signal comes; leave nothing behind."""
    pattern = read_pattern(sys.argv[1:])
    exit_at_signals()
    with TemporaryDirectory(prefix="backstory-") as home:
        heeded = {name: os.environ[name] for name in HEEDED if name in os.environ}
        try:
            serve(read_settings({**heeded, "BACKSTORY_HOME": home}), pattern)
        except BackstoryError as error:
            sys.stderr.write(f"{error}\n{error.hint or ''}\n")
            return 1
    return 0


def read_pattern(arguments: Sequence[str]) -> str:
    """Which project folders are wanted; helps who asks for help, and exits."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument(
        "pattern",
        metavar="PATTERN",
        nargs="?",
        default="*",
        help="names of folders in Claude Code's projects folder, as in '-home-me-*' (default: all)",
    )
    # The name of a project's folder begins with a dash, as an option does.
    wants_help = not {"-h", "--help"}.isdisjoint(arguments)
    return str(parser.parse_args(arguments if wants_help else ["--", *arguments]).pattern)


def serve(settings: Settings, pattern: str) -> None:
    """Index, watch and answer, on the store that the settings name."""
    projects = settings.transcripts.claude_projects_dir
    with ExitStack() as stack:
        stack.enter_context(logging_to(settings.whereabouts.logs, settings.log, stderr=True))
        engine = of_matching(stack.enter_context(open_engine(settings)), projects, pattern)
        if not engine.transcripts.claude_folders:
            _log.warning("no folder matches yet", operation="start", context={"folder": projects})
        stack.enter_context(Watcher(engine, roots=[projects]))
        face = Face(engine, [ALL], tools={tool.name: tool for tool in TOOLS if tool.name in OFFERED})
        end_stdin_at_signals()
        create_server(face, INSTRUCTIONS).run("stdio")


def of_matching(engine: Engine, projects: Path, pattern: str) -> Engine:
    """The same store, for transcripts in matching folders only."""
    places = TranscriptPlaces(
        claude_folders=MatchingFolders(projects, pattern), max_age_days=engine.transcripts.max_age_days
    )
    return replace(engine, transcripts=places)


class MatchingFolders(Sequence[Path]):
    """The folders in a folder whose names match, as they are whenever one looks: new ones join."""

    def __init__(self, above: Path, pattern: str) -> None:
        self._above = above
        self._pattern = pattern

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> list[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | list[Path]:
        return self._now()[index]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._now())  # without it, every step of a loop would look again

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> list[Path]:
        with suppress(OSError), os.scandir(self._above) as entries:
            return sorted(Path(each) for each in entries if self._is_wanted(each))
        return []

    def _is_wanted(self, entry: os.DirEntry[str]) -> bool:
        return fnmatchcase(entry.name, self._pattern) and entry.is_dir()


def exit_at_signals() -> None:
    """Until the client is served, let a signal end it as an error would: what was opened is closed."""

    def leave(*_: object) -> NoReturn:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(0)

    for each in SIGNALS:
        signal.signal(each, leave)


def end_stdin_at_signals() -> None:
    """From now on let a signal look like the end of stdin, after which all is closed in good order.

    Nothing else would do: the thread that reads what the client sends cannot be interrupted.
    """
    client = FileIO(os.dup(0))
    ours, passing = os.pipe()
    os.dup2(ours, 0)
    os.close(ours)
    into = FileIO(passing, "w")
    for each in SIGNALS:
        signal.signal(each, lambda *_: into.close())
    threading.Thread(target=_pass_on, args=(client, into), daemon=True).start()


def _pass_on(client: FileIO, into: FileIO) -> None:
    with into, suppress(OSError, ValueError):  # it was closed by a signal, or nobody reads any more
        while data := client.read(65536):
            while data:
                data = data[into.write(data) :]


if __name__ == "__main__":
    sys.exit(main())
