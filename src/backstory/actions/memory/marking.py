"""A change of a text in one line: what went between [- and -], what came between {+ and +}."""

from collections.abc import Sequence
from typing import Final

from backstory.analysis.differences import Mark, Run

#: Of what stayed, as much is shown beside a change, so that one sees where it was.
_CONTEXT: Final = 40
_LEFT_OUT: Final = "[...]"


def marked(runs: Sequence[Run]) -> str:
    """Two texts as one. Of a long part that is the same, the middle is left out."""
    last = len(runs) - 1
    return "".join(_shown(run, first=place == 0, last=place == last) for place, run in enumerate(runs))


def _shown(run: Run, *, first: bool, last: bool) -> str:
    match run.mark:
        case Mark.REMOVED:
            return f"[-{run.text}-]"
        case Mark.ADDED:
            return f"{{+{run.text}+}}"
        case _:
            return _around(run.text, before=not first, after=not last)


def _around(text: str, *, before: bool, after: bool) -> str:
    """What of a text stands beside the changes before it and after it."""
    if len(text) <= 2 * _CONTEXT + len(_LEFT_OUT):
        return text
    head = text[:_CONTEXT].rpartition(" ")[0] if before else ""
    tail = text[-_CONTEXT:].partition(" ")[2] if after else ""
    return " ".join(part for part in (head, _LEFT_OUT, tail) if part)
