"""`backstory mcp`, as it is listed and documented.

Called plainly it never comes here: the program's entry hands it to the bridge before the command
line is loaded.
"""

import click

from backstory.bridge.stdio import main


@click.command()
def mcp() -> None:
    """Connect an agent: MCP on standard input and output, passed on to the process."""
    main()
