"""`backstory memory`: keep, read, find and delete memories.

An option has the name of the tool's argument, so that what was typed is handed over as it is.
The process checks it, does it and writes the answer's text.
"""

import json
import sys
from collections.abc import Mapping
from typing import Final

import click

from backstory.cli.asking import as_json, ask, in_one_project, in_project
from backstory.errors import InputError
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.memory import DEFAULT_IMPORTANCE
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT

STANDARD_INPUT: Final = "-"

memory_type = click.Choice(list(KINDS))


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


def relation(text: str) -> dict[str, str]:
    """A link to another memory, TYPE:ID."""
    type_, _, id = text.partition(":")
    if type_ not in RelationshipType.__members__ or not id:
        known = ", ".join(RelationshipType)
        raise click.BadParameter(f"{text!r} is not written as TYPE:ID, where TYPE is one of: {known}")
    return {"type": type_, "to": id}


@click.group()
def memory() -> None:
    """Keep, read, find and delete memories."""


@memory.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.argument("type", type=memory_type, metavar="TYPE")
@click.argument("content")
@click.option(
    "--metadata",
    type=entry,
    multiple=True,
    metavar="KEY=VALUE",
    help="A metadata entry; a value that is JSON is taken as such. May be repeated.",
)
@click.option("--metadata-json", type=json_object, metavar="OBJECT", help="Metadata as a JSON object.")
@click.option(
    "--importance",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help=f"From 0 to 1. Default: {DEFAULT_IMPORTANCE}.",
)
@click.option(
    "--relate",
    "relationships",
    type=relation,
    multiple=True,
    metavar="TYPE:ID",
    help="A link to another memory, for example DEPENDS_ON:ID; may be repeated.",
)
@in_one_project
@as_json
def add(
    content: str,
    metadata: tuple[tuple[str, object], ...],
    metadata_json: Mapping[str, object] | None,
    **given: object,
) -> None:
    """Keep a memory of TYPE; CONTENT may be - to read it from standard input."""
    if content == STANDARD_INPUT:
        content = sys.stdin.read().rstrip("\n")
    entries = {**(metadata_json or {}), **dict(metadata)}
    ask("memory_add", {**given, "content": content, "metadata": entries or None})


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


@memory.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.argument("query")
@click.option(
    "--type",
    "types",
    type=memory_type,
    multiple=True,
    metavar="TYPE",
    help="Only memories of this type; may be repeated.",
)
@click.option(
    "--from", "from", metavar="TIME", help="Only what was kept then or later: 2026-01-31, or with a time."
)
@click.option("--to", "to", metavar="TIME", help="Only what was kept until then.")
@click.option(
    "--metadata",
    type=entry,
    multiple=True,
    metavar="KEY=VALUE",
    help="Only memories with this metadata entry; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LIMIT),
    metavar="NUMBER",
    help=f"How many, at most {MAX_LIMIT}. Default: {DEFAULT_LIMIT}.",
)
@click.option("--cursor", metavar="CURSOR", help="Go on where the answer before said there is more.")
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


def _confirmed(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort as abort:
        if isinstance(abort.__context__, EOFError):  # there is nobody to ask
            return False
        raise
