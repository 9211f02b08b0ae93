"""The window of a message: itself, if it is prose, behind the prose messages just before it.

Windows are read for many messages at once, so that what is near several of them is read once.
"""

from collections.abc import Iterator, Mapping, Sequence

from backstory.engine import Transaction
from backstory.model.keeping import windows_in
from backstory.model.passage import Passage


def windows_of(records: Transaction, centres: Sequence[Passage]) -> Mapping[str, Sequence[Passage]]:
    """What the window of each message holds, in order; nothing for one that is not there any more."""
    members = dict(_members(records, centres))
    known = {each.id: each for each in centres}
    known |= records.passages.find({id for window in members.values() for id in window} - known.keys())
    return {each.id: [known[id] for id in members.get(each.id, ()) if id in known] for each in centres}


def _members(records: Transaction, centres: Sequence[Passage]) -> Iterator[tuple[str, Sequence[str]]]:
    """The ids in the window of each message, in the conversation that holds it."""
    holders = {each.id: each.labels["conversation"][0] for each in centres}
    for conversation, standing in records.conversations.standing(holders).items():
        own = {id: turn for id, turn in standing.items() if holders[id] == conversation}
        for stretch in records.conversations.stretches(conversation, own.values()):
            windows = windows_in(stretch)
            yield from ((id, windows[id]) for id in windows.keys() & own.keys())
