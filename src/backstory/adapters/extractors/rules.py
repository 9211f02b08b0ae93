"""Memories found by rules, on this machine. What the rules are is said in `analysis.extraction`."""

from collections.abc import Callable, Mapping, Sequence

from backstory.analysis.extraction import extract
from backstory.model.candidate import Extracted
from backstory.model.memory import NewMemory, problems_of
from backstory.model.summary import SaidTurn


class RuleExtractor:
    """Reads English prose, and what test runners report in any language. Always the same answer."""

    def extract(
        self, turns: Sequence[SaidTurn], tools: Mapping[int, str], step: Callable[[int, int], None]
    ) -> Extracted:
        """What the rules find; what could not be kept is left out."""
        step(0, 1)
        found = extract(turns, tools)
        acceptable = [
            each for each in found if not any(problems_of(NewMemory(each.type, each.content, each.fields)))
        ]
        lost = len(found) - len(acceptable)
        return Extracted(acceptable, f"{lost} of those found could not be kept" if lost else "")
