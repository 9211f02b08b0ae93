"""`backstory memory`: keep, read, find, change and delete memories, and bring them back.

An option has the name of the tool's argument, so that what was typed is handed over as it is.
The process checks it, does it and writes the answer's text.
"""

import json
import sys
from collections.abc import Mapping
from typing import IO

import click

from backstory.cli.asking import as_json, ask, in_one_project, in_project
from backstory.cli.memory_consolidate import consolidate
from backstory.cli.memory_extract import extract
from backstory.cli.memory_files import export, import_
from backstory.cli.options import STANDARD_INPUT, in_pages, kept_between, of_types
from backstory.errors import InputError
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import DEFAULT_IMPORTANCE


def entry(text: str) -> tuple[str, object]:
    """One metadata entry, KEY=VALUE. A value that is JSON is taken as such, any other as text."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is not written as KEY=VALUE")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def json_object(text: str) -> dict[str, object]:
    """All metadata as one JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise click.BadParameter("it is not a JSON object")
    return found


def json_objects(text: str) -> list[object]:
    """The objects of a JSON list, or of lines of JSON."""
    try:
        if text.lstrip().startswith("["):
            found: list[object] = json.loads(text)
        else:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(
            f"the file is not JSON: {error}", hint="give a JSON list, or a JSON object a line"
        ) from error
    return found


def relation(text: str) -> dict[str, str]:
    """A link to another memory, TYPE:ID."""
    type_, _, id = text.partition(":")
    if type_ not in RelationshipType.__members__ or not id:
        known = ", ".join(RelationshipType)
        raise click.BadParameter(f"{text!r} is not written as TYPE:ID, where TYPE is one of: {known}")
    return {"type": type_, "to": id}


@click.group()
def memory() -> None:
    """Keep, read, find, change and delete memories, and bring them back."""


memory.add_command(consolidate)
memory.add_command(extract)
memory.add_command(export)
memory.add_command(import_)


a_metadata_entry = click.option(
    "--metadata",
    type=entry,
    multiple=True,
    metavar="KEY=VALUE",
    help="A metadata entry; a value that is JSON is taken as such. May be repeated.",
)
all_metadata = click.option(
    "--metadata-json", type=json_object, metavar="OBJECT", help="Metadata as a JSON object."
)
links = click.option(
    "--relate",
    "relationships",
    type=relation,
    multiple=True,
    metavar="TYPE:ID",
    help="A link to another memory, for example DEPENDS_ON:ID; may be repeated.",
)


@memory.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.argument("type", type=click.Choice(list(KINDS)), metavar="TYPE")
@click.argument("content")
@a_metadata_entry
@all_metadata
@click.option(
    "--importance",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help=f"From 0 to 1. Default: {DEFAULT_IMPORTANCE}.",
)
@links
@in_one_project
@as_json
def add(
    content: str,
    metadata: tuple[tuple[str, object], ...],
    metadata_json: Mapping[str, object] | None,
    **given: object,
) -> None:
    """Keep a memory of TYPE; CONTENT may be - to read it from standard input."""
    entries = {**(metadata_json or {}), **dict(metadata)}
    ask("memory_add", {**given, "content": _content(content), "metadata": entries or None})


@memory.command()
@click.argument("id")
@click.argument("content", required=False)
@a_metadata_entry
@all_metadata
@click.option(
    "--remove", multiple=True, metavar="KEY", help="A metadata entry that is to go; may be repeated."
)
@click.option(
    "--importance", type=click.FloatRange(0, 1), metavar="NUMBER", help="From 0 to 1. Default: as it was."
)
@links
@click.option(
    "--expected-version",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Change it only if this is its version; else show both versions.",
)
@in_one_project
@as_json
def update(
    content: str | None,
    metadata: tuple[tuple[str, object], ...],
    metadata_json: Mapping[str, object] | None,
    remove: tuple[str, ...],
    **given: object,
) -> None:
    """Change the memory with this ID; CONTENT, if given, takes the place of its text and may be -."""
    entries = {**dict.fromkeys(remove), **(metadata_json or {}), **dict(metadata)}
    ask("memory_update", {**given, "content": _content(content), "metadata": entries or None})


@memory.command("bulk-add")
@click.argument("file", type=click.File(encoding="utf-8"))
@in_one_project
@as_json
def bulk_add(file: IO[str], **given: object) -> None:
    """Keep all memories of FILE, or none: a JSON list, or a JSON object a line; - is standard input."""
    ask("memory_bulk_add", {**given, "memories": json_objects(file.read())})


@memory.command()
@click.argument("id")
@click.option(
    "--offset",
    type=click.IntRange(0),
    metavar="CHARACTER",
    help="Where to begin in a long content; the answer says where it went on.",
)
@in_project
@as_json
def get(**given: object) -> None:
    """Show the memory with this ID, whole, and what it is linked to."""
    ask("memory_get", given)


@memory.command()
@click.argument("id")
@in_pages("How many steps")
@in_project
@as_json
def history(**given: object) -> None:
    """Show what was done to the memory with this ID, newest first, deleted or not."""
    ask("memory_history", given)


@memory.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.argument("query")
@of_types(KINDS)
@kept_between
@click.option(
    "--metadata",
    type=entry,
    multiple=True,
    metavar="KEY=VALUE",
    help="Only memories with this metadata entry; may be repeated.",
)
@in_pages()
@in_project
@as_json
def search(metadata: tuple[tuple[str, object], ...], **given: object) -> None:
    """Find memories by what they mean and by their words."""
    ask("memory_search", {**given, "metadata": dict(metadata) or None})


@memory.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@in_one_project
@as_json
def delete(*, id: str, yes: bool, **given: object) -> None:
    """Delete the memory with this ID."""
    if not yes and not _confirmed(f"Delete memory {id}?"):
        raise InputError("it was not confirmed, so nothing was deleted", hint="answer y, or give --yes")
    ask("memory_delete", {**given, "id": id})


@memory.command()
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="NUMBER", help="How many. Default: 50.")
@in_project
@as_json
def deleted(**given: object) -> None:
    """List the memories that were deleted and can be restored, and until when."""
    ask("memory_deleted", given)


@memory.command()
@click.argument("id")
@as_json
def restore(**given: object) -> None:
    """Bring the deleted memory with this ID back, with its links."""
    ask("memory_restore", given)


def _content(text: str | None) -> str | None:
    return sys.stdin.read().rstrip("\n") if text == STANDARD_INPUT else text


def _confirmed(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):  # there is nobody to ask
            return False
        raise
