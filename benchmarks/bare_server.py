"""What one gets from the SDK without us: a server with one tool that says what it was told.

`python -m benchmarks.bare_server` speaks over stdin and stdout; with a port, over HTTP.
"""

import sys

from mcp.server import MCPServer

server = MCPServer("bare", log_level="WARNING")


@server.tool()
def echo(text: str) -> dict[str, str]:
    """Say it again."""
    return {"text": text}


def main() -> None:
    """Serve until stdin is closed or the process is ended."""
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
