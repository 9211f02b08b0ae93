"""Ids in parts that fit into one statement: SQLite takes 32,766 values, and plans short lists faster."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

IDS_AT_ONCE: Final = 500


def batched(ids: Iterable[str]) -> Iterator[list[str]]:
    """The ids in their order, in parts; none when there are none."""
    left = iter(ids)
    while page := list(islice(left, IDS_AT_ONCE)):
        yield page
