"""The program `backstory`, also as `python -m backstory`."""

import sys


def main() -> None:
    """Run the bridge for `backstory mcp`, and the command line for everything else."""
    # Imported only now: an agent waits for the bridge, which needs nothing of what the command
    # line loads.
    if sys.argv[1:] == ["mcp"]:
        from backstory.bridge.stdio import main as run_the_bridge

        run_the_bridge()
    from backstory.cli import backstory

    backstory(prog_name="backstory")


if __name__ == "__main__":
    main()
