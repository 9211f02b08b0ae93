"""The window of a message: itself, if it is prose, behind the prose messages just before it.

Windows are read for many messages at once, so that a conversation is read once for all of them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from backstory.engine import Transaction
from backstory.model.keeping import windows_in
from backstory.model.passage import Passage


def windows_of(records: Transaction, centres: Sequence[Passage]) -> Mapping[str, Sequence[Passage]]:
    """What the window of each message holds, in order; nothing for one that is not there any more."""
    inside: dict[str, set[str]] = defaultdict(set)
    for each in centres:
        inside[each.labels["conversation"][0]].add(each.id)
    members = {
        id: window
        for conversation, ids in inside.items()
        for id, window in windows_in(records.conversations.chain(conversation)).items()
        if id in ids
    }
    known = {each.id: each for each in centres}
    known |= records.passages.find({id for window in members.values() for id in window} - known.keys())
    return {each.id: [known[id] for id in members.get(each.id, ()) if id in known] for each in centres}
