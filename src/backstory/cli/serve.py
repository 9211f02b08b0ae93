"""`backstory serve`: the process that owns the data, in the foreground.

What it does is left to `http.process`; agents and other commands start it by `bridge.process`.
"""

import click

from backstory.bridge.whereabouts import HOME_VARIABLE
from backstory.cli.connecting import claude_by_stdio
from backstory.settings import read_settings


@click.command()
@click.option("--detached", is_flag=True, hidden=True, help="Say nothing: nobody looks on.")
def serve(*, detached: bool) -> None:
    """Own the data and answer agents, until it is stopped or idle for long."""
    settings = read_settings()
    # Not at the top: the engines and the MCP library take a second and more to load, and neither the
    # list of commands nor somebody with a wrong setting needs to wait for them.
    from backstory.http.process import serve as run

    def tell(url: str) -> None:
        chosen = {HOME_VARIABLE: str(settings.whereabouts.home)} if settings.chosen(HOME_VARIABLE) else {}
        click.echo(f"Backstory runs at {url}. Connect Claude Code by: {claude_by_stdio(chosen)}")
        click.echo("Stop it by Ctrl-C or `backstory stop`.")

    run(settings, detached=detached, started=None if detached else tell)
