"""What an agent did with its tools, in short: what was asked, an excerpt of what came back, which files.

The input is rendered by its name: a file, a command, a pattern say more than all of it. Pictures,
encoded data and secrets stay out, and what was cut off is said. An output that is too long for a transcript
lies in a file beside it; the beginning that the transcript shows of it is taken, the file is not read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from backstory.model.transcript import FileTouch, ToolCall
from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields
from backstory.transcripts.redaction import Safe, redacted
from backstory.transcripts.texts import beginning, clean, excerpt

#: Enough for the errors of a test run, and a tenth of the largest results.
MAX_RESULT_CHARS: Final = 2000
MAX_COMMAND_CHARS: Final = 200

_READING: Final = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
_CHANGING: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_PATH_FIELDS: Final = ("file_path", "notebook_path", "path")
_PATCHED: Final = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>.+?)\s*$", re.MULTILINE
)
_PATCH_FIELDS: Final = ("input", "patch", "command")
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def tool_call(use: Fields, result: Fields | None) -> ToolCall:
    """A tool call from the block that asked for it and the block that answered, if one did."""
    name, given = read.text(use, "name"), read.inner(use, "input")
    return ToolCall(
        id=read.text(use, "id"),
        name=name,
        rendering=rendering(name, given),
        result=shown_result(result or {}),
        files=tuple(dict.fromkeys(_files(name, given))),
        is_error=bool(result and result.get("is_error")),
    )


def rendering(name: str, given: Fields) -> Mapping[str, str | int]:
    """A tool's input in a few words, under the tool's name."""
    shown: dict[str, str | int] = {"tool": name}
    match name:
        case "Read" | "Edit" | "MultiEdit" | "NotebookEdit" | "NotebookRead":
            shown["file"] = _path(given)
        case "Write":
            shown |= {"file": _path(given), "chars": written_chars(given)}
        case "Bash":
            shown["command"] = shown_command(read.text(given, "command"))
        case "Grep" | "Glob":
            shown["pattern"] = shown_value(read.text(given, "pattern"))
        case "Task" | "Agent":
            shown["type"] = shown_value(read.text(given, "subagent_type"))
            shown["description"] = shown_value(read.text(given, "description"))
    return shown


def written_chars(given: Fields) -> int:
    """How much was written to a file; slim records have this number in the place of the text."""
    return len(read.text(given, "content")) or read.number(given, "content")


def shown_command(command: str) -> Safe:
    """A command as far as it is shown."""
    return beginning(clean(command), MAX_COMMAND_CHARS)


def shown_value(value: str) -> Safe:
    """A short part of a tool's input, such as a path or a pattern, as it is shown."""
    return redacted(clean(value)).text


def _path(given: Fields) -> str:
    return next((shown_value(path) for key in _PATH_FIELDS if (path := read.text(given, key))), "")


def _files(name: str, given: Fields) -> Iterator[FileTouch]:
    if name in _READING or name in _CHANGING:
        if path := _path(given):
            yield FileTouch(path, changed=name in _CHANGING)
    elif name == "apply_patch":
        for key in _PATCH_FIELDS:
            yield from patched_files(read.text(given, key))


def patched_files(text: str) -> Iterator[FileTouch]:
    """The files that a patch in a text changes."""
    if "*** " in text:
        for patched in _PATCHED.finditer(redacted(text).text):
            yield FileTouch(patched["path"], changed=True)


def shown_result(result: Fields) -> Safe:
    """An excerpt of what a tool gave back. In a slim record it stands in the place of that."""
    content = result.get("content")
    if isinstance(content, Safe):  # a type that no file can hold
        return content
    return excerpt("\n".join(filter(None, _shown(result))), MAX_RESULT_CHARS)


def _shown(result: Fields) -> Iterator[str]:
    for block in read.blocks(result):
        kind = read.text(block, "type")
        if kind == "text":
            yield clean(_without_reminders(read.text(block, "text")))
        elif kind:
            yield f"[{kind}]"


def _without_reminders(text: str) -> str:
    # Behind the last end no reminder can be whole, and looking for one there would take for ever.
    head, closed, tail = text.rpartition("</system-reminder>")
    return _REMINDER.sub("", head + closed) + tail
