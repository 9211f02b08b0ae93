"""`backstory completion`: what a shell needs to complete commands and options by the Tab key."""

from typing import Final

import click
from click.shell_completion import get_completion_class

#: By this variable the script asks the program what could come next.
VARIABLE: Final = "_BACKSTORY_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells of the choice above"  # noqa: S101
    click.echo(kind(ctx.find_root().command, {}, "backstory", VARIABLE).source())
