"""How figures and progress are shown: tables on the output, progress on the error output."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backstory.engine import Work

Cell = int | float | str | None

#: A line of progress at most this often: a long run should not scroll its figures away.
_PROGRESS_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Table:
    """Figures under a title. None is a figure that does not exist, not one that is missing."""

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Cell]]

    def __str__(self) -> str:
        grid = [["", *self.columns], *([label, *map(shown, cells)] for label, cells in self.rows.items())]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in grid
        ]
        return "\n".join([self.title, *(f"  {line}" for line in lines)])

    def as_json(self) -> dict[str, object]:
        """The same figures, unrounded, by row and column."""
        rows = {label: dict(zip(self.columns, cells, strict=True)) for label, cells in self.rows.items()}
        return {"title": self.title, "rows": rows}


def shown(cell: Cell) -> str:
    """A figure with as many digits as can be believed."""
    match cell:
        case None:
            return "-"
        case str():
            return cell
        case int():
            return f"{cell:,}"
        case _:
            return f"{cell:,.{0 if abs(cell) >= 100 else 1 if abs(cell) >= 10 else 3}f}"


def say(message: str) -> None:
    """Tell whoever waits what is going on."""
    print(message, file=sys.stderr, flush=True)


def reporting() -> Work:
    """Work whose steps are told now and then."""
    last = time.monotonic()

    def report(done: int, total: int | None, message: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_S:
            last = time.monotonic()
            say(f"  {message}: {done:,}" + (f" of {total:,}" if total else ""))

    return Work(report)
