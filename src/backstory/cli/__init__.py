"""The command line: one file a command group.

Here is the list of commands, and how an error looks and ends. A command prints its answer to
standard output and lets errors pass.
"""

import click

from backstory.cli import config, doctor
from backstory.errors import BackstoryError, SettingsError


class Commands(click.Group):
    """A group that tells an error with its hint: exit code 2 for bad settings, as for bad usage, else 1."""

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
