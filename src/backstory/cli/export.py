"""`backstory export`: conversations whole, put together from the pages that the process gives."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from backstory.cli.asking import ALL, answer_to, as_json, in_project, tell
from backstory.errors import InputError

#: What of a turn may go on on the next page: texts, and the list of its tool calls.
PARTS: Final = ("commands", "user_text", "assistant_text", "tools_used", "tool_text")

Value = dict[str, Any]


@click.command()
@click.argument("session", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "markdown"]),
    default="json",
    metavar="FORMAT",
    help="json or markdown. Default: json.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to this new file instead of standard output.",
)
@in_project
@as_json
def export(*, session: str | None, form: str, output: Path | None, project: str | None) -> None:
    """Write the conversation SESSION, or all of a project, whole."""
    # An id is of one conversation, wherever it was held.
    project = project or (ALL if session else None)
    pages = _pages({"conversation_id": session, "format": form, "project": project})
    texts = _markdown(pages) if form == "markdown" else _json(pages)
    if output is None:
        sys.stdout.writelines(texts)
        return
    _write_new(texts, output)
    size = output.stat().st_size
    tell({"path": str(output.absolute()), "size_bytes": size}, f"Exported to {output} ({size:,} bytes).")


def _pages(asked: Value) -> Iterator[Value]:
    cursor = None
    while True:
        page = answer_to("conversation_export", {**asked, "cursor": cursor}).answer
        yield page
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def _markdown(pages: Iterable[Value]) -> Iterator[str]:
    return (page["markdown"] for page in pages)


def _json(pages: Iterable[Value]) -> Iterator[str]:
    """One JSON object, a conversation a line."""
    before = '{"conversations": [\n'
    for conversation in whole(pages):
        yield before + json.dumps(conversation, ensure_ascii=False)
        before = ",\n"
    yield "\n]}\n" if before == ",\n" else '{"conversations": []}\n'


def whole(pages: Iterable[Value]) -> Iterator[Value]:
    """The conversations, each put together from the pages that it is on."""
    last: Value | None = None
    for part in (part for page in pages for part in page["conversations"]):
        if last and last["session_id"] == part["session_id"]:
            _go_on(last["turns"], part["turns"])
        else:
            if last:
                yield last
            last = part
    if last:
        yield last


def _go_on(turns: list[Value], more: list[Value]) -> None:
    last, rest = turns[-1], more[0]
    # Another one follows where what was left of the turn is gone by now.
    if last["turn_number"] == rest["turn_number"]:
        last.pop("continues", None)
        last |= rest | {name: last[name] + rest[name] for name in PARTS if name in last and name in rest}
        more = more[1:]
    turns += more


def _write_new(texts: Iterable[str], path: Path) -> None:
    """Write a file that was not there; when it fails, it is not there again."""
    try:
        file = path.open("x", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be made: {error.strerror}", hint="name a new file") from error
    try:
        with file:
            file.writelines(texts)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
