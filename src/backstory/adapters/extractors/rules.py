"""Memories found by rules, on this machine. What the rules are is said in `analysis.extraction`."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from backstory.analysis.extraction import extract
from backstory.analysis.sentences import LOOKED_AT
from backstory.analysis.statements import has_unread_middle
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
        return Extracted(acceptable, "; ".join(_notes(turns, len(found) - len(acceptable))))


def _notes(turns: Sequence[SaidTurn], lost: int) -> Iterator[str]:
    if lost:
        yield f"{lost} of those found could not be kept"
    if any(has_unread_middle(message) for turn in turns for message in (turn.user, turn.assistant)):
        yield (
            f"of a message with more than {LOOKED_AT:,} characters only the beginning and the end were read;"
            " give the middle as text"
        )
