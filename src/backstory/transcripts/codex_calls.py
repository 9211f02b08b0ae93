"""What Codex did with its tools: the calls in a rollout, joined with what came back.

A command is the same whether it was asked of one tool for commands or another. Files are known
where they were changed by a patch, or named by the few tools that look at one file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from backstory.model.transcript import FileTouch, ToolCall
from backstory.transcripts import fields as read
from backstory.transcripts.codex_items import Item
from backstory.transcripts.codex_words import parsed
from backstory.transcripts.fields import Fields
from backstory.transcripts.redaction import Safe
from backstory.transcripts.tool_calls import patched_files, shown_command, shown_result, shown_value

_CALL: Final = re.compile(r"response_item/(?:(?P<kind>\w+)_)?call")
_OUTPUT: Final = re.compile(r"response_item/\w+_output")
_ASKED: Final = ("response_item/function_call", "response_item/custom_tool_call")
_FAILED: Final = re.compile(
    r"(?:Exit code: |.{0,200}?Process exited with code )(?!0\b)\d+|Script failed\b", re.DOTALL
)
#: What is said of a call, by the first of these that its input has.
_COMMAND: Final = ("cmd", "command", "input")
_NAMED: Final = {
    "pattern": "pattern",
    "query": "query",
    "url": "url",
    "file_path": "file",
    "dir_path": "file",
    "path": "file",
    "agent_type": "type",
}
_PATCHING: Final = "apply_patch"
_LOOKING: Final = frozenset({"view_image", "read_file", "list_dir", "grep_files"})


def is_call(item: Item) -> bool:
    """Whether an item asks for a tool."""
    return _CALL.fullmatch(item.kind) is not None


def is_output(item: Item) -> bool:
    """Whether an item tells what a tool gave back."""
    return _OUTPUT.fullmatch(item.kind) is not None


def call_id(item: Item) -> str:
    """What a call, its output and the report of its changes have in common."""
    return read.text(item.payload, "call_id") or read.text(item.payload, "id")


def call_name(item: Item) -> str:
    """The tool that a call asks for."""
    if item.kind in _ASKED:
        return read.text(item.payload, "name")
    named = _CALL.fullmatch(item.kind)
    return (named and named["kind"]) or ""


def tool_call(item: Item, output: Item | None, changed: Sequence[str]) -> ToolCall:
    """A call with what came back for it, and the files that it is reported to have changed."""
    name, given = call_name(item), _given(item.payload)
    content, is_error = outcome(output.payload if output else {})
    touched = [*_files(name, given), *(FileTouch(path, changed=True) for path in changed)]
    return ToolCall(
        id=call_id(item),
        name=name,
        rendering={"tool": name, **_shown(given)},
        result=shown_result({"content": content}),
        files=tuple(dict.fromkeys(touched)),
        is_error=is_error,
    )


def patch_call(item: Item, changed: Sequence[str]) -> ToolCall:
    """The call that must have been where files are reported to have changed without one."""
    files = tuple(FileTouch(path, changed=True) for path in changed)
    return ToolCall(call_id(item), _PATCHING, {"tool": _PATCHING}, files=files)


def changes(item: Item) -> Sequence[str]:
    """The files that a report names as changed."""
    if item.kind not in ("event_msg/patch_apply_end", "item/FileChange"):
        return ()
    told = read.inner(item.payload, "changes")
    moved = (read.text(read.inner(told, path), "move_path") for path in told)
    return [shown_value(path) for path in (*told, *moved) if path]


def outcome(payload: Fields) -> tuple[object, bool]:
    """The content of an output in the shape of a tool's result, and whether the call failed."""
    output = payload.get("output")
    if isinstance(output, str) and output.startswith('{"output":'):
        output = parsed(output)
    if isinstance(output, dict):
        code = read.number(read.inner(output, "metadata"), "exit_code")
        failed = bool(code) or output.get("success") is False
        content = output.get("content", output.get("output"))
        return content if isinstance(content, Safe) else _blocks(content), failed
    content = _blocks(output)
    return content, any(_FAILED.match(read.text(block, "text")) for block in content)


def _blocks(content: object) -> list[Fields]:
    return [_block(block) for block in read.blocks({"content": content})]


def _block(block: Fields) -> Fields:
    kind = read.text(block, "type")
    if text := read.text(block, "text"):
        return {"type": "text", "text": text}
    return {"type": kind.removeprefix("input_")}


def _given(payload: Fields) -> Fields:
    """The input of a call; a plain text is called its input."""
    asked = parsed(payload.get("arguments", payload.get("input")))
    if isinstance(asked, dict):
        return asked
    return {"input": asked} if isinstance(asked, str) else read.inner(payload, "action")


def _shown(given: Fields) -> Mapping[str, str]:
    for key in _COMMAND:
        if command := _command(given.get(key)):
            return {"command": shown_command(command)}
    return {name: shown_command(text) for key, name in _NAMED.items() if (text := read.text(given, key))}


def _command(command: object) -> str:
    """A command as it would be typed, without the shell around it."""
    if isinstance(command, str):
        return command.replace("\0", "")
    words = (
        [word.replace("\0", "") for word in command if isinstance(word, str)]
        if isinstance(command, list)
        else []
    )
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)


def _files(name: str, given: Fields) -> Iterator[FileTouch]:
    for key in ("input", "patch", "cmd", "command"):
        yield from patched_files(_command(given.get(key)))
    if name in _LOOKING and (path := _path(given)):
        yield FileTouch(path)


def _path(given: Fields) -> str:
    paths = (read.text(given, key) for key in ("file_path", "path", "dir_path"))
    return next((shown_value(path) for path in paths if path), "")
