"""What several commands take, described once. Options that name a project are in `asking`."""

from collections.abc import Callable, Iterable
from typing import Final

import click

from backstory.cli.asking import Command
from backstory.model.search import DEFAULT_LIMIT, MAX_LIMIT

#: What stands for a text that is read from standard input.
STANDARD_INPUT: Final = "-"


def of_types(names: Iterable[str]) -> Callable[[Command], Command]:
    """The option that asks for memories of some of these types alone."""
    return click.option(
        "--type",
        "types",
        type=click.Choice(list(names)),
        multiple=True,
        metavar="TYPE",
        help="Only memories of this type; may be repeated.",
    )


def kept_between(command: Command) -> Command:
    """Give a command the options that say when memories were kept."""
    since = click.option(
        "--from", "from", metavar="TIME", help="Only what was kept then or later: 2026-01-31, or with a time."
    )
    until = click.option("--to", "to", metavar="TIME", help="Only what was kept until then.")
    return since(until(command))


def in_pages(what: str = "How many") -> Callable[[Command], Command]:
    """The options that say how much comes at once, and where to go on."""
    limit = click.option(
        "--limit",
        type=click.IntRange(1, MAX_LIMIT),
        metavar="NUMBER",
        help=f"{what}, at most {MAX_LIMIT}. Default: {DEFAULT_LIMIT}.",
    )
    cursor = click.option(
        "--cursor", metavar="CURSOR", help="Go on where the answer before said there is more."
    )
    return lambda command: limit(cursor(command))
