"""`backstory stop` and `backstory status`: the commands about the process that runs.

How it is asked is left to `http.client`.
"""

from typing import Final

import click

from backstory.cli.asking import as_json, tell, whereabouts
from backstory.http import client

DEGRADED: Final = 1
NOT_RUNNING: Final = 3


@click.command()
@as_json
def stop() -> None:
    """Stop the process, and wait until it is gone."""
    process = client.stop(whereabouts())
    if process is None:
        tell({"stopped": False, "pid": None}, "Backstory was not running.")
    else:
        tell({"stopped": True, "pid": process.pid}, f"Stopped process {process.pid}.")


@click.command()
@as_json
def status() -> None:
    """Tell whether the process runs, where, and how it is.

    Exit code 0: it runs and is well; 1: it runs and is not; 3: it does not run. Starts nothing.
    """
    found = client.status(whereabouts())
    if found is None:
        tell(
            {"running": False}, "Backstory is not running. The next command or agent that needs it starts it."
        )
        raise click.exceptions.Exit(NOT_RUNNING)
    tell({"running": True, **found.answer}, found.text)
    raise click.exceptions.Exit(0 if found.answer["status"] == "ok" else DEGRADED)
