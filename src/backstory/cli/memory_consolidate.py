"""`backstory memory consolidate`: plan merges of memories that say the same, make them, undo one."""

import click

from backstory.cli.asking import as_json, ask, in_one_project
from backstory.cli.options import of_types
from backstory.model.kinds.catalogue import KINDS
from backstory.model.merge import DEFAULT_MERGES, MAX_MERGES


@click.command(epilog=f"Types: {', '.join(KINDS)}.")
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Only this memory and others named so; repeat it."
)
@click.option("--query", metavar="TEXT", help="Only memories about this.")
@of_types(KINDS)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_MERGES),
    metavar="NUMBER",
    help=f"Merges at most. Default: {DEFAULT_MERGES}.",
)
@click.option("--apply", is_flag=True, help="Make the merges; without this they are only shown.")
@click.option("--undo", metavar="MERGE", help="Take this merge back instead.")
@click.option("--list", "list_merges", is_flag=True, help="Show the last merges instead.")
@in_one_project
@as_json
def consolidate(*, apply: bool, **given: object) -> None:
    """Show which memories could be one, and make them one if asked; a merge can be undone."""
    ask("memory_consolidate", {**given, "dry_run": not apply})
