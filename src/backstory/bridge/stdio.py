"""`backstory mcp`: an MCP server on stdin and stdout that is in truth the process behind them.

Reads lines and writes lines. Nothing but messages is ever written to stdout. What becomes of a line
is left to `forward`.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Final, NoReturn

from backstory.bridge.forward import Forwarding
from backstory.bridge.link import Link
from backstory.bridge.messages import INVALID_REQUEST, BadLine, error_answer, read_message
from backstory.bridge.whereabouts import find_whereabouts

#: Far more than the process takes; what is longer is not even kept in memory.
LONGEST_LINE: Final = 64 << 20

#: What was asked before stdin was closed is still answered, also when the process must be started first,
#: which takes about two seconds. A client that does not want to wait ends us by a signal.
LAST_ANSWERS_S: Final = 5.0


class _Stdout:
    """Whole lines to the client, from any thread. When nobody reads them any more, the bridge ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file = os.dup(1)
        # Whatever else is printed, by accident, does not reach the client.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if sys.platform != "win32":
            os.set_blocking(self._file, True)

    def write(self, line: bytes) -> None:
        """Write one line."""
        rest = memoryview(line + b"\n")
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            except OSError:
                os._exit(0)


def main() -> NoReturn:
    """Serve the client until it closes stdin."""
    stdout = _Stdout()
    forwarding = Forwarding(Link(find_whereabouts(os.environ), _working_directory()), stdout.write)

    def end(*_: object) -> NoReturn:
        forwarding.finish(0)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    for line in _lines():
        if line is None:
            stdout.write(error_answer(None, INVALID_REQUEST, f"the line is longer than {LONGEST_LINE} bytes"))
        else:
            forwarding.take(line)
    forwarding.finish(LAST_ANSWERS_S)
    # At once, and not by way of the interpreter's end: threads wait for answers that nobody needs.
    os._exit(0)


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a text is what is needed
    except OSError:  # it was deleted
        return None


def _lines() -> Iterator[bytes | None]:
    """Each line that the client sends; None for one that is too long."""
    with open(0, "rb", closefd=False) as stdin:
        while line := stdin.readline(LONGEST_LINE):
            if line.endswith(b"\n"):
                if line.strip():
                    yield line.strip()
            elif len(line) == LONGEST_LINE:
                while (rest := stdin.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield None
            elif _is_whole(line):
                yield line.strip()


def _is_whole(line: bytes) -> bool:
    """Whether a line without an end, the last one, is a message; half of one is dropped."""
    try:
        read_message(line)
    except BadLine:
        return False
    return True
