"""The program `backstory`, also as `python -m backstory`."""

from backstory.cli import backstory


def main() -> None:
    """Run the command line and leave with its exit code."""
    backstory(prog_name="backstory")


if __name__ == "__main__":
    main()
