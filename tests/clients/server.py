"""The process for the conformance suite: without a token, and with the suite's fixtures if asked.

`python -m tests.clients.server HOME [--fixtures]` prints its address, and serves until it is ended.
Everything else is as `backstory serve` makes it.
"""

import sys

from backstory.http.logs import logging_to
from backstory.http.process import Hosting
from backstory.settings import read_settings
from backstory.wiring import open_engine
from tests.clients.fixtures import add_fixtures


def main(home: str, *options: str) -> None:
    """Serve what is in the folder."""
    settings = read_settings(
        {"BACKSTORY_HOME": home, "MCP_PORT": "0", "BACKSTORY_REQUESTS_PER_MINUTE": "off"}
    )
    with (
        logging_to(settings.whereabouts.logs, settings.log, stderr=False),
        open_engine(settings) as engine,
        Hosting(engine, settings, token=None) as hosting,
    ):
        if "--fixtures" in options:
            add_fixtures(hosting.mcp)
        print(f"{hosting.url}/mcp", flush=True)  # noqa: T201  # how the test learns it
        hosting.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
