"""`backstory memory extract`: find what is worth remembering in a session or a text, and keep it if asked."""

import sys

import click

from backstory.cli.asking import as_json, ask, in_one_project
from backstory.cli.options import STANDARD_INPUT, of_types
from backstory.model.candidate import EXTRACTED_TYPES, USUAL_CONFIDENCE


@click.command(epilog=f"Types: {', '.join(EXTRACTED_TYPES)}.")
@click.argument("id")
@of_types(EXTRACTED_TYPES)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help=f"Only what is at least so sure, from 0 to 1. Default: {USUAL_CONFIDENCE}.",
)
@click.option(
    "--from-turn",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Turn to begin at; the answer says where a long session goes on.",
)
@click.option("--keep", is_flag=True, help="Keep all that is found and not kept already, or nothing.")
@in_one_project
@as_json
def extract(*, id: str, keep: bool, **given: object) -> None:
    """Find what is worth remembering in the session ID; with - in a text from standard input."""
    source = {"text": sys.stdin.read()} if id == STANDARD_INPUT else {"session_id": id}
    ask("memory_extract", {**given, **source, "dry_run": not keep})
