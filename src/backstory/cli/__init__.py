"""The command line: one file a command group.

Here is the list of commands, and how an error looks and ends. A command prints its answer to
standard output and lets errors pass.
"""

from typing import Final

import click

from backstory.cli import config, doctor
from backstory.errors import BackstoryError, SettingsError

#: Commands that open the store. They load the engines, which takes half a second: the others need not wait.
OPENING_THE_STORE: Final = ("backup", "rebuild", "restore")


class Commands(click.Group):
    """A group that tells an error with its hint: exit code 2 for bad settings, as for bad usage, else 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *OPENING_THE_STORE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in OPENING_THE_STORE:
            return super().get_command(ctx, cmd_name)
        from backstory.cli import maintenance

        found: click.Command = getattr(maintenance, cmd_name)
        return found

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BackstoryError as error:
            click.echo(f"Error: {error}", err=True)
            if error.hint:
                click.echo(f"Hint: {error.hint}", err=True)
            ctx.exit(2 if isinstance(error, SettingsError) else 1)


@click.group(cls=Commands)
@click.version_option(package_name="backstory", message="%(prog)s %(version)s")
def backstory() -> None:
    """Long-term memory for coding agents."""


backstory.add_command(config.config)
backstory.add_command(doctor.doctor)
