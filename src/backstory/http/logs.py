"""The log: one line for each event, as JSON or as text, in a file that rotates.

Every line has the fields `timestamp`, `level`, `component`, `operation`, `event` and `context`.
Above DEBUG nothing is written that a user may have said: of an exception its type and where it
came from, of a library's message only where in the library it was written, since libraries put what
they were sent into their messages. The full texts follow on a line of their own, at DEBUG.
"""

import logging
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

from backstory.errors import StoreReadOnly
from backstory.settings.catalogue import Log, LogFormat

FILE: Final = "backstory.log"

#: 25 MB in all: weeks of an agent's work at 300 bytes a call, and small enough to send to somebody.
MAX_BYTES: Final = 5_000_000
MAX_FILES: Final = 5

#: The innermost frames of an exception say where it happened; the outer ones are the server's.
FRAMES: Final = 12

_OURS: Final = "backstory"


def logger(component: str) -> BoundLogger:
    """A log for one part of the process. Say `operation=` and `context=` with each event."""
    wrapped: BoundLogger = structlog.wrap_logger(
        logging.getLogger(f"{_OURS}.{component}"),
        processors=[structlog.stdlib.filter_by_level, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=BoundLogger,
        component=component,
    )
    return wrapped


@contextmanager
def logging_to(folder: Path, settings: Log, *, stderr: bool) -> Iterator[None]:
    """Write what is logged into the folder, and to standard error if asked, until the block ends."""
    outputs = [_file(folder / FILE), *([logging.StreamHandler(sys.stderr)] if stderr else [])]
    root, ours, level = logging.getLogger(), logging.getLogger(_OURS), logging.getLevelName(settings.level)
    before = root.level, ours.level
    # Libraries tell at INFO what they are sent; of them only what went wrong is kept.
    root.setLevel(max(logging.WARNING, level))
    ours.setLevel(level)
    for output in outputs:
        output.setFormatter(Lines(settings.format, texts=level <= logging.DEBUG))
        root.addHandler(output)
    try:
        yield
    finally:
        for output in outputs:
            root.removeHandler(output)
            output.close()
        root.setLevel(before[0])
        ours.setLevel(before[1])


def _file(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return RotatingFileHandler(
            path, maxBytes=MAX_BYTES, backupCount=MAX_FILES - 1, encoding="utf-8", errors="backslashreplace"
        )
    except OSError as error:
        raise StoreReadOnly(
            f"the log {path} cannot be written: {error.strerror}",
            hint="check the permissions of the data folder, or set BACKSTORY_HOME to another one",
        ) from error


def origin_of(error: BaseException) -> dict[str, object]:
    """An exception without its text: its type, where it came from, and the types of what caused it."""
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause and len(causes) < FRAMES:
        causes.append(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return {
        "type": type(error).__name__,
        "frames": [f"{Path(each.filename).name}:{each.lineno} {each.name}" for each in frames],
        "causes": causes,
    }


class Lines(ProcessorFormatter):
    """Formats a record as a line. With `texts`, what the line leaves out follows at DEBUG."""

    def __init__(self, form: LogFormat, *, texts: bool = False) -> None:
        rendering = (
            structlog.processors.JSONRenderer(default=str)
            if form == "json"
            else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
        )
        super().__init__(
            processors=[
                _without_texts,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _in_order,
                rendering,
            ],
            foreign_pre_chain=[],
            use_get_message=False,
            pass_foreign_args=True,
        )
        self._texts = texts

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if not self._texts or record.levelno <= logging.DEBUG or isinstance(record.msg, dict):
            return line
        said = record.getMessage()
        if record.exc_info:
            said = "\n".join([said, *traceback.format_exception(*record.exc_info)])
        full = logging.makeLogRecord(
            {**record.__dict__, "msg": said, "args": (), "levelno": logging.DEBUG, "levelname": "DEBUG"}
        )
        return f"{line}\n{super().format(full)}"


def _without_texts(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Give a record of the standard library our fields, and leave out what it quotes."""
    record: logging.LogRecord = event.pop("_record")
    ours = event.pop("_from_structlog")
    error = event.pop("exc_info", None)
    event.pop("stack_info", None)
    filling = event.pop("positional_args", ())
    event["level"] = record.levelname.lower()
    if not ours:
        event["component"] = record.name
        event["operation"] = record.funcName
        event["context"] = {"at": f"{record.filename}:{record.lineno}"}
        if record.levelno > logging.DEBUG and not record.name.startswith(f"{_OURS}."):
            event["event"] = "message of a library"
        elif record.levelno > logging.DEBUG:
            event["event"] = _filled(record.msg, filling)
    if isinstance(error, tuple) and error[1] and record.levelno > logging.DEBUG:
        event["context"] = {**event.get("context", {}), "error": origin_of(error[1])}
    return event


def _filled(message: str, filling: object) -> str:
    """Our own message; what is put into it may quote a user, unless it is a number or a path of ours."""
    if not filling or not isinstance(filling, tuple):
        return message
    return message % tuple(
        each if isinstance(each, int | float | Path) else type(each).__name__ for each in filling
    )


def _in_order(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    first = ("timestamp", "level", "component", "operation", "event", "context")
    missing: dict[str, object] = {"operation": "", "context": {}}
    return {key: event.get(key, missing.get(key)) for key in first}
