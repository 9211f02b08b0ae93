"""Making answers about writes and histories fit: what is long is shortened, and that is said."""

from collections.abc import Mapping
from typing import Any, Final

from backstory.mcp.budget import USUAL_TOKENS, beginning, fair_share, size, tokens, written
from backstory.mcp.memory_answers import FieldChanged, MemoriesAdded, MemoryHistory, MemoryUpdated

#: The least that is shown of a value, however little room there is: a sentence.
LEAST_VALUE: Final = 40

#: Kept for what is said around the parts that are shortened.
_AROUND: Final = 500


def fit_updated(whole: MemoryUpdated, most: int = USUAL_TOKENS) -> MemoryUpdated:
    """A memory that was changed; whoever changed it knows the rest."""
    notes = [*(whole.notes or ())]
    if tokens(written(whole.metadata)) > most // 2:
        whole = whole.model_copy(update={"metadata": None})
        notes.append("the metadata is too long to be shown")
    around = size(whole.model_copy(update={"content": ""})) + _AROUND
    content = beginning(whole.content, max(most - around, LEAST_VALUE))
    if content != whole.content:
        notes.append(f"{len(content)} of {len(whole.content)} characters of the content are shown")
    return whole.model_copy(update={"content": content, "notes": notes or None})


def fit_added(whole: MemoriesAdded, most: int = USUAL_TOKENS) -> MemoriesAdded:
    """Memories that were added together, with as many of their conflicts as there is room for."""
    left = most - _AROUND - sum(size(each.model_copy(update={"conflicts": None})) for each in whole.memories)
    memories, omitted = [], 0
    for each in whole.memories:
        shown = []
        for conflict in each.conflicts or ():
            left -= size(conflict)
            if left > 0:
                shown.append(conflict)
        omitted += len(each.conflicts or ()) - len(shown)
        memories.append(each.model_copy(update={"conflicts": shown or None}))
    note = [f"{omitted} more conflicts are not shown; memory_search finds what is near to a memory"]
    notes = [*(whole.notes or ()), *(note if omitted else ())]
    return whole.model_copy(update={"memories": memories, "notes": notes or None})


def fit_history(whole: MemoryHistory, most: int = USUAL_TOKENS) -> MemoryHistory:
    """A page of a history, with the longest values shortened."""
    sizes = [size(change) for step in whole.steps for change in step.changes or ()]
    around = size(whole) - sum(sizes)
    share = fair_share(sizes, max(0, most - _AROUND - around))
    if max(sizes, default=0) <= share:
        return whole
    steps = [
        step.model_copy(update={"changes": [_shortened(each, share) for each in step.changes]})
        if step.changes
        else step
        for step in whole.steps
    ]
    note = "some values are shortened; a smaller limit shows more of each"
    return whole.model_copy(update={"steps": steps, "notes": [*(whole.notes or ()), note]})


def _shortened(change: FieldChanged, most: int) -> FieldChanged:
    """A change whose values take about `most` together."""
    if size(change) <= most:
        return change
    values: Mapping[str, Any] = {
        name: value
        for name, value in (("old", change.old), ("new", change.new), ("words", change.words))
        if value is not None
    }
    sizes = {name: tokens(written(value)) for name, value in values.items()}
    share = max(LEAST_VALUE, fair_share(list(sizes.values()), most - LEAST_VALUE))
    lost = {name: _beginning(value, share) for name, value in values.items() if sizes[name] > share}
    return change.model_copy(update={**lost, "shortened": sorted(lost) or None})


def _beginning(value: object, most: int) -> str:
    return beginning(value if isinstance(value, str) else written(value), most)
