"""The command line: one file a command group.

Here is the list of commands, and how an error looks and ends. A command tells its answer on
standard output and lets errors pass; what commands share is in `asking`.
"""

import importlib
from collections.abc import Mapping
from typing import Final

import click

from backstory.cli.asking import tell_error
from backstory.errors import BackstoryError, SettingsError

#: Each command and the module it is in, which is loaded when the command is asked for: `status`
#: answers in a tenth of a second because it does not wait for what `config` needs.
COMMANDS: Final[Mapping[str, str]] = {
    "backup": "maintenance",
    "completion": "completion",
    "config": "config",
    "conversations": "conversations",
    "doctor": "doctor",
    "export": "export",
    "index": "transcripts",
    "ingest": "ingest",
    "mcp": "bridge",
    "memory": "memory",
    "rebuild": "maintenance",
    "restore": "maintenance",
    "search": "transcripts",
    "serve": "serve",
    "show": "transcripts",
    "stats": "maintenance",
    "status": "process",
    "stop": "process",
    "timeline": "transcripts",
    "watch": "watch",
}

FAILED: Final = 1
BAD_SETTINGS: Final = 2  # as for bad usage
INTERRUPTED: Final = 130  # what a shell says of a program that Ctrl-C ended


class Commands(click.Group):
    """A group that loads a command when it is asked for, and tells an error with its hint."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"{__name__}.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BackstoryError as error:
            tell_error(ctx, error)
            ctx.exit(BAD_SETTINGS if isinstance(error, SettingsError) else FAILED)
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands)
@click.version_option(package_name="backstory", message="%(prog)s %(version)s")
def backstory() -> None:
    """Long-term memory for coding agents."""
